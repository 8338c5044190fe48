//! Warnings about pods and pod templates.

use super::storage::{self, DEPRECATED_VOLUME_TYPES};
use super::{addresses, deprecated_label, files, items};
use crate::builtin::quantity_value;
use crate::meta::{self, text};
use crate::strategy::pods::{
    APP_ARMOR_ANNOTATION_PREFIX, SECCOMP_ANNOTATION_PREFIX, SECCOMP_POD_ANNOTATION, parse_app_armor_profile,
};
use serde_json::Value;
use std::collections::{BTreeSet, HashMap};

const DEPRECATED_ANNOTATIONS: &[(&str, &str)] = &[
    (
        "scheduler.alpha.kubernetes.io/critical-pod",
        "non-functional in v1.16+; use the \"priorityClassName\" field instead",
    ),
    (
        "security.alpha.kubernetes.io/sysctls",
        "non-functional in v1.11+; use the \"sysctls\" field instead",
    ),
    (
        "security.alpha.kubernetes.io/unsafe-sysctls",
        "non-functional in v1.11+; use the \"sysctls\" field instead",
    ),
];

const BYTE_RESOURCES: &[&str] = &["memory", "ephemeral-storage"];

/// Warns about a new pod before admission.
pub(super) fn warn_before_admission(pod: &Value, warnings: &mut Vec<String>) {
    let spec = &pod["spec"];
    if spec["os"]["name"] != "windows" {
        for (container, _) in containers(spec, "spec") {
            warn_app_armor(pod, container, "", warnings);
        }
    }
}

fn warn_seccomp(pod: &Value, context: &Value, key: &str, path: &str, warnings: &mut Vec<String>) {
    if context["seccompProfile"].is_null() && pod["metadata"]["annotations"][key].is_string() {
        warnings.push(format!(
            "{path}metadata.annotations[{key}]: non-functional in v1.27+; use the \"seccompProfile\" field instead"
        ));
    }
}

/// Warns about an AppArmor annotation that differs from the pod's profile and has no corresponding field in the container.
fn warn_app_armor(pod: &Value, container: &Value, path: &str, warnings: &mut Vec<String>) {
    let key = format!("{APP_ARMOR_ANNOTATION_PREFIX}{}", text(container, "name"));
    if let Some(annotation) = pod["metadata"]["annotations"][&key].as_str()
        && container["securityContext"]["appArmorProfile"].is_null()
        && parse_app_armor_profile(annotation)
            .is_none_or(|profile| profile != pod["spec"]["securityContext"]["appArmorProfile"])
    {
        warnings.push(format!(
            "{path}metadata.annotations[{key}]: deprecated since v1.30; use the \"appArmorProfile\" field instead"
        ));
    }
}

/// Warns about a pod or template. `path` is that of the template, and ends with a dot.
pub(super) fn warn_pod(pod: &Value, path: &str, warnings: &mut Vec<String>) {
    let spec = &pod["spec"];
    let at = format!("{path}spec");
    warn_node_selection(spec, &at, warnings);
    let annotations = &pod["metadata"]["annotations"];
    for (key, reason) in DEPRECATED_ANNOTATIONS {
        if annotations.get(key).is_some() {
            warnings.push(format!("{path}metadata.annotations[{key}]: {reason}"));
        }
    }
    for (index, volume) in items(&spec["volumes"]) {
        warn_volume(volume, &format!("{at}.volumes[{index}]"), warnings);
    }
    files::warn_volume_paths(&spec["volumes"], warnings);
    let mut seen = BTreeSet::new();
    for (index, alias) in items(&spec["hostAliases"]) {
        let ip = text(alias, "ip");
        if !seen.insert(ip) {
            warnings.push(format!("{at}.hostAliases[{index}].ip: duplicate ip {ip:?}"));
        }
    }
    warn_image_pull_secrets(spec, &at, warnings);
    warn_fractional_list(
        &spec["overhead"],
        &format!("{at}.overhead"),
        BYTE_RESOURCES,
        warnings,
    );
    warn_seccomp(
        pod,
        &spec["securityContext"],
        SECCOMP_POD_ANNOTATION,
        path,
        warnings,
    );
    for (container, container_path) in containers(spec, &at) {
        let key = format!("{SECCOMP_ANNOTATION_PREFIX}{}", text(container, "name"));
        warn_seccomp(pod, &container["securityContext"], &key, path, warnings);
        // For a pod, the warning is issued before admission copies the annotation to the field.
        if !path.is_empty() {
            warn_app_armor(pod, container, path, warnings);
        }
        let path = container_path;
        warn_fractional_bytes(
            &container["resources"],
            &format!("{path}.resources"),
            BYTE_RESOURCES,
            warnings,
        );
        warn_env(container, &path, warnings);
    }
    warn_ports(spec, &at, warnings);
    if spec["terminationGracePeriodSeconds"]
        .as_i64()
        .is_some_and(|seconds| seconds < 0)
    {
        warnings.push(format!(
            "{at}.terminationGracePeriodSeconds: must be >= 0; negative values are invalid and will be treated as 1"
        ));
    }
    warn_null_label_selectors(spec, &at, warnings);
    for (index, server) in items(&spec["dnsConfig"]["nameservers"]) {
        warnings.extend(addresses::ip_warning(
            &format!("{at}.dnsConfig.nameservers[{index}]"),
            server,
        ));
    }
    for (index, alias) in items(&spec["hostAliases"]) {
        warnings.extend(addresses::ip_warning(
            &format!("{at}.hostAliases[{index}].ip"),
            &alias["ip"],
        ));
    }
}

fn warn_image_pull_secrets(spec: &Value, at: &str, warnings: &mut Vec<String>) {
    let names: Vec<&str> = items(&spec["imagePullSecrets"])
        .map(|(_, secret)| text(secret, "name"))
        .collect();
    for (index, name) in names.iter().enumerate() {
        if names[..index].contains(name) {
            warnings.push(format!(
                "{at}.imagePullSecrets[{index}].name: duplicate name {name:?}"
            ));
        }
    }
    for (index, _) in names.iter().enumerate().filter(|(_, name)| name.is_empty()) {
        warnings.push(format!(
            "{at}.imagePullSecrets[{index}].name: invalid empty name \"\""
        ));
    }
}

/// Warns about affinity terms without label selector.
fn warn_null_label_selectors(spec: &Value, at: &str, warnings: &mut Vec<String>) {
    for affinity in ["podAffinity", "podAntiAffinity"] {
        for (when, term) in [
            ("requiredDuringSchedulingIgnoredDuringExecution", ""),
            (
                "preferredDuringSchedulingIgnoredDuringExecution",
                ".podAffinityTerm",
            ),
        ] {
            for (index, weighted) in items(&spec["affinity"][affinity][when]) {
                let selector = if term.is_empty() {
                    &weighted["labelSelector"]
                } else {
                    &weighted["podAffinityTerm"]["labelSelector"]
                };
                if selector.is_null() {
                    warnings.push(format!(
                        "{at}.affinity.{affinity}.{when}[{index}]{term}.labelSelector: a null labelSelector results in matching no pod"
                    ));
                }
            }
        }
    }
}

/// Warns about node selection.
fn warn_node_selection(spec: &Value, at: &str, warnings: &mut Vec<String>) {
    for (key, _) in spec["nodeSelector"].as_object().into_iter().flatten() {
        if let Some((label, reason)) = deprecated_label(key) {
            warnings.push(format!("{at}.nodeSelector[{label}]: {reason}"));
        }
    }
    let affinity = &spec["affinity"]["nodeAffinity"];
    let path = format!("{at}.affinity.nodeAffinity");
    let required = "requiredDuringSchedulingIgnoredDuringExecution";
    for (index, term) in items(&affinity[required]["nodeSelectorTerms"]) {
        let path = format!("{path}.{required}.nodeSelectorTerms[{index}]");
        warn_node_selector_term(term, &path, false, warnings);
    }
    let preferred = "preferredDuringSchedulingIgnoredDuringExecution";
    for (index, term) in items(&affinity[preferred]) {
        let path = format!("{path}.{preferred}[{index}].preference");
        warn_node_selector_term(&term["preference"], &path, true, warnings);
    }
    for (index, spread) in items(&spec["topologySpreadConstraints"]) {
        let path = format!("{at}.topologySpreadConstraints[{index}]");
        if let Some((label, reason)) = deprecated_label(text(spread, "topologyKey")) {
            warnings.push(format!("{path}.topologyKey: {label} is {reason}"));
        }
        if spread["labelSelector"].is_null() {
            warnings.push(format!(
                "{path}.labelSelector: a null labelSelector results in matching no pod"
            ));
        }
    }
}

/// Warns about a node selector term; about label values only where an invalid value is accepted.
pub(super) fn warn_node_selector_term(
    term: &Value,
    path: &str,
    with_values: bool,
    warnings: &mut Vec<String>,
) {
    for (index, expression) in items(&term["matchExpressions"]) {
        if let Some((label, reason)) = deprecated_label(text(expression, "key")) {
            warnings.push(format!(
                "{path}.matchExpressions[{index}].key: {label} is {reason}"
            ));
        }
        for (value_index, value) in items(&expression["values"]).filter(|_| with_values) {
            let value = value.as_str().unwrap_or_default();
            if let Some(reason) = meta::names::label_value_errors(value).first() {
                warnings.push(format!(
                    "{path}.matchExpressions[{index}].values[{value_index}]: {value} is invalid, {reason}"
                ));
            }
        }
    }
}

fn warn_volume(volume: &Value, path: &str, warnings: &mut Vec<String>) {
    const NON_FUNCTIONAL: &str = "deprecated in v1.22, non-functional in v1.25+";
    let more = [
        (
            "gitRepo",
            "deprecated in v1.11, and disabled by default in v1.33+",
        ),
        ("flocker", NON_FUNCTIONAL),
        ("quobyte", NON_FUNCTIONAL),
    ];
    storage::warn_volume_types(volume, DEPRECATED_VOLUME_TYPES, path, warnings);
    storage::warn_volume_types(volume, &more, path, warnings);
    let claim = &volume["ephemeral"]["volumeClaimTemplate"]["spec"]["resources"];
    let path = format!("{path}.ephemeral.volumeClaimTemplate.spec.resources");
    warn_fractional_bytes(claim, &path, &["storage"], warnings);
}

/// Warns about quantities with a fraction of a byte.
pub(super) fn warn_fractional_bytes(
    resources: &Value,
    path: &str,
    names: &[&str],
    warnings: &mut Vec<String>,
) {
    // For claims, requests come first.
    let order = if names == BYTE_RESOURCES {
        ["limits", "requests"]
    } else {
        ["requests", "limits"]
    };
    for name in names {
        for list in order {
            warn_fractional_list(&resources[list], &format!("{path}.{list}"), &[name], warnings);
        }
    }
}

fn warn_fractional_list(resources: &Value, path: &str, names: &[&str], warnings: &mut Vec<String>) {
    for name in names {
        let quantity = &resources[*name];
        let milli_value = quantity_value(quantity).map(|amount| (amount * 1000.0).ceil());
        if milli_value.is_some_and(|amount| amount % 1000.0 != 0.0) {
            let text = quantity
                .as_str()
                .map_or_else(|| quantity.to_string(), str::to_owned);
            warnings.push(format!(
                "{path}[{name}]: fractional byte value {text:?} is invalid, must be an integer"
            ));
        }
    }
}

fn containers<'a>(spec: &'a Value, at: &str) -> Vec<(&'a Value, String)> {
    let lists = ["initContainers", "containers", "ephemeralContainers"];
    let all = lists.iter().flat_map(|list| {
        items(&spec[*list]).map(move |(index, container)| (container, format!("{at}.{list}[{index}]")))
    });
    all.collect()
}

/// Warns about duplicate environment variables, unless the later refers to the earlier.
fn warn_env(container: &Value, path: &str, warnings: &mut Vec<String>) {
    let mut seen = BTreeSet::new();
    for (index, variable) in items(&container["env"]) {
        let name = text(variable, "name");
        if seen.insert(name) {
            continue;
        }
        let (value, reference) = (text(variable, "value"), format!("$({name})"));
        if !variable["valueFrom"].is_null() || value == reference || !value.contains(&reference) {
            warnings.push(format!(
                "{path}.env[{index}]: hides previous definition of {name:?}, which may be dropped when using apply"
            ));
        }
    }
}

fn warn_ports(spec: &Value, at: &str, warnings: &mut Vec<String>) {
    let containers = containers(spec, at);
    let ports = || {
        containers.iter().flat_map(|(container, path)| {
            items(&container["ports"]).map(move |(index, port)| (port, format!("{path}.ports[{index}]")))
        })
    };
    let number = |port: &Value, key: &str| port[key].as_i64().unwrap_or(0);
    let mut seen: Vec<(&Value, String)> = vec![];
    for (port, path) in ports() {
        let (ip, host) = (text(port, "hostIP"), number(port, "hostPort"));
        if !ip.is_empty() && host == 0 {
            warnings.push(format!(
                "{path}: hostIP set without hostPort: {{Name:{} HostPort:0 ContainerPort:{} Protocol:{} HostIP:{ip}}}",
                text(port, "name"),
                number(port, "containerPort"),
                text(port, "protocol")
            ));
        }
        let same = |other: &Value| {
            other["containerPort"] == port["containerPort"] && other["protocol"] == port["protocol"]
        };
        for (other, before) in seen.iter().filter(|(other, _)| same(other)) {
            let (other_ip, other_host) = (text(other, "hostIP"), number(other, "hostPort"));
            let problem = if ip == other_ip && host == other_host {
                "duplicate"
            } else if host == 0 || other_host == 0 {
                "overlapping"
            } else if host == other_host && ip.is_empty() != other_ip.is_empty() {
                "dangerously ambiguous"
            } else {
                continue;
            };
            warnings.push(format!("{path}: {problem} port definition with {before}"));
        }
        seen.push((port, path));
    }
    let mut path_by_name: HashMap<&str, String> = HashMap::new();
    for (port, path) in ports().filter(|(port, _)| !text(port, "name").is_empty()) {
        let name = text(port, "name");
        if let Some(first) = path_by_name.get(name) {
            warnings.push(format!(
                "{path}: duplicate port name {name:?} with {first}, services and probes that select ports by name will use {first}"
            ));
        } else {
            path_by_name.insert(name, path);
        }
    }
}

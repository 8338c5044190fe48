//! Of pods and their templates.

use super::{addresses, files, items, old_label, storage::OLD_VOLUMES};
use crate::builtin::amount;
use crate::meta;
use crate::strategy::pods::{APP_ARMOR, profile};
use serde_json::Value;
use std::collections::{BTreeSet, HashMap};

const OLD_ANNOTATIONS: &[(&str, &str)] = &[
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

const BYTES: &[&str] = &["memory", "ephemeral-storage"];

const SECCOMP_OF_POD: &str = "seccomp.security.alpha.kubernetes.io/pod";
const SECCOMP: &str = "container.seccomp.security.alpha.kubernetes.io/";

/// Of a new pod, as it was sent.
pub(super) fn as_sent(pod: &Value, warnings: &mut Vec<String>) {
    let spec = &pod["spec"];
    if spec["os"]["name"] != "windows" {
        for (container, _) in containers(spec, "spec") {
            of_app_armor(pod, container, "", warnings);
        }
    }
}

fn of_seccomp(pod: &Value, context: &Value, key: &str, path: &str, warnings: &mut Vec<String>) {
    if context["seccompProfile"].is_null() && pod["metadata"]["annotations"][key].is_string() {
        warnings.push(format!(
            "{path}metadata.annotations[{key}]: non-functional in v1.27+; use the \"seccompProfile\" field instead"
        ));
    }
}

/// An annotation that says something else than the pod's own profile, and stands in for a container's.
fn of_app_armor(pod: &Value, container: &Value, path: &str, warnings: &mut Vec<String>) {
    let key = format!("{APP_ARMOR}{}", container["name"].as_str().unwrap_or_default());
    if let Some(said) = pod["metadata"]["annotations"][&key].as_str()
        && container["securityContext"]["appArmorProfile"].is_null()
        && profile(said).is_none_or(|profile| profile != pod["spec"]["securityContext"]["appArmorProfile"])
    {
        warnings.push(format!(
            "{path}metadata.annotations[{key}]: deprecated since v1.30; use the \"appArmorProfile\" field instead"
        ));
    }
}

/// Of a pod, or of a template that stands at a path, which ends with a dot.
pub(super) fn of_pod(pod: &Value, path: &str, warnings: &mut Vec<String>) {
    let spec = &pod["spec"];
    let at = format!("{path}spec");
    of_nodes(spec, &at, warnings);
    let annotations = &pod["metadata"]["annotations"];
    for (key, why) in OLD_ANNOTATIONS {
        if annotations.get(key).is_some() {
            warnings.push(format!("{path}metadata.annotations[{key}]: {why}"));
        }
    }
    for (nth, volume) in items(&spec["volumes"]) {
        of_volume(volume, &format!("{at}.volumes[{nth}]"), warnings);
    }
    files::of_volumes(&spec["volumes"], warnings);
    let mut seen = BTreeSet::new();
    for (nth, alias) in items(&spec["hostAliases"]) {
        let ip = alias["ip"].as_str().unwrap_or_default();
        if !seen.insert(ip) {
            warnings.push(format!("{at}.hostAliases[{nth}].ip: duplicate ip {ip:?}"));
        }
    }
    let names: Vec<&str> = items(&spec["imagePullSecrets"])
        .map(|(_, secret)| secret["name"].as_str().unwrap_or_default())
        .collect();
    for (nth, name) in names.iter().enumerate() {
        if names[..nth].contains(name) {
            warnings.push(format!(
                "{at}.imagePullSecrets[{nth}].name: duplicate name {name:?}"
            ));
        }
    }
    for (nth, _) in names.iter().enumerate().filter(|(_, name)| name.is_empty()) {
        warnings.push(format!(
            "{at}.imagePullSecrets[{nth}].name: invalid empty name \"\""
        ));
    }
    fraction(&spec["overhead"], &format!("{at}.overhead"), BYTES, warnings);
    of_seccomp(pod, &spec["securityContext"], SECCOMP_OF_POD, path, warnings);
    for (container, below) in containers(spec, &at) {
        let name = container["name"].as_str().unwrap_or_default();
        let key = format!("{SECCOMP}{name}");
        of_seccomp(pod, &container["securityContext"], &key, path, warnings);
        // Of a pod it is said before the field follows the annotation.
        if !path.is_empty() {
            of_app_armor(pod, container, path, warnings);
        }
        let path = below;
        fractions(
            &container["resources"],
            &format!("{path}.resources"),
            BYTES,
            warnings,
        );
        of_variables(container, &path, warnings);
    }
    of_ports(spec, &at, warnings);
    if spec["terminationGracePeriodSeconds"]
        .as_i64()
        .is_some_and(|seconds| seconds < 0)
    {
        warnings.push(format!(
            "{at}.terminationGracePeriodSeconds: must be >= 0; negative values are invalid and will be treated as 1"
        ));
    }
    for way in ["podAffinity", "podAntiAffinity"] {
        for (when, term) in [
            ("requiredDuringSchedulingIgnoredDuringExecution", ""),
            (
                "preferredDuringSchedulingIgnoredDuringExecution",
                ".podAffinityTerm",
            ),
        ] {
            for (nth, found) in items(&spec["affinity"][way][when]) {
                let selector = if term.is_empty() {
                    &found["labelSelector"]
                } else {
                    &found["podAffinityTerm"]["labelSelector"]
                };
                if selector.is_null() {
                    warnings.push(format!(
                        "{at}.affinity.{way}.{when}[{nth}]{term}.labelSelector: a null labelSelector results in matching no pod"
                    ));
                }
            }
        }
    }
    for (nth, server) in items(&spec["dnsConfig"]["nameservers"]) {
        warnings.extend(addresses::address(
            &format!("{at}.dnsConfig.nameservers[{nth}]"),
            server,
        ));
    }
    for (nth, alias) in items(&spec["hostAliases"]) {
        warnings.extend(addresses::address(
            &format!("{at}.hostAliases[{nth}].ip"),
            &alias["ip"],
        ));
    }
}

/// Where the pod may run.
fn of_nodes(spec: &Value, at: &str, warnings: &mut Vec<String>) {
    for key in spec["nodeSelector"]
        .as_object()
        .into_iter()
        .flat_map(|map| map.keys())
    {
        if let Some((label, why)) = old_label(&Value::from(key.as_str())) {
            warnings.push(format!("{at}.nodeSelector[{label}]: {why}"));
        }
    }
    let affinity = &spec["affinity"]["nodeAffinity"];
    let path = format!("{at}.affinity.nodeAffinity");
    let required = "requiredDuringSchedulingIgnoredDuringExecution";
    for (nth, term) in items(&affinity[required]["nodeSelectorTerms"]) {
        let path = format!("{path}.{required}.nodeSelectorTerms[{nth}]");
        of_term(term, &path, false, warnings);
    }
    let preferred = "preferredDuringSchedulingIgnoredDuringExecution";
    for (nth, term) in items(&affinity[preferred]) {
        let path = format!("{path}.{preferred}[{nth}].preference");
        of_term(&term["preference"], &path, true, warnings);
    }
    for (nth, spread) in items(&spec["topologySpreadConstraints"]) {
        let path = format!("{at}.topologySpreadConstraints[{nth}]");
        if let Some((label, why)) = old_label(&spread["topologyKey"]) {
            warnings.push(format!("{path}.topologyKey: {label} is {why}"));
        }
        if spread["labelSelector"].is_null() {
            warnings.push(format!(
                "{path}.labelSelector: a null labelSelector results in matching no pod"
            ));
        }
    }
}

/// A term that selects nodes; values are looked at where a wrong one is no fault.
pub(super) fn of_term(term: &Value, path: &str, with_values: bool, warnings: &mut Vec<String>) {
    for (nth, expression) in items(&term["matchExpressions"]) {
        if let Some((label, why)) = old_label(&expression["key"]) {
            warnings.push(format!("{path}.matchExpressions[{nth}].key: {label} is {why}"));
        }
        for (of, value) in items(&expression["values"]).filter(|_| with_values) {
            let value = value.as_str().unwrap_or_default();
            if let Some(why) = meta::names::label_value(value) {
                warnings.push(format!(
                    "{path}.matchExpressions[{nth}].values[{of}]: {value} is invalid, {why}"
                ));
            }
        }
    }
}

fn of_volume(volume: &Value, path: &str, warnings: &mut Vec<String>) {
    const GONE: &str = "deprecated in v1.22, non-functional in v1.25+";
    let more = [
        (
            "gitRepo",
            "deprecated in v1.11, and disabled by default in v1.33+",
        ),
        ("flocker", GONE),
        ("quobyte", GONE),
    ];
    for (name, why) in OLD_VOLUMES.iter().chain(&more) {
        if !volume[*name].is_null() {
            let name = if *name == "storageos" { "storageOS" } else { name };
            warnings.push(format!("{path}.{name}: {why}"));
        }
    }
    let claim = &volume["ephemeral"]["volumeClaimTemplate"]["spec"]["resources"];
    let path = format!("{path}.ephemeral.volumeClaimTemplate.spec.resources");
    fractions(claim, &path, &["storage"], warnings);
}

/// Limits and requests of parts of a byte.
pub(super) fn fractions(resources: &Value, path: &str, names: &[&str], warnings: &mut Vec<String>) {
    // Claims are told of what they request first.
    let order = if names == BYTES {
        ["limits", "requests"]
    } else {
        ["requests", "limits"]
    };
    for name in names {
        for list in order {
            fraction(&resources[list], &format!("{path}.{list}"), &[name], warnings);
        }
    }
}

fn fraction(resources: &Value, path: &str, names: &[&str], warnings: &mut Vec<String>) {
    for name in names {
        let quantity = &resources[*name];
        let thousandths = amount(quantity).map(|amount| (amount * 1000.0).ceil());
        if thousandths.is_some_and(|amount| amount % 1000.0 != 0.0) {
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
        items(&spec[*list]).map(move |(nth, container)| (container, format!("{at}.{list}[{nth}]")))
    });
    all.collect()
}

/// Variables that are said twice, unless the later is made of the earlier.
fn of_variables(container: &Value, path: &str, warnings: &mut Vec<String>) {
    let mut seen = BTreeSet::new();
    for (nth, variable) in items(&container["env"]) {
        let name = variable["name"].as_str().unwrap_or_default();
        if seen.insert(name) {
            continue;
        }
        let (value, reference) = (
            variable["value"].as_str().unwrap_or_default(),
            format!("$({name})"),
        );
        if !variable["valueFrom"].is_null() || value == reference || !value.contains(&reference) {
            warnings.push(format!(
                "{path}.env[{nth}]: hides previous definition of {name:?}, which may be dropped when using apply"
            ));
        }
    }
}

fn of_ports(spec: &Value, at: &str, warnings: &mut Vec<String>) {
    let containers = containers(spec, at);
    let ports = || {
        containers.iter().flat_map(|(container, path)| {
            items(&container["ports"]).map(move |(nth, port)| (port, format!("{path}.ports[{nth}]")))
        })
    };
    let text = |port: &Value, key: &str| port[key].as_str().unwrap_or_default().to_owned();
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
            let how = if ip == other_ip && host == other_host {
                "duplicate"
            } else if host == 0 || other_host == 0 {
                "overlapping"
            } else if host == other_host && ip.is_empty() != other_ip.is_empty() {
                "dangerously ambiguous"
            } else {
                continue;
            };
            warnings.push(format!("{path}: {how} port definition with {before}"));
        }
        seen.push((port, path));
    }
    let mut named: HashMap<String, String> = HashMap::new();
    for (port, path) in ports().filter(|(port, _)| !text(port, "name").is_empty()) {
        let name = text(port, "name");
        if let Some(first) = named.get(&name) {
            warnings.push(format!(
                "{path}: duplicate port name {name:?} with {first}, services and probes that select ports by name will use {first}"
            ));
        } else {
            named.insert(name, path);
        }
    }
}

//! Validation of containers.

use super::mounts::{self, VolumesByName};
use super::{Check, Constraint, FieldRule, env, items, names, pod, probe, resources, security, text};
use serde_json::Value;
use std::collections::BTreeSet;

pub use resources::quantity_value;
pub(super) use resources::validate_container_resource_name;

/// Returns all containers of a pod with their paths, in kube-apiserver's order.
pub(super) fn all_containers<'a>(spec: &'a Value, path: &str) -> Vec<(&'a Value, String)> {
    const LISTS: [&str; 3] = ["initContainers", "containers", "ephemeralContainers"];
    LISTS.iter().flat_map(|list| items(spec, list, path)).collect()
}

/// Validates the containers of a pod, which may mount the given volumes.
pub(super) fn validate_containers(check: &mut Check, spec: &Value, path: &str, volumes: &VolumesByName<'_>) {
    let grace = spec["terminationGracePeriodSeconds"].as_i64();
    let mut names = BTreeSet::new();
    if check.require(&spec["containers"], &format!("{path}.containers")) {
        for (container, path) in items(spec, "containers", path) {
            validate_common_container(check, spec, container, &path, volumes);
            require_unique_name(check, &mut names, container, &path);
            probe::validate_probes(check, container, &path, grace);
            validate_restart_policy(check, container, &path);
        }
        reject_host_port_conflicts(check, items(spec, "containers", path));
    }
    for (container, at) in items(spec, "initContainers", path) {
        validate_common_container(check, spec, container, &at, volumes);
        validate_restart_policy(check, container, &at);
        if !text(container, "name").is_empty() {
            require_unique_name(check, &mut names, container, &at);
        }
        // Init containers run one after the other, and kube-apiserver reports each as the first.
        reject_host_port_conflicts(
            check,
            [(container, format!("{path}.initContainers[0]"))].into_iter(),
        );
        if container["restartPolicy"] == "Always" {
            probe::validate_probes(check, container, &at, grace);
        } else {
            probe::reject_probes(check, container, &at);
            for (policy, path) in items(container, "resizePolicy", &at) {
                let restart = "RestartContainer";
                if policy["restartPolicy"] == restart {
                    let detail = "must not be set to 'RestartContainer' for non-sidecar initContainers";
                    check.invalid(&format!("{path}.restartPolicy"), restart, detail);
                }
            }
        }
    }
    validate_ephemeral_containers(check, spec, path, volumes);
}

/// Validates ephemeral containers, which may set only few of the fields of others.
fn validate_ephemeral_containers(check: &mut Check, spec: &Value, path: &str, volumes: &VolumesByName<'_>) {
    const FORBIDDEN_FIELDS: [&str; 9] = [
        "ports",
        "resources",
        "resizePolicy",
        "restartPolicy",
        "restartPolicyRules",
        "livenessProbe",
        "readinessProbe",
        "startupProbe",
        "lifecycle",
    ];
    const DETAIL: &str = "cannot be set for an Ephemeral Container";
    let lists = ["containers", "initContainers"];
    let other_names = lists.iter().flat_map(|list| items(spec, list, ""));
    let other_names: BTreeSet<&str> = other_names.map(|(other, _)| text(other, "name")).collect();
    let mut names = other_names.clone();
    for (container, path) in items(spec, "ephemeralContainers", path) {
        validate_common_container(check, spec, container, &path, volumes);
        pod::reject_image_whitespace(check, container, &path);
        require_unique_name(check, &mut names, container, &path);
        let target = text(container, "targetContainerName");
        if !target.is_empty() && !other_names.contains(target) {
            check.not_found(&format!("{path}.targetContainerName"), target);
        }
        for name in FORBIDDEN_FIELDS {
            let field = format!("{path}.{name}");
            if is_set(check, &container[name], &field) {
                check.forbidden(&field, DETAIL);
            }
        }
        for (mount, path) in items(container, "volumeMounts", &path) {
            for name in ["subPath", "subPathExpr"] {
                if !text(mount, name).is_empty() {
                    check.forbidden(&format!("{path}.{name}"), DETAIL);
                }
            }
        }
    }
}

/// Whether a field of an ephemeral container has another value than Go's zero value: an empty list or map does, too.
fn is_set(check: &Check, value: &Value, path: &str) -> bool {
    let is_empty_at = |path: &str| check.explicit_empty.contains(path);
    if !path.ends_with(".resources") {
        return !value.is_null() || is_empty_at(path);
    }
    value.as_object().is_some_and(|fields| !fields.is_empty())
        || ["limits", "requests", "claims"]
            .iter()
            .any(|list| is_empty_at(&format!("{path}.{list}")))
}

fn require_unique_name<'a>(
    check: &mut Check,
    names: &mut BTreeSet<&'a str>,
    container: &'a Value,
    path: &str,
) {
    let name = text(container, "name");
    if !names.insert(name) {
        check.duplicate(&format!("{path}.name"), name);
    }
}

#[rustfmt::skip]
const CONTAINER: &[FieldRule] = &[
    ("name", Constraint::Named(names::label_errors)),
    ("image", Constraint::Required("")),
    ("terminationMessagePolicy", Constraint::OneOf(&["File", "FallbackToLogsOnError"])),
    ("ports[].containerPort", Constraint::Checked(validate_container_port)),
    ("ports[].hostPort", Constraint::Port),
    ("ports[].protocol", Constraint::OneOf(&["SCTP", "TCP", "UDP"])),
];

const PULL_POLICY: &[FieldRule] = &[(
    "imagePullPolicy",
    Constraint::OneOf(&["Always", "IfNotPresent", "Never"]),
)];
#[rustfmt::skip]
const RESTART_POLICY: &[FieldRule] = &[
    ("restartPolicy", Constraint::OneOf(&["Always", "Never", "OnFailure"])),
    ("restartPolicyRules", Constraint::MaxItems(20)),
    ("restartPolicyRules[].action", Constraint::Only(&["Restart", "RestartAllContainers"])),
    ("restartPolicyRules[].exitCodes", Constraint::Present("must be specified")),
    ("restartPolicyRules[].exitCodes?.operator", Constraint::Only(&["In", "NotIn"])),
    ("restartPolicyRules[].exitCodes.values", Constraint::MaxItems(255)),
];

/// Validates what applies to containers of all lists.
fn validate_common_container(
    check: &mut Check,
    spec: &Value,
    container: &Value,
    path: &str,
    volumes: &VolumesByName<'_>,
) {
    check.apply(CONTAINER, container, None, path);
    validate_ports(check, container, path);
    env::validate_env(check, container, path);
    env::validate_env_from(check, container, path);
    mounts::validate_volume_mounts(check, container, path, volumes);
    mounts::validate_volume_devices(check, container, path, volumes);
    check.apply(PULL_POLICY, container, None, path);
    resources::validate_container_resources(check, container, spec, &format!("{path}.resources"));
    validate_resize_policy(check, container, spec["restartPolicy"] == "Never", path);
    let context = &container["securityContext"];
    let path = format!("{path}.securityContext");
    security::validate_container_security_context(check, context, &path, spec["hostUsers"] != false);
}

/// Validates the resize policy of a container.
fn validate_resize_policy(check: &mut Check, container: &Value, never_restarts: bool, path: &str) {
    let at = format!("{path}.resizePolicy");
    let mut seen = BTreeSet::new();
    for (policy, path) in items(container, "resizePolicy", path) {
        let (resource, restart) = (text(policy, "resourceName"), text(policy, "restartPolicy"));
        if !seen.insert(resource) {
            check.duplicate(&path, resource);
        }
        for (name, known) in [
            ("resourceName", ["cpu", "memory"]),
            ("restartPolicy", ["NotRequired", "RestartContainer"]),
        ] {
            if check.require(&policy[name], &at) {
                check.require_supported_at(policy, name, &at, &known);
            }
        }
        if never_restarts && restart != "NotRequired" {
            let detail = "must be 'NotRequired' when pod `restartPolicy` is 'Never'";
            check.invalid(&at, restart, detail);
        }
    }
}

/// Validates the restart policy and restart rules of a container.
fn validate_restart_policy(check: &mut Check, container: &Value, path: &str) {
    let has_rules = items(container, "restartPolicyRules", "").next().is_some();
    if container["restartPolicy"].is_null() && has_rules {
        let detail = "must specify restartPolicy when restart rules are used";
        check.required(&format!("{path}.restartPolicy"), detail);
        if path.contains("initContainers") {
            return;
        }
    }
    check.apply(RESTART_POLICY, container, None, path);
}

fn validate_ports(check: &mut Check, container: &Value, path: &str) {
    let mut seen = BTreeSet::new();
    for (port, path) in items(container, "ports", path) {
        let name = text(port, "name");
        if !name.is_empty() {
            let messages = names::port_name_errors(name);
            check.push_messages(&format!("{path}.name"), name, &messages);
            if messages.is_empty() && !seen.insert(name) {
                check.duplicate(&format!("{path}.name"), name);
            }
        }
    }
}

fn validate_container_port(check: &mut Check, number: &Value, path: &str) {
    if number.as_i64().unwrap_or_default() == 0 {
        check.required(path, "");
    } else {
        check.validate_port(number, path);
    }
}

/// Rejects two containers with the same host port.
fn reject_host_port_conflicts<'a>(check: &mut Check, containers: impl Iterator<Item = (&'a Value, String)>) {
    let mut seen = BTreeSet::new();
    for (port, path) in containers.flat_map(|(container, path)| items(container, "ports", &path)) {
        let number = port["hostPort"].as_i64().unwrap_or(0);
        let key = format!("{}/{}/{number}", text(port, "protocol"), text(port, "hostIP"));
        if number != 0 && !seen.insert(key.clone()) {
            check.duplicate(&format!("{path}.hostPort"), key);
        }
    }
}

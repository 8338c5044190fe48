//! Validation of Pods and pod templates.

use super::{
    Check, Constraint, FieldRule, addresses, annotations, container, dns, items, names, pod_resize,
    pod_status, pod_update, projected, resource_claims, resources, scheduling, security, text, tolerations,
    volume, windows,
};
use crate::meta;
use serde_json::Value;
use std::collections::BTreeSet;

/// Validates a new pod, or an update: of the pod, its status, its resources or its ephemeral containers.
pub(super) fn validate_pod(check: &mut Check, pod: &Value, old: Option<&Value>, subresource: &str) {
    let spec = &pod["spec"];
    annotations::validate_annotations(check, &pod["metadata"], spec, "metadata.annotations");
    if let Some(old) = old.filter(|_| subresource == "status") {
        annotations::validate_annotations_update(check, pod, old);
        return pod_status::validate_pod_status(check, pod, old);
    }
    validate_pod_spec(check, spec, Some(pod), "spec");
    if text(spec, "serviceAccountName").is_empty() {
        projected::reject_tokens_without_account(check, spec, "spec");
    }
    for list in ["containers", "initContainers"] {
        for (container, path) in items(spec, list, "spec") {
            reject_image_whitespace(check, container, &path);
        }
    }
    match (old, subresource) {
        (None, _) => validate_new_pod(check, pod),
        (Some(old), "ephemeralcontainers") => {
            pod_update::validate_ephemeral_containers_update(check, pod, old);
        }
        (Some(old), "resize") => pod_resize::validate_resize(check, pod, old),
        (Some(old), _) => {
            annotations::validate_annotations_update(check, pod, old);
            pod_update::validate_pod_update(check, spec, &old["spec"]);
        }
    }
}

/// Validates what only applies to new pods.
fn validate_new_pod(check: &mut Check, pod: &Value) {
    let spec = &pod["spec"];
    if spec["ephemeralContainers"].is_array() {
        check.forbidden("spec.ephemeralContainers", "cannot be set on create");
    }
    let gates = spec["schedulingGates"].as_array();
    if !text(spec, "nodeName").is_empty() && gates.is_some_and(|gates| !gates.is_empty()) {
        let detail = "cannot be set until all schedulingGates have been cleared";
        check.forbidden("spec.nodeName", detail);
    }
    annotations::validate_annotations_match_fields(check, &pod["metadata"], spec, "spec");
}

/// Rejects image names with surrounding whitespace, which pod templates may have.
pub(super) fn reject_image_whitespace(check: &mut Check, container: &Value, path: &str) {
    let image = text(container, "image");
    if image.trim() != image {
        check.invalid(
            &format!("{path}.image"),
            image,
            "must not have leading or trailing whitespace",
        );
    }
}

/// Validates a pod template.
pub(super) fn validate_template(check: &mut Check, template: &Value, path: &str) {
    // kube-apiserver's paths lack `metadata`.
    check.validate_labels_and_annotations(&template["metadata"], path);
    let (metadata, spec) = (&template["metadata"], &template["spec"]);
    annotations::validate_annotations(check, metadata, spec, &format!("{path}.annotations"));
    let path = format!("{path}.spec");
    validate_pod_spec(check, spec, None, &path);
    annotations::validate_annotations_match_fields(check, metadata, spec, &path);
    if spec["ephemeralContainers"].is_array() {
        let detail = "ephemeral containers not allowed in pod template";
        check.forbidden(&format!("{path}.ephemeralContainers"), detail);
    }
}

#[rustfmt::skip]
const POD_SPEC: &[FieldRule] = &[
    ("restartPolicy", Constraint::OneOf(&["Always", "OnFailure", "Never"])),
    ("dnsPolicy", Constraint::OneOf(&["ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"])),
    ("nodeSelector", Constraint::Labels),
    ("readinessGates[].conditionType", Constraint::Text(names::qualified_name_errors)),
    ("serviceAccountName", Constraint::OptionalName(names::subdomain_errors)),
    ("nodeName", Constraint::OptionalName(names::subdomain_errors)),
    ("activeDeadlineSeconds", Constraint::Within(1, 2_147_483_647, "must be between 1 and 2147483647, inclusive")),
    ("hostname", Constraint::OptionalName(names::label_errors)),
    ("subdomain", Constraint::OptionalName(names::label_errors)),
    ("hostAliases[].ip", Constraint::Text(addresses::ip_errors)),
    ("hostAliases[].hostnames[]", Constraint::Text(names::subdomain_errors)),
    ("priorityClassName", Constraint::OptionalName(names::subdomain_errors)),
    ("runtimeClassName", Constraint::Format(names::subdomain_errors)),
    ("preemptionPolicy", Constraint::Checked(validate_preemption_policy)),
];

/// Validates the spec of a pod or template. `pod` is `None` for a template.
fn validate_pod_spec(check: &mut Check, spec: &Value, pod: Option<&Value>, path: &str) {
    let volumes = volume::validate_volumes(check, spec, pod.map(meta::name), path);
    resource_claims::validate_pod_resource_claims(check, spec, pod.is_some_and(annotations::is_mirror), path);
    container::validate_containers(check, spec, path, &volumes);
    resources::validate_pod_level_resources(check, spec, path);
    validate_host_network_ports(check, spec, pod.is_some(), path);
    check.apply(POD_SPEC, spec, None, path);
    resources::validate_overhead(check, &spec["overhead"], &format!("{path}.overhead"));
    security::validate_pod_security_context(check, spec, path);
    scheduling::validate_affinity(check, spec, path);
    dns::validate_dns_config(check, spec, &format!("{path}.dnsConfig"));
    validate_gates(check, spec, path);
    scheduling::validate_topology_spread(check, spec, path);
    windows::validate_host_processes(check, spec, path);
    validate_user_namespace(check, spec, path);
    validate_hostname_override(check, spec, path);
    tolerations::validate_tolerations(check, spec, path);
    security::validate_os(check, spec, path);
    validate_env_file_volumes(check, spec, path);
}

/// Requires host ports to equal container ports on the host network. In a template they may be unset.
fn validate_host_network_ports(check: &mut Check, spec: &Value, in_pod: bool, path: &str) {
    if spec["hostNetwork"] != true {
        return;
    }
    let containers = items(spec, "containers", path);
    for (port, path) in containers.flat_map(|(container, path)| items(container, "ports", &path)) {
        let number = |name: &str| port[name].as_i64().unwrap_or(0);
        let host = number("hostPort");
        if (in_pod || host != 0) && host != number("containerPort") {
            let detail = "must match `containerPort` when `hostNetwork` is true";
            check.invalid(&format!("{path}.hostPort"), host, detail);
        }
    }
}

/// Validates scheduling gates.
fn validate_gates(check: &mut Check, spec: &Value, path: &str) {
    let mut seen = BTreeSet::new();
    for (gate, path) in items(spec, "schedulingGates", path) {
        let name = text(gate, "name");
        check.validate_format(&path, name, names::qualified_name_errors);
        if !seen.insert(name) {
            check.duplicate(&path, name);
        }
    }
}

/// Validates what a pod in its own user namespace must not use.
fn validate_user_namespace(check: &mut Check, spec: &Value, path: &str) {
    const DETAIL: &str = "when `hostUsers` is false";
    if spec["hostUsers"] != false {
        return;
    }
    // The paths have kube-apiserver's spelling.
    for (name, path_name) in [
        ("hostNetwork", "hostNetwork"),
        ("hostPID", "HostPID"),
        ("hostIPC", "HostIPC"),
    ] {
        if spec[name] == true {
            check.forbidden(&format!("{path}.{path_name}"), DETAIL);
        }
    }
    for (container, path) in container::all_containers(spec, path) {
        if container["volumeDevices"].is_array() {
            check.forbidden(&format!("{path}.volumeDevices"), DETAIL);
        }
    }
}

/// Validates `hostnameOverride`.
fn validate_hostname_override(check: &mut Check, spec: &Value, path: &str) {
    const MAX_BYTES: usize = 64;
    let Some(name) = spec["hostnameOverride"].as_str() else {
        return;
    };
    let field = format!("{path}.hostnameOverride");
    for other in ["setHostnameAsFQDN", "hostNetwork"] {
        if spec[other] == true {
            let detail = format!("may not be specified when {other} is true");
            check.forbidden(&field, detail);
        }
    }
    check.limit_bytes(name, MAX_BYTES, &field);
    check.validate_format(&field, name, names::subdomain_errors);
}

/// Requires the volumes of env files to be `emptyDir`.
fn validate_env_file_volumes(check: &mut Check, spec: &Value, path: &str) {
    let volumes: Vec<&Value> = items(spec, "volumes", path).map(|(volume, _)| volume).collect();
    let containers = container::all_containers(spec, path).into_iter();
    for (variable, path) in containers.flat_map(|(container, path)| items(container, "env", &path)) {
        let file = &variable["valueFrom"]["fileKeyRef"];
        let (name, field) = (
            text(file, "volumeName"),
            format!("{path}.valueFrom.fileKeyRef.volumeName"),
        );
        match volumes.iter().rfind(|volume| text(volume, "name") == name) {
            _ if !file.is_object() => {}
            None => check.not_found(&field, name),
            Some(volume) if volume["emptyDir"].is_null() => {
                check.invalid(&field, name, "referenced volume must be of type emptyDir");
            }
            Some(_) => {}
        }
    }
}

/// Validates `preemptionPolicy`.
pub(super) fn validate_preemption_policy(check: &mut Check, policy: &Value, path: &str) {
    match policy.as_str() {
        None | Some("PreemptLowerPriority" | "Never") => {}
        Some("") => check.required(path, ""),
        Some(other) => check.not_supported(path, other, ["PreemptLowerPriority", "Never"]),
    }
}

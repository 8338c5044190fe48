//! Validation of Pods and pod templates.

use super::{
    Check, annotations, container, dns, items, names, pod_resize, pod_status, pod_update, projected,
    resource_claims, resources, scheduling, security, text, tolerations, volume, windows,
};
use crate::field::FieldError;
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
        check.push(FieldError::forbidden(
            "spec.ephemeralContainers",
            "cannot be set on create",
        ));
    }
    let gates = spec["schedulingGates"].as_array();
    if !text(spec, "nodeName").is_empty() && gates.is_some_and(|gates| !gates.is_empty()) {
        let detail = "cannot be set until all schedulingGates have been cleared";
        check.push(FieldError::forbidden("spec.nodeName", detail));
    }
    annotations::validate_annotations_match_fields(check, &pod["metadata"], spec, "spec");
}

/// Rejects image names with surrounding whitespace, which pod templates may have.
pub(super) fn reject_image_whitespace(check: &mut Check, container: &Value, path: &str) {
    let image = text(container, "image");
    if image.trim() != image {
        check.push(FieldError::invalid(
            &format!("{path}.image"),
            image,
            "must not have leading or trailing whitespace",
        ));
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
        check.push(FieldError::forbidden(
            &format!("{path}.ephemeralContainers"),
            detail,
        ));
    }
}

/// Validates the spec of a pod or template. `pod` is `None` for a template.
fn validate_pod_spec(check: &mut Check, spec: &Value, pod: Option<&Value>, path: &str) {
    let at = |name: &str| format!("{path}.{name}");
    let volumes = volume::validate_volumes(check, spec, pod.map(meta::name), path);
    resource_claims::validate_pod_resource_claims(check, spec, pod.is_some_and(annotations::is_mirror), path);
    container::validate_containers(check, spec, path, &volumes);
    resources::validate_pod_level_resources(check, spec, path);
    validate_host_network_ports(check, spec, pod.is_some(), path);
    check.require_supported(spec, "restartPolicy", path, &["Always", "OnFailure", "Never"]);
    let policies = ["ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"];
    check.require_supported(spec, "dnsPolicy", path, &policies);
    check.validate_labels(&spec["nodeSelector"], &at("nodeSelector"));
    security::validate_pod_security_context(check, spec, path);
    scheduling::validate_affinity(check, spec, path);
    dns::validate_dns_config(check, spec, &at("dnsConfig"));
    validate_gates(check, spec, path);
    scheduling::validate_topology_spread(check, spec, path);
    windows::validate_host_processes(check, spec, path);
    validate_user_namespace(check, spec, path);
    validate_hostname_override(check, spec, path);
    validate_optional_name(check, spec, "serviceAccountName", path, names::subdomain_errors);
    validate_optional_name(check, spec, "nodeName", path, names::subdomain_errors);
    if let Some(seconds) = spec["activeDeadlineSeconds"].as_i64() {
        validate_seconds_range(check, seconds, 1, &at("activeDeadlineSeconds"));
    }
    validate_optional_name(check, spec, "hostname", path, names::label_errors);
    validate_optional_name(check, spec, "subdomain", path, names::label_errors);
    tolerations::validate_tolerations(check, spec, path);
    dns::validate_host_aliases(check, spec, path);
    validate_optional_name(check, spec, "priorityClassName", path, names::subdomain_errors);
    if let Some(class) = spec["runtimeClassName"].as_str() {
        check.push_messages(&at("runtimeClassName"), class, &names::subdomain_errors(class));
    }
    validate_preemption_policy(check, spec, &at("preemptionPolicy"));
    security::validate_os(check, spec, path);
    validate_env_file_volumes(check, spec, path);
}

/// Requires the seconds to be in the range from `min` to the largest 32-bit integer. Returns whether they are.
pub(super) fn validate_seconds_range(check: &mut Check, seconds: i64, min: i64, path: &str) -> bool {
    let fits = (min..=i64::from(i32::MAX)).contains(&seconds);
    if !fits {
        let detail = format!("must be between {min} and 2147483647, inclusive");
        check.push(FieldError::invalid(path, seconds, detail));
    }
    fits
}

/// Validates an optional field that contains a name.
fn validate_optional_name(
    check: &mut Check,
    spec: &Value,
    field: &str,
    path: &str,
    messages: fn(&str) -> Vec<&'static str>,
) {
    let name = text(spec, field);
    if !name.is_empty() {
        check.push_messages(&format!("{path}.{field}"), name, &messages(name));
    }
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
            check.push(FieldError::invalid(&format!("{path}.hostPort"), host, detail));
        }
    }
}

/// Validates readiness gates and scheduling gates.
fn validate_gates(check: &mut Check, spec: &Value, path: &str) {
    for (gate, path) in items(spec, "readinessGates", path) {
        let condition = text(gate, "conditionType");
        check.push_messages(
            &format!("{path}.conditionType"),
            condition,
            &names::qualified_name_errors(condition),
        );
    }
    let mut seen = BTreeSet::new();
    for (gate, path) in items(spec, "schedulingGates", path) {
        let name = text(gate, "name");
        check.push_messages(&path, name, &names::qualified_name_errors(name));
        if !seen.insert(name) {
            check.push(FieldError::duplicate(&path, name));
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
            check.push(FieldError::forbidden(&format!("{path}.{path_name}"), DETAIL));
        }
    }
    for (container, path) in container::all_containers(spec, path) {
        if container["volumeDevices"].is_array() {
            check.push(FieldError::forbidden(&format!("{path}.volumeDevices"), DETAIL));
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
            check.push(FieldError::forbidden(&field, detail));
        }
    }
    check.limit_bytes(name, MAX_BYTES, &field);
    check.push_messages(&field, name, &names::subdomain_errors(name));
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
            None => check.push(FieldError::not_found(&field, name)),
            Some(volume) if volume["emptyDir"].is_null() => {
                let detail = "referenced volume must be of type emptyDir";
                check.push(FieldError::invalid(&field, name, detail));
            }
            Some(_) => {}
        }
    }
}

/// Validates `preemptionPolicy`.
pub(super) fn validate_preemption_policy(check: &mut Check, holder: &Value, path: &str) {
    if holder["preemptionPolicy"] == "" {
        check.push(FieldError::required(path, ""));
    } else {
        check.require_supported_at(
            holder,
            "preemptionPolicy",
            path,
            &["PreemptLowerPriority", "Never"],
        );
    }
}

//! Pods and their templates.

use super::{
    Check, annotations, container, dns, items, names, pod_resize, pod_status, pod_update, projected,
    resource_claims, resources, scheduling, security, text, tolerations, volume, windows,
};
use crate::field::FieldError;
use crate::meta;
use serde_json::Value;
use std::collections::BTreeSet;

/// A pod that is new, or of which a part changes: all of it, its status, its size or the containers for a look inside.
pub(super) fn pod(check: &mut Check, pod: &Value, old: Option<&Value>, part: &str) {
    let within = &pod["spec"];
    if let Some(old) = old.filter(|_| part == "status") {
        annotations::changes(check, pod, old);
        return pod_status::pod_status(check, pod, old);
    }
    annotations::annotations(check, &pod["metadata"], within, "metadata.annotations");
    spec(check, within, Some(pod), "spec");
    if text(within, "serviceAccountName").is_empty() {
        projected::tokens_without_account(check, within, "spec");
    }
    for list in ["containers", "initContainers"] {
        for (container, path) in items(within, list, "spec") {
            padded(check, container, &path);
        }
    }
    match (old, part) {
        (None, _) => created(check, pod),
        (Some(old), "ephemeralcontainers") => pod_update::peeks(check, pod, old),
        (Some(old), "resize") => pod_resize::resize(check, pod, old),
        (Some(old), _) => {
            annotations::changes(check, pod, old);
            pod_update::update(check, within, &old["spec"]);
        }
    }
}

/// What only a new pod may not have.
fn created(check: &mut Check, pod: &Value) {
    let within = &pod["spec"];
    if within["ephemeralContainers"].is_array() {
        check.push(FieldError::forbidden(
            "spec.ephemeralContainers",
            "cannot be set on create",
        ));
    }
    let gates = within["schedulingGates"].as_array();
    if !text(within, "nodeName").is_empty() && gates.is_some_and(|gates| !gates.is_empty()) {
        let detail = "cannot be set until all schedulingGates have been cleared";
        check.push(FieldError::forbidden("spec.nodeName", detail));
    }
    annotations::repeated(check, &pod["metadata"], within, "spec");
}

/// Templates may have images that pods may not have.
pub(super) fn padded(check: &mut Check, container: &Value, path: &str) {
    let image = text(container, "image");
    if image.trim() != image {
        check.push(FieldError::invalid(
            &format!("{path}.image"),
            image,
            "must not have leading or trailing whitespace",
        ));
    }
}

/// A template with its labels.
pub(super) fn template(check: &mut Check, template: &Value, path: &str) {
    // The real server leaves `metadata` out of these paths.
    check.labels_and_annotations(&template["metadata"], path);
    let (metadata, within) = (&template["metadata"], &template["spec"]);
    annotations::annotations(check, metadata, within, &format!("{path}.annotations"));
    let path = format!("{path}.spec");
    spec(check, within, None, &path);
    annotations::repeated(check, metadata, within, &path);
    if within["ephemeralContainers"].is_array() {
        let detail = "ephemeral containers not allowed in pod template";
        check.push(FieldError::forbidden(
            &format!("{path}.ephemeralContainers"),
            detail,
        ));
    }
}

/// What holds for pods and for their templates. `pod` is what is in no template.
fn spec(check: &mut Check, spec: &Value, pod: Option<&Value>, path: &str) {
    let at = |name: &str| format!("{path}.{name}");
    let volumes = volume::volumes(check, spec, pod.map(meta::name), path);
    resource_claims::of_pod(check, spec, pod.is_some_and(annotations::is_mirror), path);
    container::containers(check, spec, path, &volumes);
    resources::of_pod(check, spec, path);
    host_ports(check, spec, pod.is_some(), path);
    check.one_of(spec, "restartPolicy", path, &["Always", "OnFailure", "Never"]);
    let policies = ["ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"];
    check.one_of(spec, "dnsPolicy", path, &policies);
    check.labels(&spec["nodeSelector"], &at("nodeSelector"));
    security::of_pod(check, spec, path);
    scheduling::affinity(check, spec, path);
    dns::servers(check, spec, &at("dnsConfig"));
    gates(check, spec, path);
    scheduling::spread(check, spec, path);
    windows::host_processes(check, spec, path);
    own_users(check, spec, path);
    host_name(check, spec, path);
    named(check, spec, "serviceAccountName", path, names::subdomain);
    named(check, spec, "nodeName", path, names::subdomain);
    if let Some(seconds) = spec["activeDeadlineSeconds"].as_i64() {
        between(check, seconds, 1, &at("activeDeadlineSeconds"));
    }
    named(check, spec, "hostname", path, names::label);
    named(check, spec, "subdomain", path, names::label);
    tolerations::tolerations(check, spec, path);
    dns::aliases(check, spec, path);
    named(check, spec, "priorityClassName", path, names::subdomain);
    if let Some(class) = spec["runtimeClassName"].as_str() {
        check.messages(&at("runtimeClassName"), class, &names::subdomain(class));
    }
    preemption(check, spec, &at("preemptionPolicy"));
    security::system(check, spec, path);
    files(check, spec, path);
}

/// Whether it is so many seconds, of those that the real server counts in 32 bits.
pub(super) fn between(check: &mut Check, seconds: i64, least: i64, path: &str) -> bool {
    let fits = (least..=i64::from(i32::MAX)).contains(&seconds);
    if !fits {
        let detail = format!("must be between {least} and 2147483647, inclusive");
        check.push(FieldError::invalid(path, seconds, detail));
    }
    fits
}

/// A field that names something, if it is there.
fn named(check: &mut Check, spec: &Value, field: &str, path: &str, messages: fn(&str) -> Vec<&'static str>) {
    let name = text(spec, field);
    if !name.is_empty() {
        check.messages(&format!("{path}.{field}"), name, &messages(name));
    }
}

/// On the host's network, ports are the host's. A template need not say so.
fn host_ports(check: &mut Check, spec: &Value, in_pod: bool, path: &str) {
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

/// What must be before the pod is ready, or runs at all.
fn gates(check: &mut Check, spec: &Value, path: &str) {
    for (gate, path) in items(spec, "readinessGates", path) {
        let condition = text(gate, "conditionType");
        check.messages(
            &format!("{path}.conditionType"),
            condition,
            &names::qualified(condition),
        );
    }
    let mut seen = BTreeSet::new();
    for (gate, path) in items(spec, "schedulingGates", path) {
        let name = text(gate, "name");
        check.messages(&path, name, &names::qualified(name));
        if !seen.insert(name) {
            check.push(FieldError::duplicate(&path, name));
        }
    }
}

/// A pod with users of its own shares little with its host.
fn own_users(check: &mut Check, spec: &Value, path: &str) {
    const DETAIL: &str = "when `hostUsers` is false";
    if spec["hostUsers"] != false {
        return;
    }
    // So the real server writes them.
    for (name, shown) in [
        ("hostNetwork", "hostNetwork"),
        ("hostPID", "HostPID"),
        ("hostIPC", "HostIPC"),
    ] {
        if spec[name] == true {
            check.push(FieldError::forbidden(&format!("{path}.{shown}"), DETAIL));
        }
    }
    for (container, path) in container::all(spec, path) {
        if container["volumeDevices"].is_array() {
            check.push(FieldError::forbidden(&format!("{path}.volumeDevices"), DETAIL));
        }
    }
}

/// A name in place of the pod's own.
fn host_name(check: &mut Check, spec: &Value, path: &str) {
    const MOST: usize = 64;
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
    check.no_longer(name, MOST, &field);
    check.messages(&field, name, &names::subdomain(name));
}

/// Files that variables are read from lie in volumes that last as long as the pod.
fn files(check: &mut Check, spec: &Value, path: &str) {
    let volumes: Vec<&Value> = items(spec, "volumes", path).map(|(volume, _)| volume).collect();
    let containers = container::all(spec, path).into_iter();
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

/// What happens to others for its sake.
pub(super) fn preemption(check: &mut Check, holder: &Value, path: &str) {
    if holder["preemptionPolicy"] == "" {
        check.push(FieldError::required(path, ""));
    } else {
        check.one_of_at(
            holder,
            "preemptionPolicy",
            path,
            &["PreemptLowerPriority", "Never"],
        );
    }
}

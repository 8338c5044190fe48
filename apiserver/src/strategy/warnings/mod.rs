//! Warnings about valid objects that use deprecated or questionable fields.

mod addresses;
mod definitions;
mod files;
mod network;
mod pods;
mod storage;
mod workloads;

use super::secrets;
use crate::kinds::Kind;
use crate::meta;
use serde_json::Value;

/// Deprecated labels of nodes, with their replacements.
const DEPRECATED_NODE_LABELS: &[(&str, &str)] = &[
    (
        "beta.kubernetes.io/arch",
        "deprecated since v1.14; use \"kubernetes.io/arch\" instead",
    ),
    (
        "beta.kubernetes.io/os",
        "deprecated since v1.14; use \"kubernetes.io/os\" instead",
    ),
    (
        "failure-domain.beta.kubernetes.io/region",
        "deprecated since v1.17; use \"topology.kubernetes.io/region\" instead",
    ),
    (
        "failure-domain.beta.kubernetes.io/zone",
        "deprecated since v1.17; use \"topology.kubernetes.io/zone\" instead",
    ),
    (
        "beta.kubernetes.io/instance-type",
        "deprecated since v1.17; use \"node.kubernetes.io/instance-type\" instead",
    ),
    ("app.kubernetes.io/created-by", "deprecated since v1.9"),
    (
        "scheduler.alpha.kubernetes.io/preferAvoidPods",
        "deprecated since v1.22; use Taints and Tolerations instead",
    ),
    (
        "node-role.kubernetes.io/master",
        "use \"node-role.kubernetes.io/control-plane\" instead",
    ),
];

const MOUNTABLE_SECRETS_ANNOTATION: &str = "kubernetes.io/enforce-mountable-secrets";

/// Returns the warnings about an object before admission, whether it is created or not.
pub(crate) fn before_create(kind: &Kind, object: &Value) -> Vec<String> {
    let mut warnings = vec![];
    if (kind.group.as_str(), kind.kind.as_str()) == ("", "Pod") {
        pods::warn_before_admission(object, &mut warnings);
    }
    warnings
}

/// Returns the warnings about a new object.
pub(crate) fn on_create(kind: &Kind, object: &Value) -> Vec<String> {
    let mut warnings = vec![];
    match (kind.group.as_str(), kind.kind.as_str()) {
        ("", "Pod") => {
            warnings.extend(dns_label_warning(object, "the Pod's hostname"));
            pods::warn_pod(object, "", &mut warnings);
        }
        ("apps", "Deployment" | "ReplicaSet") | ("batch", _) | ("", "ReplicationController") => {
            warnings.extend(dns_label_warning(object, "Pod names and hostnames"));
        }
        ("networking.k8s.io", "Ingress") => {
            let class = "kubernetes.io/ingress.class";
            if has_annotation(object, class) && object["spec"]["ingressClassName"].is_null() {
                warnings.push(format!(
                    "annotation {class:?} is deprecated, please use 'spec.ingressClassName' instead"
                ));
            }
        }
        ("", "ServiceAccount") if has_annotation(object, MOUNTABLE_SECRETS_ANNOTATION) => {
            warnings.push(mountable_secrets_warning());
        }
        ("discovery.k8s.io", "EndpointSlice") if object["addressType"] == "FQDN" => {
            warnings.push("spec.addressType: FQDN endpoints are deprecated".to_owned());
        }
        ("storage.k8s.io", "CSIDriver") => storage::warn_driver(object, &Value::Null, &mut warnings),
        ("resource.k8s.io", "ResourceSlice") => storage::warn_slice(object, &mut warnings),
        ("apiextensions.k8s.io", _) => definitions::warn_formats(object, &Value::Null, &mut warnings),
        _ => {}
    }
    if let Some((pod_template, path)) = pod_template(kind, object) {
        workloads::warn_many_indexes(kind, object, &mut warnings);
        pods::warn_pod(pod_template, &path, &mut warnings);
    }
    workloads::warn_claim_templates(kind, object, "", &mut warnings);
    warn_finalizers(kind, object, &Value::Null, &mut warnings);
    warn_always(kind, object, &mut warnings);
    warnings
}

/// Returns the warnings about an update of an object, or of a subresource if `subresource` is not empty.
pub(crate) fn on_update(kind: &Kind, subresource: &str, object: &Value, old: &Value) -> Vec<String> {
    let mut warnings = unchanged_violations(kind, object, old);
    if subresource == "status" && matches!(kind.kind.as_str(), "Service" | "Ingress") {
        network::warn_load_balancer_status(&object["status"], &mut warnings);
    }
    if !matches!(subresource, "" | "scale") {
        return warnings;
    }
    match (kind.group.as_str(), kind.kind.as_str()) {
        ("storage.k8s.io", "CSIDriver") => storage::warn_driver(object, old, &mut warnings),
        ("resource.k8s.io", "ResourceSlice") => storage::warn_slice(object, &mut warnings),
        ("apiextensions.k8s.io", _) => definitions::warn_formats(object, old, &mut warnings),
        _ => {}
    }
    let generation = |object: &Value| object["metadata"]["generation"].clone();
    // kube-apiserver checks the old template here.
    let checked = if kind.kind == "ReplicationController" {
        old
    } else {
        object
    };
    if let Some((pod_template, path)) = pod_template(kind, checked)
        && generation(object) != generation(old)
    {
        workloads::warn_many_indexes(kind, object, &mut warnings);
        pods::warn_pod(pod_template, &path, &mut warnings);
    }
    // The path is that of kube-apiserver.
    workloads::warn_claim_templates(kind, object, ".Spec", &mut warnings);
    warn_finalizers(kind, object, old, &mut warnings);
    let is_new = has_annotation(object, MOUNTABLE_SECRETS_ANNOTATION)
        && !has_annotation(old, MOUNTABLE_SECRETS_ANNOTATION);
    match (kind.group.as_str(), kind.kind.as_str()) {
        ("", "ServiceAccount") if is_new => warnings.push(mountable_secrets_warning()),
        ("batch", "CronJob") if meta::text(&object["spec"], "schedule").contains("TZ") => {
            warnings.push(
                "cannot use TZ or CRON_TZ in spec.spec.schedule, use timeZone instead, see \
                 https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/ for more details"
                    .to_owned(),
            );
        }
        _ => {}
    }
    warn_always(kind, object, &mut warnings);
    warnings
}

/// Adds the warnings that creates and updates share.
fn warn_always(kind: &Kind, object: &Value, warnings: &mut Vec<String>) {
    let spec = &object["spec"];
    match (kind.group.as_str(), kind.kind.as_str()) {
        ("", "Secret") => warnings.extend(secrets::key_pair_error(object)),
        ("", "Service") => network::warn_service(object, warnings),
        ("", "PersistentVolume") => storage::warn_persistent_volume(object, warnings),
        ("", "PersistentVolumeClaim") => {
            warnings.extend(storage::class_annotation_warning(object));
            pods::warn_fractional_bytes(&spec["resources"], "spec.resources", &["storage"], warnings);
        }
        ("apps", "StatefulSet")
            if spec["revisionHistoryLimit"]
                .as_i64()
                .is_some_and(|limit| limit < 0) =>
        {
            warnings.push(
                "spec.revisionHistoryLimit: a negative value retains all historical revisions; a value >= 0 is recommended".to_owned(),
            );
        }
        ("storage.k8s.io", "StorageClass") => storage::warn_storage_class(object, warnings),
        ("networking.k8s.io", "NetworkPolicy") => network::warn_network_policy(spec, warnings),
        ("", "Node") => network::warn_node(spec, warnings),
        ("admissionregistration.k8s.io", _) => warnings.extend(reserved_name_warning(object)),
        ("", "Endpoints") => network::warn_endpoints(object, warnings),
        ("discovery.k8s.io", "EndpointSlice") => network::warn_endpoint_slice(object, warnings),
        _ => {}
    }
}

/// Warns about names of webhook configurations that are reserved for static manifests.
fn reserved_name_warning(object: &Value) -> Option<String> {
    const SUFFIX: &str = ".static.k8s.io";
    crate::meta::name(object).ends_with(SUFFIX).then(|| {
        format!(
            "metadata.name: names ending with {SUFFIX:?} are reserved for static manifest-based configurations and cannot be managed via the API"
        )
    })
}

/// Warns about new finalizers of a custom resource without a domain.
fn warn_finalizers(kind: &Kind, object: &Value, old: &Value, warnings: &mut Vec<String>) {
    if kind.definition.is_none() {
        return;
    }
    let known =
        |name: &str| name.contains('/') || ["kubernetes", "orphan", "foregroundDeletion"].contains(&name);
    let before = meta::finalizers(old);
    let mut added: Vec<&str> = meta::finalizers(object)
        .into_iter()
        .filter(|name| !before.contains(name) && !known(name))
        .collect();
    added.sort_unstable();
    for name in added {
        let path = if name.contains('.') {
            " including a path (/)"
        } else {
            ""
        };
        warnings.push(format!(
            "metadata.finalizers: {name:?}: prefer a domain-qualified finalizer name{path} to avoid accidental conflicts with other \
             finalizer writers"
        ));
    }
}

/// Warns about rules that a custom resource violates with what an update leaves unchanged.
pub(crate) fn unchanged_violations(kind: &Kind, object: &Value, old: &Value) -> Vec<String> {
    let definition = kind.definition.as_ref();
    let version = definition.and_then(|definition| definition.version(&kind.version));
    let violations = version.map(|version| version.schema.unchanged_violations(object, old));
    let violations = violations.unwrap_or_default();
    violations.iter().map(ToString::to_string).collect()
}

/// Returns the pod template of a kind with its path, which ends with a dot.
fn pod_template<'a>(kind: &Kind, object: &'a Value) -> Option<(&'a Value, String)> {
    let pointer = super::pod_path(kind).filter(|pointer| !pointer.is_empty())?;
    let path = format!("{}.", pointer.trim_start_matches('/').replace('/', "."));
    Some((object.pointer(pointer)?, path))
}

fn dns_label_warning(object: &Value, usage: &str) -> Option<String> {
    let errors = meta::names::label_errors(meta::name(object));
    (!errors.is_empty()).then(|| {
        format!(
            "metadata.name: this is used in {usage}, which can result in surprising behavior; a DNS label is recommended: [{}]",
            errors.join(" ")
        )
    })
}

fn mountable_secrets_warning() -> String {
    format!(
        "metadata.annotations[{MOUNTABLE_SECRETS_ANNOTATION}]: deprecated in v1.32+; prefer separate namespaces to isolate access to mounted secrets"
    )
}

fn has_annotation(object: &Value, key: &str) -> bool {
    object["metadata"]["annotations"].get(key).is_some()
}

fn deprecated_label(key: &str) -> Option<&'static (&'static str, &'static str)> {
    DEPRECATED_NODE_LABELS.iter().find(|(label, _)| key == *label)
}

/// Returns the items of a list with their indices.
fn items(list: &Value) -> impl Iterator<Item = (usize, &Value)> {
    list.as_array().into_iter().flatten().enumerate()
}

#[cfg(test)]
mod tests;

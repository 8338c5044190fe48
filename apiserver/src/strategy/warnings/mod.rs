//! What somebody is warned of who writes an object that is valid, and yet hardly what was meant.

mod addresses;
mod files;
mod network;
mod pods;
mod storage;
mod workloads;

use super::secrets;
use crate::kinds::Kind;
use crate::meta;
use serde_json::Value;

/// Node labels that others have replaced.
const OLD_LABELS: &[(&str, &str)] = &[
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

const MOUNTABLE: &str = "kubernetes.io/enforce-mountable-secrets";

/// Of what is about to become a new object, whether it may or not.
pub(crate) fn before_create(kind: &Kind, object: &Value) -> Vec<String> {
    let mut warnings = vec![];
    if (kind.group.as_str(), kind.kind.as_str()) == ("", "Pod") {
        pods::as_sent(object, &mut warnings);
    }
    warnings
}

/// Of an object that is new.
pub(crate) fn on_create(kind: &Kind, object: &Value) -> Vec<String> {
    let mut warnings = vec![];
    match (kind.group.as_str(), kind.kind.as_str()) {
        ("", "Pod") => {
            warnings.extend(odd_name(object, "the Pod's hostname"));
            pods::of_pod(object, "", &mut warnings);
        }
        ("apps", "Deployment" | "ReplicaSet") | ("batch", _) | ("", "ReplicationController") => {
            warnings.extend(odd_name(object, "Pod names and hostnames"));
        }
        ("networking.k8s.io", "Ingress") => {
            let class = "kubernetes.io/ingress.class";
            if annotated(object, class) && object["spec"]["ingressClassName"].is_null() {
                warnings.push(format!(
                    "annotation {class:?} is deprecated, please use 'spec.ingressClassName' instead"
                ));
            }
        }
        ("", "ServiceAccount") if annotated(object, MOUNTABLE) => warnings.push(mountable()),
        ("discovery.k8s.io", "EndpointSlice") if object["addressType"] == "FQDN" => {
            warnings.push("spec.addressType: FQDN endpoints are deprecated".to_owned());
        }
        _ => {}
    }
    if let Some((template, path)) = template(kind, object) {
        workloads::many_indexes(kind, object, &mut warnings);
        pods::of_pod(template, &path, &mut warnings);
    }
    workloads::claims(kind, object, "", &mut warnings);
    finalizers(kind, object, &Value::Null, &mut warnings);
    always(kind, object, &mut warnings);
    warnings
}

/// Of an object that replaces another, or a part of it.
pub(crate) fn on_update(kind: &Kind, part: &str, object: &Value, old: &Value) -> Vec<String> {
    let mut warnings = vec![];
    if part == "status" && matches!(kind.kind.as_str(), "Service" | "Ingress") {
        network::of_status(&object["status"], &mut warnings);
    }
    if !matches!(part, "" | "scale") {
        return warnings;
    }
    let generation = |object: &Value| object["metadata"]["generation"].clone();
    // The real server looks at the old template here.
    let shown = if kind.kind == "ReplicationController" {
        old
    } else {
        object
    };
    if let Some((template, path)) = template(kind, shown)
        && generation(object) != generation(old)
    {
        workloads::many_indexes(kind, object, &mut warnings);
        pods::of_pod(template, &path, &mut warnings);
    }
    // So the real server writes it.
    workloads::claims(kind, object, ".Spec", &mut warnings);
    finalizers(kind, object, old, &mut warnings);
    let newly = annotated(object, MOUNTABLE) && !annotated(old, MOUNTABLE);
    match (kind.group.as_str(), kind.kind.as_str()) {
        ("", "ServiceAccount") if newly => warnings.push(mountable()),
        ("batch", "CronJob")
            if object["spec"]["schedule"]
                .as_str()
                .unwrap_or_default()
                .contains("TZ") =>
        {
            warnings.push(
                "cannot use TZ or CRON_TZ in spec.spec.schedule, use timeZone instead, see \
                 https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/ for more details"
                    .to_owned(),
            );
        }
        _ => {}
    }
    always(kind, object, &mut warnings);
    warnings
}

/// Whatever was there before.
fn always(kind: &Kind, object: &Value, warnings: &mut Vec<String>) {
    let spec = &object["spec"];
    match (kind.group.as_str(), kind.kind.as_str()) {
        ("", "Secret") => warnings.extend(secrets::key_pair_fault(object)),
        ("", "Service") => network::of_service(object, warnings),
        ("", "PersistentVolume") => storage::of_volume(object, warnings),
        ("", "PersistentVolumeClaim") => {
            warnings.extend(storage::old_class(object));
            pods::fractions(&spec["resources"], "spec.resources", &["storage"], warnings);
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
        ("storage.k8s.io", "StorageClass") => storage::of_class(object, warnings),
        ("networking.k8s.io", "NetworkPolicy") => network::of_policy(spec, warnings),
        ("", "Node") => network::of_node(spec, warnings),
        ("admissionregistration.k8s.io", _) => warnings.extend(reserved_name(object)),
        ("", "Endpoints") => network::of_endpoints(object, warnings),
        ("discovery.k8s.io", "EndpointSlice") => network::of_slice(object, warnings),
        _ => {}
    }
}

/// Names of webhooks' configurations that will be those of files.
fn reserved_name(object: &Value) -> Option<String> {
    const SUFFIX: &str = ".static.k8s.io";
    crate::meta::name(object).ends_with(SUFFIX).then(|| {
        format!(
            "metadata.name: names ending with {SUFFIX:?} are reserved for static manifest-based configurations and cannot be managed via the API"
        )
    })
}

/// Finalizers that come to a custom resource without a domain.
fn finalizers(kind: &Kind, object: &Value, old: &Value, warnings: &mut Vec<String>) {
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
        warnings.push(format!(
            "metadata.finalizers: {name:?}: prefer a domain-qualified finalizer name to avoid accidental conflicts with other \
             finalizer writers"
        ));
    }
}

/// The template of a kind's pods, and where it stands.
fn template<'a>(kind: &Kind, object: &'a Value) -> Option<(&'a Value, String)> {
    let pointer = super::pod_path(kind).filter(|pointer| !pointer.is_empty())?;
    let path = format!("{}.", pointer.trim_start_matches('/').replace('/', "."));
    Some((object.pointer(pointer)?, path))
}

fn odd_name(object: &Value, used: &str) -> Option<String> {
    let faults = meta::names::label(meta::name(object));
    (!faults.is_empty()).then(|| {
        format!(
            "metadata.name: this is used in {used}, which can result in surprising behavior; a DNS label is recommended: [{}]",
            faults.join(" ")
        )
    })
}

fn mountable() -> String {
    format!(
        "metadata.annotations[{MOUNTABLE}]: deprecated in v1.32+; prefer separate namespaces to isolate access to mounted secrets"
    )
}

fn annotated(object: &Value, key: &str) -> bool {
    object["metadata"]["annotations"].get(key).is_some()
}

fn old_label(key: &Value) -> Option<&'static (&'static str, &'static str)> {
    OLD_LABELS.iter().find(|(label, _)| key == label)
}

/// The items of a list, numbered.
fn items(list: &Value) -> impl Iterator<Item = (usize, &Value)> {
    list.as_array().into_iter().flatten().enumerate()
}

#[cfg(test)]
mod tests;

//! What the server adds to objects of built-in kinds beyond their defaults: what it allocates, what admission adds, and what follows
//! from who they are; and what it refuses.

mod claims;
mod definitions;
mod families;
mod gates;
mod jobs;
mod namespaces;
mod node_ports;
mod pods;
mod secrets;
mod services;
pub(crate) mod warnings;

pub(crate) use node_ports::Unallocated;
pub(crate) use pods::{keep_status, quality};

use crate::builtin;
use crate::kinds::Kind;
use crate::meta;
use crate::status::Cause;
use crate::types::{self, Empties, Type};
use serde_json::{Value, json};

/// Where daemon sets count the versions of their template.
const TEMPLATES: &str = "deprecated.daemonset.template.generation";

/// What reading alone makes of an object, so that who sent it owns it.
pub(crate) fn read(kind: &Kind, object: &mut Value) {
    if let Some(spec) = pod_path(kind).and_then(|path| object.pointer_mut(&format!("{path}/spec"))) {
        pods::name_account(spec);
    }
    match (kind.group.as_str(), kind.kind.as_str()) {
        ("", "Secret") => secrets::fill(object),
        ("authentication.k8s.io", "TokenRequest") => {
            let spec = meta::entry_mut(object, "spec");
            if !spec.get("expirationSeconds").is_some_and(Value::is_number) {
                spec.insert("expirationSeconds".into(), json!(3600));
            }
        }
        ("apps", "DaemonSet") => {
            let annotations = meta::entry_mut(&mut object["metadata"], "annotations");
            annotations.entry(TEMPLATES).or_insert(json!("0"));
        }
        ("", "Node") => list_pod_ranges(&mut object["spec"]),
        _ => {}
    }
}

/// Where a kind has a pod, or a template of pods: a pointer.
pub(crate) fn pod_path(kind: &Kind) -> Option<&'static str> {
    Some(match (kind.group.as_str(), kind.kind.as_str()) {
        ("", "Pod") => "",
        ("", "PodTemplate") => "/template",
        ("apps", "Deployment" | "ReplicaSet" | "StatefulSet" | "DaemonSet")
        | ("batch", "Job")
        | ("", "ReplicationController") => "/spec/template",
        ("batch", "CronJob") => "/spec/jobTemplate/spec/template",
        _ => return None,
    })
}

/// Drops from metadata what the real server keeps in a field of its own, and only shows in whole objects.
pub(crate) fn hide_internal(metadata: &mut Value) {
    let annotations = metadata["annotations"].as_object_mut();
    let is_empty = annotations.is_some_and(|annotations| {
        annotations.remove(TEMPLATES);
        annotations.is_empty()
    });
    if is_empty && let Value::Object(metadata) = metadata {
        metadata.remove("annotations");
    }
}

/// When a volume came into its phase the server says, if nobody else does.
fn time_phase(volume: &mut Value, old: Option<&Value>) {
    const TIME: &str = "lastPhaseTransitionTime";
    let before = old.map_or(Value::Null, |old| old["status"].clone());
    let status = meta::entry_mut(volume, "status");
    let changed = status.get("phase").unwrap_or(&Value::Null) != &before["phase"];
    let time = status.get(TIME).unwrap_or(&Value::Null).clone();
    if changed && (time.is_null() || time == before[TIME]) {
        status.insert(TIME.to_owned(), json!(meta::now()));
    } else if !changed && time.is_null() && !before[TIME].is_null() {
        status.insert(TIME.to_owned(), before[TIME].clone());
    }
}

/// A job without labels has those of its template, and with them those that it selects its pods by.
pub(crate) fn share_labels(kind: &Kind, object: &mut Value) {
    if (kind.group.as_str(), kind.kind.as_str()) == ("batch", "Job") {
        let labels = object["spec"]["template"]["metadata"]["labels"].clone();
        if !labels.is_null() {
            meta::metadata_mut(object).insert("labels".into(), labels);
        }
    }
}

/// Fills in what the server gives.
pub(crate) fn fill(kind: &Kind, object: &mut Value, old: Option<&Value>) {
    let ty = types::builtin(&kind.api_version(), &kind.kind);
    gates::drop_gated(kind, object);
    match (kind.group.as_str(), kind.kind.as_str()) {
        ("", "Namespace") => namespaces::fill(object, old),
        ("", "Pod") => pods::fill(object, old),
        ("", "Service") => services::fill(object, old),
        ("", "PersistentVolumeClaim") => claims::fill(object, old),
        ("", "PersistentVolume") if old.is_none() => {
            meta::add_finalizer(object, "kubernetes.io/pv-protection");
            object["status"] = json!({ "phase": "Pending", "lastPhaseTransitionTime": meta::now() });
        }
        ("", "PersistentVolume") => time_phase(object, old),
        // The real server names these itself.
        ("", "LimitRange") if meta::name(object).is_empty() => {
            let uid = json!(meta::uid(object));
            meta::metadata_mut(object).insert("name".into(), uid);
        }
        ("apps", "DaemonSet") => count_templates(object, old),
        ("apps", "StatefulSet") => name_claims(object),
        ("batch", "Job") => jobs::fill(object, old),
        ("", "ReplicationController") => label_like_template(object),
        ("", "Node") => {
            if old.is_none() {
                taint(object);
            }
            builtin::default(&mut object["status"], &Type::named("core.v1.NodeStatus"));
        }
        ("autoscaling", "HorizontalPodAutoscaler") => scale_by_cpu(object),
        ("apiextensions.k8s.io", "CustomResourceDefinition") => definitions::fill(object, old),
        _ => {}
    }
    if let Some(ty) = ty {
        types::normalize(object, ty);
        types::settle(object, ty);
    }
}

/// Drops what is not kept, when all else is done and what changed has been counted.
pub(crate) fn drop_unkept(kind: &Kind, object: &mut Value) {
    if kind.kind == "EndpointSlice" {
        for endpoint in object["endpoints"].as_array_mut().into_iter().flatten() {
            if let Value::Object(endpoint) = endpoint {
                endpoint.remove("deprecatedTopology");
            }
        }
    }
}

/// The claims of a stateful set say what they are.
fn name_claims(object: &mut Value) {
    let claims = object["spec"]["volumeClaimTemplates"].as_array_mut();
    for claim in claims.into_iter().flatten() {
        claim["apiVersion"] = json!("v1");
        claim["kind"] = json!("PersistentVolumeClaim");
    }
}

/// What has no labels has those of its template.
fn label_like_template(object: &mut Value) {
    let labels = object["spec"]["template"]["metadata"]["labels"].clone();
    if object["metadata"]["labels"].is_null() && !labels.is_null() {
        meta::metadata_mut(object).insert("labels".into(), labels);
    }
}

/// The old field for a node's range of addresses is the first of the new one, whichever was sent.
fn list_pod_ranges(spec: &mut Value) {
    let range = spec["podCIDR"].as_str().unwrap_or_default().to_owned();
    if !range.is_empty() && spec["podCIDRs"][0] != json!(range) {
        spec["podCIDRs"] = json!([range]);
    }
    let first = spec["podCIDRs"][0].clone();
    if first.is_string() {
        spec["podCIDR"] = first;
    }
}

/// A node is not ready until it says so. No new one is configured from a map.
fn taint(node: &mut Value) {
    meta::entry_mut(node, "spec").remove("configSource");
    let taint = json!({ "key": "node.kubernetes.io/not-ready", "effect": "NoSchedule" });
    let taints = meta::entry_mut(node, "spec")
        .entry("taints")
        .or_insert_with(|| json!([]));
    if let Value::Array(taints) = taints
        && !taints
            .iter()
            .any(|present| present["key"] == taint["key"] && present["effect"] == taint["effect"])
    {
        taints.push(taint);
    }
}

/// Without a metric, a pod's processor is measured.
fn scale_by_cpu(object: &mut Value) {
    let spec = meta::entry_mut(object, "spec");
    if spec
        .get("metrics")
        .and_then(Value::as_array)
        .is_none_or(Vec::is_empty)
    {
        let target = json!({ "type": "Utilization", "averageUtilization": 80 });
        let metric = json!({ "type": "Resource", "resource": { "name": "cpu", "target": target } });
        spec.insert("metrics".into(), json!([metric]));
    }
}

/// Daemon sets count the versions of their template in an annotation.
fn count_templates(object: &mut Value, old: Option<&Value>) {
    let count = |object: &Value| -> i64 {
        let text = object["metadata"]["annotations"][TEMPLATES].as_str();
        text.and_then(|text| text.parse().ok()).unwrap_or(0)
    };
    let generation = match old {
        None => 1,
        Some(old) if old["spec"]["template"] != object["spec"]["template"] => count(old) + 1,
        Some(old) => count(old),
    };
    let annotations = meta::entry_mut(&mut object["metadata"], "annotations");
    annotations.insert(TEMPLATES.into(), json!(generation.to_string()));
}

/// Gives an object what only one object can have.
///
/// # Errors
///
/// What is wrong with what it asks for.
pub(crate) fn allocate<'a>(
    kind: &Kind,
    object: &mut Value,
    old: Option<&Value>,
    others: impl Iterator<Item = &'a Value> + Clone,
    dry_run: bool,
) -> Result<(), Unallocated> {
    match (kind.group.as_str(), kind.kind.as_str()) {
        ("", "Service") => services::allocate(object, old, others, dry_run),
        _ => Ok(()),
    }
}

/// What is wrong with an object that is new, or replaces another.
pub(crate) fn check(
    kind: &Kind,
    object: &Value,
    old: Option<&Value>,
    empties: &Empties,
    part: &str,
) -> Vec<Cause> {
    let mut causes: Vec<Cause> = builtin::validate(object, old, empties, part)
        .into_iter()
        .map(Cause::from)
        .collect();
    if kind.kind == "CustomResourceDefinition" {
        causes.extend(definitions::check(object, old));
    }
    causes
}

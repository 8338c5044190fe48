//! Preparation of objects for storage, per kind: `PrepareForCreate` and `PrepareForUpdate` of kube-apiserver's strategies.

use super::grace_period;
use crate::kinds::Kind;
use crate::types::ExplicitEmptyFields;
use crate::{meta, strategy};
use serde_json::{Map, Value, json};

/// Prepares a new object.
pub(super) fn prepare_for_create(kind: &Kind, object: &mut Value) {
    if kind.has_status()
        && let Value::Object(fields) = object
    {
        // A node's status may be set on creation, and a pod keeps a part of it.
        if !matches!((kind.group.as_str(), kind.kind.as_str()), ("", "Node" | "Pod")) {
            fields.remove("status");
        }
        if kind.definition.is_none() {
            fields.entry("status").or_insert_with(|| json!({}));
        }
    }
    if kind.definition.is_none() {
        strategy::prepare(kind, object, None);
        strategy::drop_unpersisted_fields(kind, object);
    }
}

/// Prepares an update. `old` is the existing object in the version of the request, `stored` the form in storage. Discards the changes that are
/// not subresource of the written subresource and increments the generation if the spec changed.
pub(super) fn prepare_for_update(
    kind: &Kind,
    object: &mut Value,
    (old, stored): (&Value, &Value),
    subresource: &str,
    empties: &ExplicitEmptyFields,
) {
    match subresource {
        _ if kind.kind == "CertificateSigningRequest" => {
            strategy::keep_writable_part(object, old, subresource);
        }
        "status" => keep_only_status(kind, object, old),
        "finalize" => keep_only_finalizers(object, old),
        "ephemeralcontainers" => {
            let containers = object["spec"]["ephemeralContainers"].take();
            keep_only_spec_field(object, old, "ephemeralContainers", &containers);
        }
        "resize" => keep_only_resize(object, old),
        // The whole spec: only the subresource `finalize` writes `spec.finalizers`.
        _ if kind.kind == "Namespace" && kind.group.is_empty() => {
            copy_field(object, old, "spec");
            copy_field(object, old, "status");
        }
        _ if kind.has_status() => copy_field(object, old, "status"),
        _ => {}
    }
    if kind.definition.is_none() {
        strategy::prepare(kind, object, Some(old));
    }
    // A write of the status may change annotations, which count for Deployments, and never the generation.
    if kind.tracks_generation() && subresource != "status" {
        let generation = old["metadata"]["generation"].as_i64().unwrap_or(0);
        let (mut new, mut before) = (generation_inputs(kind, object), generation_inputs(kind, old));
        if kind.counts_explicit_empty_fields() {
            new = empties.restore_fields(new);
            before = generation_inputs(kind, stored);
        }
        if new != before {
            meta::metadata_mut(object).insert("generation".into(), json!(generation + 1));
        }
    }
    if kind.definition.is_none() {
        strategy::drop_unpersisted_fields(kind, object);
    }
}

/// True if the object is marked for deletion and neither finalizers nor a grace period hold it.
pub(super) fn is_ready_to_delete(kind: &Kind, object: &Value) -> bool {
    let has_finalizers =
        kind.kind == "Namespace" && kind.group.is_empty() && has_namespace_finalizers(object);
    meta::is_being_deleted(object)
        && meta::finalizers(object).is_empty()
        && grace_period::pending(object) <= 0
        && !has_finalizers
}

/// True if the namespace has finalizers in its spec.
pub(super) fn has_namespace_finalizers(object: &Value) -> bool {
    object["spec"]["finalizers"]
        .as_array()
        .is_some_and(|list| !list.is_empty())
}

/// Keeps the status of the update and the old rest. Built-in kinds also take metadata, because their controllers write annotations there.
fn keep_only_status(kind: &Kind, object: &mut Value, old: &Value) {
    let mut status = object["status"].take();
    let is_pod = (kind.group.as_str(), kind.kind.as_str()) == ("", "Pod");
    if is_pod {
        strategy::preserve_pod_status(&mut status, &old["status"]);
    }
    let metadata = object["metadata"].take();
    *object = old.clone();
    let Value::Object(fields) = object else { return };
    meta::set_or_remove(fields, "status", &status);
    let old_metadata = &old["metadata"];
    if kind.keeps_metadata_in_status_updates() {
        let target = meta::metadata_mut(object);
        // Other kinds copy all metadata of the stored object.
        if kind.definition.is_none() && kind.group != "flowcontrol.apiserver.k8s.io" {
            target.remove("generateName");
            if let Some(prefix) = metadata.get("generateName") {
                target.insert("generateName".into(), prefix.clone());
            }
            // Validation refuses changes of these.
            for key in ["uid", "deletionGracePeriodSeconds"] {
                if let Some(value) = metadata.get(key) {
                    target.insert(key.to_owned(), value.clone());
                }
            }
        }
        meta::set_or_remove(target, "managedFields", &metadata["managedFields"]);
    } else {
        let mut metadata = metadata;
        copy_field(&mut metadata, old_metadata, "ownerReferences");
        if is_pod {
            copy_field(&mut metadata, old_metadata, "deletionTimestamp");
        }
        if kind.keeps_labels_in_status_updates() {
            copy_field(&mut metadata, old_metadata, "labels");
        }
        fields.insert("metadata".into(), metadata);
    }
}

fn keep_only_finalizers(object: &mut Value, old: &Value) {
    let finalizers = object["spec"]["finalizers"].take();
    let metadata = object["metadata"].take();
    *object = old.clone();
    object["metadata"] = metadata;
    let spec = meta::entry_mut(object, "spec");
    if finalizers.as_array().is_none_or(Vec::is_empty) {
        spec.remove("finalizers");
    } else {
        spec.insert("finalizers".into(), finalizers);
    }
}

/// Keeps one field of the pod spec from the update, and the old rest.
fn keep_only_spec_field(object: &mut Value, old: &Value, field: &str, value: &Value) {
    let mut metadata = object["metadata"].take();
    for key in ["labels", "annotations", "finalizers", "ownerReferences"] {
        copy_field(&mut metadata, &old["metadata"], key);
    }
    *object = old.clone();
    object["metadata"] = metadata;
    meta::set_or_remove(meta::entry_mut(object, "spec"), field, value);
}

/// Keeps the resources of a pod resize: of the pod and of its containers. Validation refuses other containers later.
fn keep_only_resize(object: &mut Value, old: &Value) {
    const LISTS: [&str; 2] = ["containers", "initContainers"];
    let containers = |spec: &Value, list: &str| spec[list].as_array().cloned().unwrap_or_default();
    if LISTS
        .iter()
        .any(|list| containers(&object["spec"], list).len() != containers(&old["spec"], list).len())
    {
        return;
    }
    let sent = object["spec"].clone();
    keep_only_spec_field(object, old, "resources", &sent["resources"]);
    for list in LISTS {
        let (new, mut resized) = (containers(&sent, list), containers(&old["spec"], list));
        if new.is_empty() {
            continue;
        }
        let names = |list: &[Value]| -> Vec<Value> {
            list.iter().map(|container| container["name"].clone()).collect()
        };
        if names(&new) == names(&resized) {
            for (container, new) in resized.iter_mut().zip(&new) {
                for key in ["resources", "resizePolicy"] {
                    copy_field(container, new, key);
                }
            }
        } else {
            resized = new;
        }
        object["spec"][list] = Value::Array(resized);
    }
}

fn copy_field(object: &mut Value, old: &Value, key: &str) {
    if let Value::Object(fields) = object {
        meta::set_or_remove(fields, key, &old[key]);
    }
}

/// Returns the fields that count for the generation: a change of them increments it.
fn generation_inputs(kind: &Kind, object: &Value) -> Map<String, Value> {
    let mut fields = object.as_object().cloned().unwrap_or_default();
    let annotations = fields
        .get("metadata")
        .map(|metadata| metadata["annotations"].clone());
    for key in ["metadata", "apiVersion", "kind"] {
        fields.remove(key);
    }
    if kind.has_status() {
        fields.remove("status");
    }
    if kind.kind == "EndpointSlice" {
        fields.insert("labels".into(), object["metadata"]["labels"].clone());
    }
    if kind.kind == "Deployment" && kind.group == "apps" {
        fields.insert("annotations".into(), annotations.unwrap_or_default());
    }
    fields
}

//! What the server makes of an object before it is kept, by kind.

use crate::kinds::Kind;
use crate::types::Empties;
use crate::{meta, strategy};
use serde_json::{Map, Value, json};

/// Makes an object ready to be created.
pub(super) fn prepare_create(kind: &Kind, object: &mut Value) {
    if kind.has_status()
        && let Value::Object(fields) = object
    {
        // A node may say how it is when it comes.
        if (kind.group.as_str(), kind.kind.as_str()) != ("", "Node") {
            fields.remove("status");
        }
        if kind.definition.is_none() {
            fields.entry("status").or_insert_with(|| json!({}));
        }
    }
    if kind.definition.is_none() {
        strategy::fill(kind, object, None);
        strategy::drop_unkept(kind, object);
    }
}

/// Makes an object ready to replace another, of which it is given how it is shown and how it is kept: each part is written on its own path
/// only, and the generation counts.
pub(super) fn prepare_update(
    kind: &Kind,
    object: &mut Value,
    (old, kept): (&Value, &Value),
    part: &str,
    empties: &Empties,
) {
    match part {
        "status" => keep_all_but_status(kind, object, old),
        "finalize" => keep_all_but_finalizers(object, old),
        "ephemeralcontainers" => {
            let containers = object["spec"]["ephemeralContainers"].take();
            keep_all_but(object, old, "ephemeralContainers", containers);
        }
        "resize" => keep_all_but_sizes(object, old),
        _ if kind.has_status() => restore(object, old, "status"),
        _ => {}
    }
    if kind.definition.is_none() {
        strategy::fill(kind, object, Some(old));
    }
    if kind.counts_generations() {
        let generation = old["metadata"]["generation"].as_i64().unwrap_or(0);
        let (mut new, mut before) = (specification(kind, object), specification(kind, old));
        if kind.counts_empties() {
            new = empties.restored_all(new);
            before = specification(kind, kept);
        }
        if new != before {
            meta::metadata_mut(object).insert("generation".into(), json!(generation + 1));
        }
    }
    if kind.definition.is_none() {
        strategy::drop_unkept(kind, object);
    }
}

/// Whether nothing holds a deleted object any more.
pub(super) fn is_finished(kind: &Kind, object: &Value) -> bool {
    let waits = object["metadata"]["deletionGracePeriodSeconds"]
        .as_i64()
        .unwrap_or(0)
        > 0;
    let held = kind.kind == "Namespace" && kind.group.is_empty() && holds_namespace(object);
    meta::is_being_deleted(object) && meta::finalizers(object).is_empty() && !waits && !held
}

/// Whether a namespace's own finalizers hold it.
pub(super) fn holds_namespace(object: &Value) -> bool {
    object["spec"]["finalizers"]
        .as_array()
        .is_some_and(|list| !list.is_empty())
}

/// Of a custom resource only the status is taken; of a built-in kind also metadata, as its controllers write annotations there.
fn keep_all_but_status(kind: &Kind, object: &mut Value, old: &Value) {
    let mut status = object["status"].take();
    if (kind.group.as_str(), kind.kind.as_str()) == ("", "Pod") {
        strategy::keep_status(&mut status, &old["status"]);
    }
    let metadata = object["metadata"].take();
    *object = old.clone();
    let Value::Object(fields) = object else { return };
    if status.is_null() {
        fields.remove("status");
    } else {
        fields.insert("status".into(), status);
    }
    let kept = &old["metadata"];
    if kind.definition.is_none() {
        let mut metadata = metadata;
        restore(&mut metadata, kept, "ownerReferences");
        if kind.restores_labels() {
            restore(&mut metadata, kept, "labels");
        }
        fields.insert("metadata".into(), metadata);
    } else {
        let managed = metadata["managedFields"].clone();
        let target = meta::metadata_mut(object);
        if managed.is_null() {
            target.remove("managedFields");
        } else {
            target.insert("managedFields".into(), managed);
        }
    }
}

fn keep_all_but_finalizers(object: &mut Value, old: &Value) {
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

/// Of a pod's specification only one field is taken.
fn keep_all_but(object: &mut Value, old: &Value, field: &str, value: Value) {
    let mut metadata = object["metadata"].take();
    for key in ["labels", "annotations", "finalizers", "ownerReferences"] {
        restore(&mut metadata, &old["metadata"], key);
    }
    *object = old.clone();
    object["metadata"] = metadata;
    let spec = meta::entry_mut(object, "spec");
    if value.is_null() {
        spec.remove(field);
    } else {
        spec.insert(field.to_owned(), value);
    }
}

/// Of a pod's resize what its containers and itself ask for is taken. If the containers are others, that is refused later.
fn keep_all_but_sizes(object: &mut Value, old: &Value) {
    const LISTS: [&str; 2] = ["containers", "initContainers"];
    let containers = |spec: &Value, list: &str| spec[list].as_array().cloned().unwrap_or_default();
    if LISTS
        .iter()
        .any(|list| containers(&object["spec"], list).len() != containers(&old["spec"], list).len())
    {
        return;
    }
    let sent = object["spec"].clone();
    keep_all_but(object, old, "resources", sent["resources"].clone());
    for list in LISTS {
        let (new, mut resized) = (containers(&sent, list), containers(&old["spec"], list));
        if new.is_empty() {
            continue;
        }
        let names = |list: &[Value]| -> Vec<Value> { list.iter().map(|one| one["name"].clone()).collect() };
        if names(&new) == names(&resized) {
            for (container, new) in resized.iter_mut().zip(&new) {
                for key in ["resources", "resizePolicy"] {
                    restore(container, new, key);
                }
            }
        } else {
            resized = new;
        }
        object["spec"][list] = Value::Array(resized);
    }
}

fn restore(object: &mut Value, old: &Value, key: &str) {
    if let Value::Object(fields) = object {
        match &old[key] {
            Value::Null => fields.remove(key),
            value => fields.insert(key.to_owned(), value.clone()),
        };
    }
}

/// What the generation counts changes of.
fn specification(kind: &Kind, object: &Value) -> Map<String, Value> {
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

//! Conversion between the storage version and the version of the request.

use super::{Kind, autoscaler_versions};
use crate::builtin;
use crate::crd::CustomResourceDefinition;
use crate::types::{self, ExplicitEmptyFields};
use serde_json::Value;

/// Event fields with different names in the core group (left) and in `events.k8s.io` (right).
const EVENT_FIELDS: &[(&str, &str)] = &[
    ("involvedObject", "regarding"),
    ("message", "note"),
    ("source", "deprecatedSource"),
    ("firstTimestamp", "deprecatedFirstTimestamp"),
    ("lastTimestamp", "deprecatedLastTimestamp"),
    ("count", "deprecatedCount"),
    ("reportingComponent", "reportingController"),
];

/// True if responses may show objects of the kind in another form than the stored one.
pub(crate) fn needs_conversion(kind: &Kind) -> bool {
    let definition = kind.definition.as_ref();
    kind.group == "events.k8s.io"
        || is_old_autoscaler(kind)
        || kind.counts_explicit_empty_fields()
        || definition.is_some_and(|definition| {
            definition.normalizes_stored || definition.stored_version != kind.version
        })
}

/// Converts a stored object to the version of the kind; None if it is already in that form.
pub fn to_request_version(kind: &Kind, object: &Value) -> Option<Value> {
    if let Some(definition) = &kind.definition {
        return custom_to_request_version(kind, definition, object);
    }
    let version = kind.api_version();
    if object["apiVersion"] == version && object["kind"] == kind.kind {
        return if kind.counts_explicit_empty_fields() {
            ExplicitEmptyFields::without_empty_ca_bundles(object)
        } else {
            None
        };
    }
    let mut object = object.clone();
    if is_old_autoscaler(kind) {
        return Some(autoscaler_versions::to_v1(object));
    }
    if kind.group == "events.k8s.io" {
        rename(&mut object, EVENT_FIELDS.iter().copied());
        if let Some(ty) = types::builtin(&version, &kind.kind) {
            types::normalize(&mut object, ty);
        }
    }
    object["apiVersion"] = version.into();
    Some(object)
}

/// Like kube-apiserver, prunes and defaults a stored custom resource by the schema of its stored version, then prunes it by that of the
/// requested version. None if this changes nothing.
fn custom_to_request_version(
    kind: &Kind,
    definition: &CustomResourceDefinition,
    object: &Value,
) -> Option<Value> {
    let stored_version = object["apiVersion"].as_str().unwrap_or_default();
    let stored_version = stored_version.rsplit('/').next().unwrap_or_default();
    let is_same_version = stored_version == kind.version;
    // A webhook has converted what was normalized before.
    let is_converted = definition.conversion.is_some() && definition.stored_version != kind.version;
    if is_same_version && (!definition.normalizes_stored || is_converted) {
        return None;
    }
    let mut converted = object.clone();
    if definition.normalizes_stored
        && let Some(version) = definition.version(stored_version)
    {
        version.schema.prune(&mut converted);
        version.schema.drop_nulls(&mut converted);
        version.schema.default(&mut converted);
    }
    if !is_same_version {
        // Fields that this version does not declare are not shown.
        if let Some(version) = definition.version(&kind.version) {
            version.schema.prune(&mut converted);
        }
        converted["apiVersion"] = kind.api_version().into();
    }
    (converted != *object).then_some(converted)
}

/// True if a custom resource in the version of the request, as read from storage, is stored in another form: then a write that changes
/// nothing stores it anew.
pub(crate) fn is_stored_differently(kind: &Kind, stored: &Value, read: &Value) -> bool {
    if kind.conversion_webhook().is_some() {
        return stored["apiVersion"] != stored_version(kind);
    }
    kind.definition.is_some() && to_storage(kind, read.clone(), &ExplicitEmptyFields::default()) != *stored
}

/// Converts an object of a request to the storage version of its kind.
pub(crate) fn to_stored_version(kind: &Kind, mut object: Value) -> Value {
    if kind.conversion_webhook().is_some() {
        // A webhook has converted it already, or it comes from the store.
        return object;
    }
    if is_old_autoscaler(kind) {
        return autoscaler_versions::to_v2(object);
    }
    if kind.group == "events.k8s.io" {
        rename(
            &mut object,
            EVENT_FIELDS.iter().map(|&(core, group)| (group, core)),
        );
    }
    if kind.kind == "Job"
        && let Some(ty) = types::builtin(&kind.api_version(), &kind.kind)
    {
        // A job that is read has the labels of its template if it has none.
        builtin::apply_defaults(&mut object, ty);
    }
    object["apiVersion"] = stored_version(kind).into();
    object["kind"] = kind.kind.clone().into();
    object
}

/// Converts an object of a request to the form in which it is stored.
pub(crate) fn to_storage(kind: &Kind, mut object: Value, empties: &ExplicitEmptyFields) -> Value {
    if kind.counts_explicit_empty_fields() {
        empties.restore_ca_bundles(&mut object);
    }
    if kind.definition.is_none()
        && kind.kind != "CustomResourceDefinition"
        && let Some(ty) = types::builtin(&kind.api_version(), &kind.kind)
    {
        types::normalize_stored(&mut object, ty);
    }
    let mut object = to_stored_version(kind, object);
    if kind.definition.is_some() {
        types::floats_to_integers(&mut object);
    }
    if let Some(definition) = &kind.definition
        && definition.stored_version != kind.version
        && let Some(stored) = definition.version(&definition.stored_version)
    {
        stored.schema.prune(&mut object);
    }
    object
}

/// Converts an object of the kind to another one of its versions; none if both have the same fields.
pub(crate) fn between_versions(kind: &Kind, object: &Value, version: &str) -> Option<Value> {
    if kind.group != "autoscaling" || kind.kind != "HorizontalPodAutoscaler" {
        return None;
    }
    match (object["apiVersion"].as_str()?, version) {
        ("autoscaling/v1", "autoscaling/v2") => Some(autoscaler_versions::to_v2(object.clone())),
        ("autoscaling/v2", "autoscaling/v1") => Some(autoscaler_versions::to_v1(object.clone())),
        _ => None,
    }
}

/// Sets what the conversion to the stored version and back sets.
pub(crate) fn round_trip(kind: &Kind, object: &mut Value) {
    if is_old_autoscaler(kind) {
        let managed = object["metadata"]["managedFields"].take();
        let mut converted = autoscaler_versions::to_v1(autoscaler_versions::to_v2(object.take()));
        if !managed.is_null() {
            converted["metadata"]["managedFields"] = managed;
        }
        *object = converted;
    }
}

/// Whether the kind is the version of autoscalers that is not stored.
pub(crate) fn is_old_autoscaler(kind: &Kind) -> bool {
    (kind.group.as_str(), kind.kind.as_str(), kind.version.as_str())
        == ("autoscaling", "HorizontalPodAutoscaler", "v1")
}

fn stored_version(kind: &Kind) -> String {
    match &kind.definition {
        Some(definition) => format!("{}/{}", kind.group, definition.stored_version),
        None if kind.group == "events.k8s.io" => "v1".to_owned(),
        None => kind.api_version(),
    }
}

fn rename<'a>(object: &mut Value, names: impl Iterator<Item = (&'a str, &'a str)>) {
    let Value::Object(fields) = object else { return };
    for (from, to) in names {
        if let Some(value) = fields.remove(from) {
            fields.insert(to.to_owned(), value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kinds::Catalog;
    use serde_json::json;

    #[test]
    fn events_are_converted_between_both_groups() {
        let catalog = Catalog::built_in().unwrap();
        let core = catalog.resource("", "v1", "events").unwrap();
        let group = catalog.resource("events.k8s.io", "v1", "events").unwrap();
        let event = json!({ "apiVersion": "events.k8s.io/v1", "kind": "Event", "note": "n", "regarding": { "name": "x" } });
        let stored = to_stored_version(group, event.clone());
        assert_eq!(stored["message"], "n");
        assert_eq!(to_request_version(core, &stored), None);
        assert_eq!(
            to_request_version(group, &stored).unwrap()["regarding"],
            event["regarding"]
        );
    }
}

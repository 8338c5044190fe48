//! Versions: objects are stored in one, and shown in the one that is asked for.

use crate::kinds::Kind;
use crate::types::{self, ExplicitEmptyFields};
use serde_json::Value;

/// Fields that the two groups of events call differently: in the core group, and in `events.k8s.io`.
const EVENT_FIELDS: &[(&str, &str)] = &[
    ("involvedObject", "regarding"),
    ("message", "note"),
    ("source", "deprecatedSource"),
    ("firstTimestamp", "deprecatedFirstTimestamp"),
    ("lastTimestamp", "deprecatedLastTimestamp"),
    ("count", "deprecatedCount"),
    ("reportingComponent", "reportingController"),
];

/// Whether objects of the kind may be shown otherwise than they are kept.
pub(crate) fn is_presented(kind: &Kind) -> bool {
    let definition = kind.definition.as_ref();
    kind.group == "events.k8s.io"
        || kind.counts_explicit_empty_fields()
        || definition.is_some_and(|definition| definition.stored_version != kind.version)
}

/// The object in the version of the kind; None where it is kept as it is shown.
pub fn present(kind: &Kind, object: &Value) -> Option<Value> {
    let version = kind.api_version();
    if object["apiVersion"] == version && object["kind"] == kind.kind {
        return if kind.counts_explicit_empty_fields() {
            ExplicitEmptyFields::without_empty_ca_bundles(object)
        } else {
            None
        };
    }
    let mut object = object.clone();
    if kind.group == "events.k8s.io" {
        rename(&mut object, EVENT_FIELDS.iter().copied());
        if let Some(ty) = types::builtin(&version, &kind.kind) {
            types::normalize(&mut object, ty);
        }
    }
    // What the version does not know is not shown in it; it stays where it is kept.
    if let Some(version) = kind
        .definition
        .as_ref()
        .and_then(|definition| definition.version(&kind.version))
    {
        version.schema.prune(&mut object);
    }
    object["apiVersion"] = version.into();
    Some(object)
}

/// The object of a request in the version in which its kind is stored.
pub(super) fn store(kind: &Kind, mut object: Value) -> Value {
    if kind.group == "events.k8s.io" {
        rename(
            &mut object,
            EVENT_FIELDS.iter().map(|&(core, group)| (group, core)),
        );
    }
    object["apiVersion"] = stored_version(kind).into();
    object["kind"] = kind.kind.clone().into();
    object
}

/// The same for an object that is kept, in the form in which it is read again.
pub(super) fn keep(kind: &Kind, mut object: Value, empties: &ExplicitEmptyFields) -> Value {
    if kind.counts_explicit_empty_fields() {
        empties.restore_ca_bundles(&mut object);
    }
    if kind.definition.is_none()
        && kind.kind != "CustomResourceDefinition"
        && let Some(ty) = types::builtin(&kind.api_version(), &kind.kind)
    {
        types::normalize_stored(&mut object, ty);
    }
    let mut object = store(kind, object);
    if let Some(definition) = &kind.definition
        && definition.stored_version != kind.version
        && let Some(stored) = definition.version(&definition.stored_version)
    {
        stored.schema.prune(&mut object);
        stored.schema.default(&mut object);
    }
    object
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
    fn events_are_the_same_in_both_groups() {
        let catalog = Catalog::built_in().unwrap();
        let core = catalog.resource("", "v1", "events").unwrap();
        let group = catalog.resource("events.k8s.io", "v1", "events").unwrap();
        let event = json!({ "apiVersion": "events.k8s.io/v1", "kind": "Event", "note": "n", "regarding": { "name": "x" } });
        let stored = store(group, event.clone());
        assert_eq!(stored["message"], "n");
        assert_eq!(present(core, &stored), None);
        assert_eq!(present(group, &stored).unwrap()["regarding"], event["regarding"]);
    }
}

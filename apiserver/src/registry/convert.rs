//! Versions: objects are stored in one, and shown in the one that is asked for.

use crate::kinds::Kind;
use crate::types;
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

/// The object in the version of the kind; None where it is in that version already.
pub fn present(kind: &Kind, object: &Value) -> Option<Value> {
    let version = kind.api_version();
    if object["apiVersion"] == version && object["kind"] == kind.kind {
        return None;
    }
    let mut object = object.clone();
    if kind.group == "events.k8s.io" {
        rename(&mut object, EVENT_FIELDS.iter().copied());
        if let Some(ty) = types::builtin(&version, &kind.kind) {
            types::normalize(&mut object, ty);
        }
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

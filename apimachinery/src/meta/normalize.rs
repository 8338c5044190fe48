//! Normalization of decoded metadata: known fields, no empty values.

use serde_json::{Map, Value};

const STRING_FIELDS: &[&str] = &[
    "name",
    "generateName",
    "namespace",
    "selfLink",
    "uid",
    "resourceVersion",
];
const NUMBER_FIELDS: &[&str] = &["generation", "deletionGracePeriodSeconds"];
const TIME_FIELDS: &[&str] = &["creationTimestamp", "deletionTimestamp"];
const MAP_FIELDS: &[&str] = &["labels", "annotations"];
const LIST_FIELDS: &[&str] = &["finalizers", "ownerReferences", "managedFields"];

/// Drops unknown fields, empty values, and invalid times, as an apply may leave them. The types of the fields are already checked.
pub fn normalize_metadata(object: &mut Value) {
    let Some(Value::Object(metadata)) = object.get_mut("metadata") else {
        object["metadata"] = Value::Object(Map::new());
        return;
    };
    metadata.retain(|key, value| {
        let known = [STRING_FIELDS, NUMBER_FIELDS, TIME_FIELDS, MAP_FIELDS, LIST_FIELDS];
        let is_known = known.iter().any(|known| known.contains(&key.as_str()));
        is_known && !is_empty(value) && (!TIME_FIELDS.contains(&key.as_str()) || is_time(value))
    });
    // A null value of a label or annotation is the empty string.
    for map in MAP_FIELDS {
        let values = metadata.get_mut(*map).and_then(Value::as_object_mut);
        for value in values.into_iter().flat_map(|map| map.values_mut()) {
            if value.is_null() {
                *value = "".into();
            }
        }
    }
}

fn is_time(value: &Value) -> bool {
    let time = value.as_str();
    time.is_some_and(|time| time.parse::<jiff::Timestamp>().is_ok())
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(list) => list.is_empty(),
        Value::Object(map) => map.is_empty(),
        Value::Number(number) => number.as_i64() == Some(0),
        Value::Bool(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn unknown_and_empty_metadata_fields_are_dropped() {
        let mut object = json!({ "metadata": {
            "name": "a", "labels": {}, "foo": 1, "creationTimestamp": null, "finalizers": [], "generation": 3,
        } });
        normalize_metadata(&mut object);
        assert_eq!(object, json!({ "metadata": { "name": "a", "generation": 3 } }));
    }
}

//! Metadata as it is read from a request: known fields, nothing empty.

use serde_json::{Map, Value};

const TEXTS: &[&str] = &[
    "name",
    "generateName",
    "namespace",
    "selfLink",
    "uid",
    "resourceVersion",
];
const NUMBERS: &[&str] = &["generation", "deletionGracePeriodSeconds"];
const TIMES: &[&str] = &["creationTimestamp", "deletionTimestamp"];
const MAPS: &[&str] = &["labels", "annotations"];
const LISTS: &[&str] = &["finalizers", "ownerReferences", "managedFields"];

/// Drops what metadata does not know, what is empty, and times that are none, as an apply may bring them. That its fields have the right
/// types was seen before.
pub fn normalise(object: &mut Value) {
    let Some(Value::Object(metadata)) = object.get_mut("metadata") else {
        object["metadata"] = Value::Object(Map::new());
        return;
    };
    metadata.retain(|key, value| {
        let known = [TEXTS, NUMBERS, TIMES, MAPS, LISTS];
        let is_known = known.iter().any(|known| known.contains(&key.as_str()));
        is_known && !is_empty(value) && (!TIMES.contains(&key.as_str()) || is_time(value))
    });
    // Of what is null, a text is an empty one.
    for map in MAPS {
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
    fn keeps_what_is_known_and_full() {
        let mut object = json!({ "metadata": {
            "name": "a", "labels": {}, "foo": 1, "creationTimestamp": null, "finalizers": [], "generation": 3,
        } });
        normalise(&mut object);
        assert_eq!(object, json!({ "metadata": { "name": "a", "generation": 3 } }));
    }
}

//! Metadata as it is read from a request: known fields of the right types, nothing empty.

use crate::status::ApiError;
use crate::types::json_kind;
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

/// Drops what metadata does not know and what is empty.
///
/// # Errors
///
/// When a field has the wrong type, in the words of the real decoder.
pub fn normalise(object: &mut Value, kind: &str, version: &str) -> Result<(), ApiError> {
    let refuse = |why: String| {
        ApiError::bad_request(format!(
            "{kind} in version {version:?} cannot be handled as a {kind}: {why}"
        ))
    };
    let metadata = match object.get_mut("metadata") {
        None | Some(Value::Null) => {
            object["metadata"] = Value::Object(Map::new());
            return Ok(());
        }
        Some(Value::Object(metadata)) => metadata,
        Some(other) => {
            let expected = format!("Go struct field {kind}.metadata of type v1.ObjectMeta");
            return Err(refuse(mismatch(other, &expected)));
        }
    };
    metadata.retain(|key, _| {
        [TEXTS, NUMBERS, TIMES, MAPS, LISTS]
            .iter()
            .any(|known| known.contains(&key.as_str()))
    });
    for (key, value) in metadata.iter() {
        let field = |kind: &str| format!("Go struct field ObjectMeta.metadata.{key} of type {kind}");
        check(key, value, &field).map_err(refuse)?;
    }
    metadata.retain(|_, value| !is_empty(value));
    // Of what is null, a text is an empty one.
    for map in MAPS {
        let values = metadata.get_mut(*map).and_then(Value::as_object_mut);
        for value in values.into_iter().flat_map(|map| map.values_mut()) {
            if value.is_null() {
                *value = "".into();
            }
        }
    }
    Ok(())
}

fn check(key: &str, value: &Value, field: &dyn Fn(&str) -> String) -> Result<(), String> {
    if value.is_null() {
        return Ok(());
    }
    if TEXTS.contains(&key) && !value.is_string() {
        return Err(mismatch(value, &field("string")));
    }
    if NUMBERS.contains(&key) && !value.is_i64() {
        return Err(mismatch(value, &field("int64")));
    }
    if TIMES.contains(&key) {
        let time = value
            .as_str()
            .map(|text| text.is_empty() || text.parse::<jiff::Timestamp>().is_ok());
        if time != Some(true) {
            return Err(format!(
                "parsing time {value} as \"2006-01-02T15:04:05Z07:00\": cannot parse {value} as \"2006\""
            ));
        }
    }
    if MAPS.contains(&key) {
        let Some(map) = value.as_object() else {
            return Err(mismatch(value, &field("map[string]string")));
        };
        if let Some(other) = map.values().find(|value| !(value.is_string() || value.is_null())) {
            return Err(mismatch(other, &field("string")));
        }
    }
    if LISTS.contains(&key) {
        let kind = match key {
            "finalizers" => "[]string",
            "ownerReferences" => "[]v1.OwnerReference",
            _ => "[]v1.ManagedFieldsEntry",
        };
        let Some(list) = value.as_array() else {
            return Err(mismatch(value, &field(kind)));
        };
        let fits = |item: &&Value| {
            if key == "finalizers" {
                item.is_string()
            } else {
                item.is_object()
            }
        };
        if let Some(other) = list.iter().find(|item| !fits(item)) {
            return Err(mismatch(other, &field(kind.trim_start_matches("[]"))));
        }
    }
    Ok(())
}

fn mismatch(value: &Value, expected: &str) -> String {
    format!("json: cannot unmarshal {} into {expected}", json_kind(value))
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
        normalise(&mut object, "Foo", "v1").unwrap();
        assert_eq!(object, json!({ "metadata": { "name": "a", "generation": 3 } }));
    }

    #[test]
    fn refuses_wrong_types() {
        for metadata in [
            json!([]),
            json!({ "name": 1 }),
            json!({ "labels": { "a": 1 } }),
            json!({ "finalizers": "a" }),
            json!({ "ownerReferences": [1] }),
            json!({ "creationTimestamp": "x" }),
        ] {
            let error = normalise(&mut json!({ "metadata": metadata }), "Foo", "v1").unwrap_err();
            assert_eq!(error.code, 400, "{error}");
            assert!(
                error
                    .message
                    .starts_with(r#"Foo in version "v1" cannot be handled as a Foo: "#)
            );
        }
    }
}

//! Lists of type set or map: duplicates, and correlation of old and new items.

use crate::field::FieldError;
use serde_json::{Map, Value};

/// Reports duplicate items in the lists of a value, each at its second occurrence.
pub(super) fn duplicates(value: &Value, schema: &Value, path: &str, errors: &mut Vec<FieldError>) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                if let Some(schema) = schema["properties"].get(name) {
                    let below = if path.is_empty() {
                        name.clone()
                    } else {
                        format!("{path}.{name}")
                    };
                    duplicates(value, schema, &below, errors);
                } else if schema["additionalProperties"].is_object() {
                    duplicates(
                        value,
                        &schema["additionalProperties"],
                        &format!("{path}[{name}]"),
                        errors,
                    );
                }
            }
        }
        Value::Array(items) => {
            match schema["x-kubernetes-list-type"].as_str() {
                Some("set") => report(items, path, errors),
                // An item that is not an object has no keys: report only the first such item.
                Some("map") => {
                    let is_scalar_or_list = |item: &&Value| !(item.is_object() || item.is_null());
                    if let Some((index, item)) =
                        items.iter().enumerate().find(|(_, item)| is_scalar_or_list(item))
                    {
                        let why = "must be an object for an array of list-type map";
                        errors.push(FieldError::invalid(
                            &format!("{path}[{index}]"),
                            item.clone(),
                            why,
                        ));
                    } else {
                        let keys: Vec<Value> = items.iter().map(|item| key(item, schema)).collect();
                        report(&keys, path, errors);
                    }
                }
                _ => {}
            }
            for (index, item) in items.iter().enumerate() {
                duplicates(item, &schema["items"], &format!("{path}[{index}]"), errors);
            }
        }
        _ => {}
    }
}

fn report(items: &[Value], path: &str, errors: &mut Vec<FieldError>) {
    for (index, item) in items.iter().enumerate() {
        if items[..index].iter().filter(|other| *other == item).count() == 1 {
            errors.push(FieldError::duplicate(&format!("{path}[{index}]"), item.clone()));
        }
    }
}

/// Returns the key fields of an item of a map list, as far as the item has them.
pub(super) fn key(item: &Value, schema: &Value) -> Value {
    let names = schema["x-kubernetes-list-map-keys"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str);
    let fields = names.filter_map(|name| Some((name.to_owned(), item.get(name)?.clone())));
    Value::Object(fields.collect::<Map<_, _>>())
}

/// Finds the old item that corresponds to an item: the one with the same key in a map list, none in other lists.
pub(super) fn correlated<'a>(item: &Value, old: Option<&'a Value>, schema: &Value) -> Option<&'a Value> {
    if schema["x-kubernetes-list-type"] != "map" {
        return None;
    }
    let wanted = key(item, schema);
    old?.as_array()?.iter().find(|old| key(old, schema) == wanted)
}

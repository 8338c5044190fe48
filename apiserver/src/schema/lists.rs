//! Lists that are sets or maps: no item may stand twice.

use crate::field::FieldError;
use serde_json::{Map, Value};

/// The items that stand twice in the lists of a value, each reported the first time that it does again.
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
                // One that is no object has no keys; then nothing is said of the others.
                Some("map") => {
                    let odd = |item: &&Value| !(item.is_object() || item.is_null());
                    if let Some((index, item)) = items.iter().enumerate().find(|(_, item)| odd(item)) {
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

/// The key fields of an item of a list-map, those that it has.
pub(super) fn key(item: &Value, schema: &Value) -> Value {
    let names = schema["x-kubernetes-list-map-keys"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str);
    let fields = names.filter_map(|name| Some((name.to_owned(), item.get(name)?.clone())));
    Value::Object(fields.collect::<Map<_, _>>())
}

/// The item of the old list that is the same item: of a list-map the one with the same key, and of no other list any.
pub(super) fn correlated<'a>(item: &Value, old: Option<&'a Value>, schema: &Value) -> Option<&'a Value> {
    if schema["x-kubernetes-list-type"] != "map" {
        return None;
    }
    let wanted = key(item, schema);
    old?.as_array()?.iter().find(|old| key(old, schema) == wanted)
}

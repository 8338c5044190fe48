//! Lists of type set or map: duplicates, and correlation of old and new items.

use super::field_schema_at;
use super::shown::showing;
use crate::field::FieldError;
use serde_json::{Map, Value};

/// Reports duplicate items in the lists of a value, each at its second occurrence.
pub(super) fn duplicates(value: &Value, schema: &Value, path: &str, errors: &mut Vec<FieldError>) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                if let Some((schema, below)) = field_schema_at(schema, name, path) {
                    duplicates(value, schema, &below, errors);
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
                        let error = FieldError::invalid(&format!("{path}[{index}]"), Value::Null, why);
                        errors.push(showing(error, item));
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
            let error = FieldError::duplicate(&format!("{path}[{index}]"), Value::Null);
            errors.push(showing(error, item));
        }
    }
}

/// Returns the names of the key fields of a map list.
pub(super) fn key_names(schema: &Value) -> impl Iterator<Item = &str> {
    let names = schema["x-kubernetes-list-map-keys"].as_array();
    names.into_iter().flatten().filter_map(Value::as_str)
}

/// Returns the key fields of an item of a map list, as far as the item has them.
pub(super) fn key(item: &Value, schema: &Value) -> Value {
    let fields = key_names(schema).filter_map(|name| Some((name.to_owned(), item.get(name)?.clone())));
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

/// Returns the old value with the items of lists of type set or map in the order of the new value, wherever these are the same.
#[cfg(feature = "cel")]
pub(super) fn in_order_of(value: &Value, old: &Value, schema: &Value) -> Value {
    if value == old {
        return old.clone();
    }
    match (value, old) {
        (Value::Array(items), Value::Array(old_items)) if items.len() == old_items.len() => {
            let in_order = items.iter().enumerate().map(|(index, item)| {
                if schema["x-kubernetes-list-type"] == "set" {
                    return old_items.iter().find(|old| *old == item).cloned();
                }
                let is_map = schema["x-kubernetes-list-type"] == "map";
                // Most items are where they were.
                let same_place = old_items
                    .get(index)
                    .filter(|old| is_map && key(old, schema) == key(item, schema));
                let found = same_place.or_else(|| correlated(item, Some(old), schema));
                found.map(|old| in_order_of(item, old, &schema["items"]))
            });
            in_order.collect::<Option<_>>().unwrap_or_else(|| old.clone())
        }
        (Value::Object(fields), Value::Object(old_fields)) => {
            let in_order = old_fields.iter().map(|(name, old)| {
                let schema = schema["properties"]
                    .get(name)
                    .unwrap_or(&schema["additionalProperties"]);
                let new = fields.get(name);
                let old = new.map_or_else(|| old.clone(), |value| in_order_of(value, old, schema));
                (name.clone(), old)
            });
            in_order.collect()
        }
        _ => old.clone(),
    }
}

#[cfg(all(test, feature = "cel"))]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn old_items_are_put_in_the_order_of_the_new_ones() {
        let item = json!({ "properties": { "name": {}, "set": { "x-kubernetes-list-type": "set" } } });
        let schema = json!({ "properties": {
            "map": { "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"], "items": item },
            "list": { "items": item },
        } });
        let item = |name: &str, set: [u8; 2]| json!({ "name": name, "set": set });
        let (a, b) = (item("a", [1, 2]), item("b", [1, 2]));
        let old = json!({ "map": [a, b], "list": [a, b], "other": 1 });
        let new = json!({ "map": [item("b", [2, 1]), a], "list": [b, a] });
        let expected = json!({ "map": [item("b", [2, 1]), a], "list": [a, b], "other": 1 });
        assert_eq!(in_order_of(&new, &old, &schema), expected);
        // Other items than before: the order does not matter.
        let other = json!({ "map": [b, item("c", [1, 2])] });
        assert_eq!(in_order_of(&other, &old, &schema), old);
    }
}

//! The schema of one variant of an enum.

use serde_json::{Map, Value, json};
use std::collections::BTreeSet;

/// The keywords with alternative or further schemas of the same value.
const ALTERNATIVES: [&str; 3] = ["allOf", "anyOf", "oneOf"];

/// Returns whether a schema has alternatives, as that of an enum with data has.
pub fn has_variants(schema: &Value) -> bool {
    ALTERNATIVES.iter().any(|keyword| schema[keyword].is_array())
}

/// Returns the schema without alternatives, restricted by one of each, and without the fields that only the others name. `choose` gets their
/// count and returns the index of one.
pub fn one_variant(schema: &Value, mut choose: impl FnMut(usize) -> usize) -> Value {
    let mut narrowed = schema.clone();
    let mut pending = alternatives(schema);
    if let Some(fields) = narrowed.as_object_mut() {
        fields.retain(|keyword, _| !ALTERNATIVES.contains(&keyword.as_str()));
    }
    while let Some((keyword, mut schemas)) = pending.pop() {
        if keyword == "allOf" {
            for schema in &schemas {
                restrict(&mut narrowed, schema, &[]);
                pending.extend(alternatives(schema));
            }
        } else if !schemas.is_empty() {
            let at = choose(schemas.len()).min(schemas.len() - 1);
            let chosen = schemas.swap_remove(at);
            restrict(&mut narrowed, &chosen, &schemas.iter().collect::<Vec<_>>());
            pending.extend(alternatives(&chosen));
        }
    }
    narrowed
}

/// Returns the keywords with alternatives, and these.
fn alternatives(schema: &Value) -> Vec<(&'static str, Vec<Value>)> {
    let of_keyword = |keyword: &&'static str| Some((*keyword, schema[*keyword].as_array()?.clone()));
    ALTERNATIVES.iter().filter_map(of_keyword).collect()
}

/// Restricts a schema to what one of several alternatives accepts, without the alternatives in this.
fn restrict(schema: &mut Value, by: &Value, others: &[&Value]) {
    let Some(fields) = schema.as_object_mut() else {
        return;
    };
    restrict_properties(fields, by, others);
    for (keyword, value) in by.as_object().into_iter().flatten() {
        match (keyword.as_str(), value) {
            ("properties" | "allOf" | "anyOf" | "oneOf", _) => {}
            ("items", value) => {
                let others: Vec<&Value> = others.iter().map(|other| &other["items"]).collect();
                restrict_nested(fields.entry("items").or_insert_with(|| json!({})), value, &others);
            }
            ("required", Value::Array(names)) => extend(fields, "required", names),
            _ => {
                fields.insert(keyword.clone(), value.clone());
            }
        }
    }
}

/// Restricts the schema of a field or an element. Its alternatives are chosen when one of its variants is asked for.
fn restrict_nested(schema: &mut Value, by: &Value, others: &[&Value]) {
    restrict(schema, by, others);
    if let Some(fields) = schema.as_object_mut() {
        for (keyword, schemas) in alternatives(by) {
            extend(fields, "allOf", &[json!({ keyword: schemas })]);
        }
    }
}

fn restrict_properties(fields: &mut Map<String, Value>, by: &Value, others: &[&Value]) {
    let mut kept = named_fields(by);
    kept.extend(strings(fields.get("required")));
    let of_others: BTreeSet<&str> = others.iter().flat_map(|other| named_fields(other)).collect();
    let removed: Vec<String> = of_others
        .into_iter()
        .filter(|name| !kept.contains(name))
        .map(str::to_owned)
        .collect();
    let Some(Value::Object(properties)) = fields.get_mut("properties") else {
        return;
    };
    properties.retain(|name, _| !removed.contains(name));
    for (name, property) in properties {
        let others: Vec<&Value> = others.iter().map(|other| &other["properties"][name]).collect();
        restrict_nested(property, &by["properties"][name], &others);
    }
}

/// Returns the fields that an alternative names, within further alternatives as well.
fn named_fields(schema: &Value) -> BTreeSet<&str> {
    let properties = schema["properties"].as_object().into_iter().flatten();
    let mut names: BTreeSet<&str> = properties.map(|(name, _)| name.as_str()).collect();
    names.extend(strings(schema.get("required")));
    for keyword in ALTERNATIVES {
        let schemas = schema[keyword].as_array().into_iter().flatten();
        names.extend(schemas.flat_map(named_fields));
    }
    names
}

fn strings(value: Option<&Value>) -> impl Iterator<Item = &str> {
    let values = value.and_then(Value::as_array).into_iter().flatten();
    values.filter_map(Value::as_str)
}

fn extend(fields: &mut Map<String, Value>, keyword: &str, values: &[Value]) {
    if let Value::Array(list) = fields.entry(keyword).or_insert_with(|| json!([])) {
        list.extend_from_slice(values);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_variant_has_its_fields_and_restrictions() {
        let schema = json!({"type": "object", "required": ["type"],
            "properties": {
                "type": {"type": "string", "enum": ["A", "B"]}, "size": {"type": "integer"}, "zone": {"type": "string"},
                "data": {"type": "object", "properties": {"x": {"type": "integer"}, "y": {"type": "integer"}}},
                "shared": {"type": "string"},
            },
            "oneOf": [
                {"properties": {"type": {"enum": ["A"]}, "zone": {}, "data": {"required": ["x"]}}, "required": ["size"]},
                {"properties": {"type": {"enum": ["B"]}, "data": {"required": ["y"]}}, "required": ["data"]},
            ],
        });
        assert_eq!(
            one_variant(&schema, |_| 0),
            json!({"type": "object", "required": ["type", "size"],
                "properties": {
                    "type": {"type": "string", "enum": ["A"]}, "size": {"type": "integer"}, "zone": {"type": "string"},
                    "data": {"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"]},
                    "shared": {"type": "string"},
                },
            })
        );
        let other = one_variant(&schema, |count| count - 1);
        let names: Vec<_> = other["properties"].as_object().unwrap().keys().collect();
        assert_eq!(names, ["data", "shared", "type"]);
    }

    #[test]
    fn alternatives_within_others_are_chosen_as_well() {
        let schema = json!({"type": "object", "properties": {"a": {}, "b": {}, "c": {}, "d": {}},
            "allOf": [{"oneOf": [{"required": ["a"]}, {"required": ["b"]}]}],
            "anyOf": [{"oneOf": [{"required": ["c"]}, {"required": ["d"]}]}, {}],
        });
        let narrowed = one_variant(&schema, |_| 0);
        assert_eq!(narrowed["properties"], json!({"a": {}, "c": {}}));
        assert_eq!(narrowed["required"].as_array().unwrap().len(), 2);
        let narrowed = one_variant(&schema, |count| count - 1);
        assert_eq!(
            narrowed,
            json!({"type": "object", "properties": {"b": {}}, "required": ["b"]})
        );
        assert!(has_variants(&schema) && !has_variants(&narrowed));
    }
}

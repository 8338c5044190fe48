//! Makes a minimal value that matches a schema.

use kubewright_api_types::{allowed_values, has_variants, one_variant};
use serde_json::{Map, Value, json};

use super::pattern;

/// Returns the schema's default, example or first enum value; otherwise a minimal value within the constraints, made
/// without search, so that it may violate some. Optional fields are left out.
pub(super) fn value_for(schema: &Value) -> Value {
    let allowed = || allowed_values(schema)?.into_iter().find(|value| !value.is_null());
    if let Some(value) = schema
        .get("default")
        .or_else(|| schema.get("example"))
        .or_else(allowed)
    {
        return value.clone();
    }
    if schema["x-kubernetes-int-or-string"] == true {
        return json!(1);
    }
    match schema["type"].as_str() {
        Some("boolean") => json!(false),
        Some("integer") => integer(schema),
        Some("number") => number(schema),
        Some("string") => json!(string(schema)),
        Some("array") => array(schema),
        _ => object(schema),
    }
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "schemas bound integers by integers; the result is validated"
)]
fn integer(schema: &Value) -> Value {
    let step = schema["multipleOf"]
        .as_f64()
        .filter(|step| *step >= 1.0)
        .unwrap_or(1.0);
    let wanted = bounded(schema, 1.0, step);
    json!((wanted / step).ceil() as i64 * step as i64)
}

fn number(schema: &Value) -> Value {
    let step = schema["multipleOf"].as_f64().filter(|step| *step > 0.0);
    let wanted = bounded(schema, 1.0, step.unwrap_or(0.5));
    json!(step.map_or(wanted, |step| (wanted / step).ceil() * step))
}

/// Clamps `wanted` to the bounds; exclusive bounds are moved inwards by `step`.
fn bounded(schema: &Value, wanted: f64, step: f64) -> f64 {
    let inset = |key: &str| if schema[key] == true { step } else { 0.0 };
    let low = schema["minimum"]
        .as_f64()
        .map(|low| low + inset("exclusiveMinimum"));
    let high = schema["maximum"]
        .as_f64()
        .map(|high| high - inset("exclusiveMaximum"));
    match (low, high) {
        (Some(low), _) if wanted < low => low,
        // Round down to a multiple of the step.
        (_, Some(high)) if wanted > high => (high / step).floor() * step,
        _ => wanted,
    }
}

fn string(schema: &Value) -> String {
    let known = match schema["format"].as_str() {
        Some("date-time") => Some("2025-01-01T00:00:00Z"),
        Some("date") => Some("2025-01-01"),
        Some("duration") => Some("1s"),
        Some("email") => Some("someone@example.com"),
        Some("hostname") => Some("example.com"),
        Some("ipv4" | "ip") => Some("192.0.2.1"),
        Some("ipv6") => Some("2001:db8::1"),
        Some("cidr") => Some("192.0.2.0/24"),
        Some("uri") => Some("https://example.com"),
        Some("uuid") => Some("00000000-0000-4000-8000-000000000000"),
        Some("byte") => Some("ZXhhbXBsZQ=="),
        _ => None,
    };
    if let Some(known) = known {
        return known.to_owned();
    }
    let bound = |key: &str| schema[key].as_u64().and_then(|bound| usize::try_from(bound).ok());
    let (shortest, longest) = (
        bound("minLength").unwrap_or(0),
        bound("maxLength").unwrap_or(usize::MAX),
    );
    if let Some(text) = schema["pattern"]
        .as_str()
        .and_then(|text| pattern::matching(text, shortest))
    {
        return text;
    }
    let mut text = "example".to_owned();
    while text.len() < shortest {
        text.push('e');
    }
    text.truncate(longest);
    text
}

fn array(schema: &Value) -> Value {
    let count = schema["minItems"].as_u64().unwrap_or(0);
    (0..count).map(|_| value_for(&schema["items"])).collect()
}

fn object(schema: &Value) -> Value {
    let first_variant = has_variants(schema).then(|| one_variant(schema, |_| 0));
    let schema = first_variant.as_ref().unwrap_or(schema);
    let mut object = Map::new();
    for name in schema["required"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
    {
        object.insert(name.to_owned(), value_for(&schema["properties"][name]));
    }
    if schema["additionalProperties"].is_object() {
        for i in 0..schema["minProperties"].as_u64().unwrap_or(0) {
            object.insert(format!("example-{i}"), value_for(&schema["additionalProperties"]));
        }
    }
    Value::Object(object)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::validate;

    #[test]
    fn values_match_their_schema() {
        let schemas = [
            json!({"type": "integer"}),
            json!({"type": "integer", "minimum": 5}),
            json!({"type": "integer", "maximum": -5}),
            json!({"type": "integer", "minimum": 5, "exclusiveMinimum": true}),
            json!({"type": "integer", "minimum": 5, "multipleOf": 4}),
            json!({"type": "integer", "maximum": -5, "multipleOf": 4}),
            json!({"type": "number", "minimum": 1.5}),
            json!({"type": "boolean"}),
            json!({"type": "string"}),
            json!({"type": "string", "minLength": 12}),
            json!({"type": "string", "maxLength": 3}),
            json!({"type": "string", "enum": ["a", "b"]}),
            json!({"type": "string", "nullable": true, "enum": [null, "b"]}),
            json!({"type": "string", "pattern": "^[a-z]{3}-\\d+$"}),
            json!({"type": "string", "pattern": "^[a-z0-9]+$", "minLength": 5}),
            json!({"type": "array", "items": {"type": "string"}, "minItems": 2}),
            json!({"type": "object", "additionalProperties": {"type": "integer"}, "minProperties": 2}),
            json!({"type": "object", "required": ["a"], "properties": {
                "a": {"type": "object", "required": ["b"], "properties": {"b": {"type": "integer", "default": 7}}},
                "c": {"type": "string"}}}),
            json!({"x-kubernetes-int-or-string": true}),
            json!({"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}},
                "oneOf": [{"required": ["a"]}, {"required": ["b"]}]}),
            json!({"type": "object", "required": ["type"], "properties": {
                "type": {"type": "string", "enum": ["A", "B"]},
                "data": {"type": "object", "properties": {"x": {"type": "integer"}, "y": {"type": "integer"}}}},
                "oneOf": [
                    {"properties": {"type": {"enum": ["B"]}, "data": {"required": ["y"]}}, "required": ["data"]},
                    {"properties": {"type": {"enum": ["A"]}}}]}),
            json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true}),
        ];
        for schema in schemas {
            let value = value_for(&schema);
            let problems = validate::value(&schema, &value);
            assert!(problems.is_empty(), "{schema}: {value}: {problems:?}");
        }
    }
}

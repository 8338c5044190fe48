//! The keywords with which schemas restrict values, and how a restriction is added to others.

use serde_json::{Map, Value, json};

/// The keywords that an alternative of a structural schema may contain, beside `required`, `properties` and `items` of such.
const RESTRICTIONS: [&str; 18] = [
    "format",
    "enum",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "minLength",
    "maxLength",
    "pattern",
    "minItems",
    "maxItems",
    "minProperties",
    "maxProperties",
    "allOf",
    "anyOf",
    "oneOf",
    "not",
];

/// Returns whether a keyword may be in an alternative of a structural schema.
pub fn is_restriction(keyword: &str) -> bool {
    RESTRICTIONS.contains(&keyword)
}

/// Returns the strings of a JSON list; none if the value is not a list.
pub fn strings(list: Option<&Value>) -> impl Iterator<Item = &str> {
    let values = list.and_then(Value::as_array).into_iter().flatten();
    values.filter_map(Value::as_str)
}

/// Returns the values that a schema allows, if it lists them: those in each of its own list and the lists in `allOf`. A nullable field has them
/// there: see [`allow_null`].
pub fn allowed_values(schema: &Value) -> Option<Vec<&Value>> {
    let all = schema["allOf"].as_array().into_iter().flatten();
    let lists = std::iter::once(schema).chain(all);
    let mut lists = lists.filter_map(|schema| schema["enum"].as_array());
    let mut allowed: Vec<&Value> = lists.next()?.iter().collect();
    for list in lists {
        allowed.retain(|value| list.contains(value));
    }
    Some(allowed)
}

/// Moves the values that a nullable schema lists to `allOf`. kube-apiserver refuses null beside `enum`, even if that contains it, but compares
/// null with no alternatives. The length of texts stays known, for the costs of CEL rules.
pub fn allow_null(fields: &mut Map<String, Value>) {
    if fields.get("nullable") != Some(&Value::Bool(true)) {
        return;
    }
    let Some(Value::Array(mut values)) = fields.remove("enum") else {
        return;
    };
    values.retain(|value| !value.is_null());
    let length = |value: &Value| Some(value.as_str()?.chars().count());
    let lengths: Option<Vec<usize>> = values.iter().map(length).collect();
    if let Some(longest) = lengths.and_then(|lengths| lengths.into_iter().max()) {
        fields.entry("maxLength").or_insert(longest.into());
    }
    if !values.is_empty() {
        restrict(fields, "allOf", json!([{"enum": values}]));
    }
}

/// Adds a restriction to those of a schema: values must fulfil both.
pub fn restrict(fields: &mut Map<String, Value>, keyword: &str, value: Value) {
    let Some(existing) = fields.get_mut(keyword) else {
        fields.insert(keyword.to_owned(), value);
        return;
    };
    if *existing != value && !combine(existing, keyword, &value) {
        let all = fields.entry("allOf").or_insert_with(|| json!([]));
        if let Value::Array(all) = all {
            all.push(json!({ keyword: value }));
        }
    }
}

/// Combines two values of a keyword to one; returns false if there is none.
fn combine(existing: &mut Value, keyword: &str, value: &Value) -> bool {
    match (keyword, existing, value) {
        ("minimum" | "minLength" | "minItems" | "minProperties", existing, value) => {
            replace_if(existing, value, |value, existing| value > existing)
        }
        ("maximum" | "maxLength" | "maxItems" | "maxProperties", existing, value) => {
            replace_if(existing, value, |value, existing| value < existing)
        }
        ("enum", Value::Array(existing), Value::Array(values)) => {
            let has_common = existing.iter().any(|one| values.contains(one));
            existing.retain(|one| !has_common || values.contains(one));
            has_common
        }
        ("required" | "allOf", Value::Array(existing), Value::Array(values)) => {
            for value in values {
                if !existing.contains(value) {
                    existing.push(value.clone());
                }
            }
            true
        }
        _ => false,
    }
}

/// Replaces a limit by a stricter one.
fn replace_if(existing: &mut Value, value: &Value, is_stricter: impl Fn(f64, f64) -> bool) -> bool {
    let Some((limit, other)) = existing.as_f64().zip(value.as_f64()) else {
        return false;
    };
    if is_stricter(other, limit) {
        *existing = value.clone();
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_nullable_fields_are_in_all_of() {
        let mut schema = json!({"nullable": true, "type": "string", "enum": ["a", "bcd", null]});
        allow_null(schema.as_object_mut().unwrap());
        assert_eq!(
            schema,
            json!({"nullable": true, "type": "string", "maxLength": 3, "allOf": [{"enum": ["a", "bcd"]}]})
        );
        assert_eq!(allowed_values(&schema), Some(vec![&json!("a"), &json!("bcd")]));
        let mut schema = json!({"type": "string", "enum": ["a"]});
        let before = schema.clone();
        allow_null(schema.as_object_mut().unwrap());
        assert_eq!(schema, before);
        assert_eq!(allowed_values(&schema), Some(vec![&json!("a")]));
        assert_eq!(allowed_values(&json!({"allOf": [{"minLength": 1}]})), None);
        let both = json!({"enum": ["a", "b"], "allOf": [{"enum": ["b", "c"]}]});
        assert_eq!(allowed_values(&both), Some(vec![&json!("b")]));
    }

    #[test]
    fn both_restrictions_apply() {
        let cases = [
            ("minimum", json!(1), json!(3), json!({"minimum": 3})),
            ("minimum", json!(3), json!(1), json!({"minimum": 3})),
            ("maxLength", json!(3), json!(1), json!({"maxLength": 1})),
            (
                "enum",
                json!(["a", "b"]),
                json!(["b", "c"]),
                json!({"enum": ["b"]}),
            ),
            (
                "enum",
                json!(["a"]),
                json!(["b"]),
                json!({"enum": ["a"], "allOf": [{"enum": ["b"]}]}),
            ),
            (
                "required",
                json!(["a"]),
                json!(["b", "a"]),
                json!({"required": ["a", "b"]}),
            ),
            (
                "pattern",
                json!("a"),
                json!("b"),
                json!({"pattern": "a", "allOf": [{"pattern": "b"}]}),
            ),
            ("pattern", json!("a"), json!("a"), json!({"pattern": "a"})),
            (
                "allOf",
                json!([{"pattern": "a"}]),
                json!([{"pattern": "b"}]),
                json!({"allOf": [{"pattern": "a"}, {"pattern": "b"}]}),
            ),
        ];
        for (keyword, one, other, expected) in cases {
            let mut fields = Map::from_iter([(keyword.to_owned(), one)]);
            restrict(&mut fields, keyword, other);
            assert_eq!(Value::Object(fields), expected);
        }
    }
}

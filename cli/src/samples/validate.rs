//! Validates a value against a structural schema, by the rules of the API server.
//!
//! CEL rules and formats are not evaluated.

use std::{collections::BTreeSet, fmt};

use regex::Regex;
use serde_json::Value;

use crate::similar::is_similar;

/// A violation of the schema.
pub(super) struct Problem {
    /// The value's path in the object.
    pub(super) path: String,
    /// The violation and the fix.
    pub(super) text: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.path, self.text)
    }
}

/// Validates an object. Returns the problems.
pub(super) fn object(schema: &Value, object: &Value) -> Vec<Problem> {
    let mut validator = Validator::default();
    let named = |key: &str| {
        object["metadata"][key]
            .as_str()
            .is_some_and(|name| !name.is_empty())
    };
    if !named("name") && !named("generateName") {
        validator.add("metadata.name", "is missing: name the object");
    }
    validator.fields(schema, "", object, true);
    validator.problems
}

/// Validates a value below an object's root.
#[cfg(test)]
pub(super) fn value(schema: &Value, value: &Value) -> Vec<String> {
    let mut validator = Validator::default();
    validator.value(schema, "value", value);
    validator.problems.iter().map(Problem::to_string).collect()
}

#[derive(Default)]
struct Validator {
    problems: Vec<Problem>,
    /// Whether the schema is within `oneOf`, `anyOf`, `allOf` or `not`: it restricts fields that the schema around it declares.
    only_restricts: bool,
}

impl Validator {
    fn add(&mut self, path: &str, problem: impl std::fmt::Display) {
        self.problems.push(Problem {
            path: path.to_owned(),
            text: problem.to_string(),
        });
    }

    fn value(&mut self, schema: &Value, path: &str, value: &Value) {
        if value.is_null() {
            // The API server replaces null by the default.
            if !self.only_restricts && schema["nullable"] != true && schema.get("default").is_none() {
                self.add(path, "is null: give it a value, or leave it out");
            }
            return;
        }
        if !self.fits_type(schema, path, value) {
            return;
        }
        if let Some(allowed) = schema["enum"].as_array()
            && !allowed.contains(value)
        {
            let allowed: Vec<_> = allowed.iter().map(Value::to_string).collect();
            self.add(
                path,
                format_args!("is {value}: must be one of {}", allowed.join(", ")),
            );
        }
        match value {
            Value::Number(number) => self.number(schema, path, number.as_f64().unwrap_or(f64::NAN)),
            Value::String(text) => self.string(schema, path, text),
            Value::Array(items) => self.items(schema, path, items),
            Value::Object(_) => self.fields(
                schema,
                path,
                value,
                schema["x-kubernetes-embedded-resource"] == true,
            ),
            _ => {}
        }
        self.combined(schema, path, value);
    }

    fn fits_type(&mut self, schema: &Value, path: &str, value: &Value) -> bool {
        let is_integer = |value: &Value| {
            value.is_i64() || value.is_u64() || value.as_f64().is_some_and(|f| f.fract() == 0.0)
        };
        let (fits, wanted) = match schema["type"].as_str() {
            _ if schema["x-kubernetes-int-or-string"] == true => {
                (is_integer(value) || value.is_string(), "an integer or a string")
            }
            Some("object") => (value.is_object(), "an object"),
            Some("array") => (value.is_array(), "a list"),
            Some("string") => (value.is_string(), "a string"),
            Some("integer") => (is_integer(value), "an integer"),
            Some("number") => (value.is_number(), "a number"),
            Some("boolean") => (value.is_boolean(), "true or false"),
            _ => (true, ""),
        };
        if !fits {
            let quote = if wanted == "a string" && !value.is_object() && !value.is_array() {
                " (quote it)"
            } else {
                ""
            };
            self.add(
                path,
                format_args!("is {}: must be {wanted}{quote}", type_or_value(value)),
            );
        }
        fits
    }

    fn number(&mut self, schema: &Value, path: &str, number: f64) {
        if let Some(low) = schema["minimum"].as_f64() {
            let exclusive = schema["exclusiveMinimum"] == true;
            if number < low || (exclusive && number <= low) {
                let relation = if exclusive { "more than" } else { "at least" };
                self.add(path, format_args!("is {number}: must be {relation} {low}"));
            }
        }
        if let Some(high) = schema["maximum"].as_f64() {
            let exclusive = schema["exclusiveMaximum"] == true;
            if number > high || (exclusive && number >= high) {
                let relation = if exclusive { "less than" } else { "at most" };
                self.add(path, format_args!("is {number}: must be {relation} {high}"));
            }
        }
        if let Some(step) = schema["multipleOf"].as_f64().filter(|step| *step > 0.0)
            && ((number / step) - (number / step).round()).abs() > 1e-9
        {
            self.add(path, format_args!("is {number}: must be a multiple of {step}"));
        }
    }

    fn string(&mut self, schema: &Value, path: &str, text: &str) {
        self.count(
            schema,
            path,
            text.chars().count(),
            ("minLength", "maxLength"),
            "characters",
        );
        if let Some(pattern) = schema["pattern"].as_str() {
            // Patterns that Rust's regex syntax does not support are left to the API server.
            if Regex::new(pattern).is_ok_and(|regex| !regex.is_match(text)) {
                self.add(path, format_args!("is {text:?}: must match {pattern}"));
            }
        }
    }

    fn items(&mut self, schema: &Value, path: &str, items: &[Value]) {
        self.count(schema, path, items.len(), ("minItems", "maxItems"), "items");
        for (i, item) in items.iter().enumerate() {
            self.value(&schema["items"], &format!("{path}[{i}]"), item);
        }
        let keys: Vec<_> = schema["x-kubernetes-list-map-keys"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        let is_map = schema["x-kubernetes-list-type"] == "map";
        let is_set = schema["uniqueItems"] == true || schema["x-kubernetes-list-type"] == "set";
        let mut seen = BTreeSet::new();
        for (i, item) in items.iter().enumerate().filter(|_| is_map || is_set) {
            let identity = if is_map {
                keys.iter()
                    .map(|key| item[key].to_string())
                    .collect::<Vec<_>>()
                    .join(",")
            } else {
                item.to_string()
            };
            if !seen.insert(identity) {
                self.add(&format!("{path}[{i}]"), "is a duplicate: remove it");
            }
        }
    }

    /// Validates fields. With `is_object`, `apiVersion`, `kind` and `metadata` are allowed besides the schema's fields.
    fn fields(&mut self, schema: &Value, path: &str, value: &Value, is_object: bool) {
        let Some(object) = value.as_object() else { return };
        let below = |name: &str| {
            if path.is_empty() {
                name.to_owned()
            } else {
                format!("{path}.{name}")
            }
        };
        self.count(
            schema,
            path,
            object.len(),
            ("minProperties", "maxProperties"),
            "entries",
        );
        for name in schema["required"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
        {
            if !object.contains_key(name) && schema["properties"][name].get("default").is_none() {
                self.add(&below(name), "is missing: it is required");
            }
        }
        let known = schema["properties"].as_object();
        for (name, field) in object {
            if is_object && ["apiVersion", "kind", "metadata"].contains(&name.as_str()) {
                continue;
            }
            if let Some(schema) = known.and_then(|known| known.get(name)) {
                self.value(schema, &below(name), field);
            } else if schema["additionalProperties"].is_object() {
                self.value(&schema["additionalProperties"], &below(name), field);
            } else if !self.only_restricts
                && schema["x-kubernetes-preserve-unknown-fields"] != true
                && schema["additionalProperties"] != true
            {
                let near = known
                    .into_iter()
                    .flatten()
                    .map(|(known, _)| known)
                    .find(|known| is_similar(known, name));
                let hint =
                    near.map_or_else(|| "remove it".to_owned(), |near| format!("did you mean {near}?"));
                self.add(&below(name), format_args!("is unknown: {hint}"));
            }
        }
    }

    fn combined(&mut self, schema: &Value, path: &str, value: &Value) {
        let fits = |schema: &Value| {
            let mut validator = Validator {
                only_restricts: true,
                ..Validator::default()
            };
            validator.value(schema, path, value);
            validator.problems.is_empty()
        };
        let fitting = |key: &str| {
            schema[key]
                .as_array()
                .map(|list| (list.iter().filter(|schema| fits(schema)).count(), list.len()))
        };
        // Kubernetes adds a redundant anyOf to int-or-string.
        if fitting("anyOf").is_some_and(|(count, _)| count == 0) {
            self.add(
                path,
                "matches no alternative of its schema: must match one (anyOf)",
            );
        }
        if fitting("oneOf").is_some_and(|(count, _)| count != 1) {
            self.add(path, "must match exactly one alternative of its schema (oneOf)");
        }
        if fitting("allOf").is_some_and(|(count, all)| count != all) {
            self.add(path, "must match all parts of its schema (allOf)");
        }
        if schema.get("not").is_some_and(fits) {
            self.add(path, "matches a schema that is excluded (not)");
        }
    }

    fn count(&mut self, schema: &Value, path: &str, count: usize, (min, max): (&str, &str), unit: &str) {
        let bound = |key: &str| schema[key].as_u64().and_then(|bound| usize::try_from(bound).ok());
        if let Some(min) = bound(min).filter(|min| count < *min) {
            self.add(path, format_args!("has {count} {unit}: must have at least {min}"));
        }
        if let Some(max) = bound(max).filter(|max| count > *max) {
            self.add(path, format_args!("has {count} {unit}: may have at most {max}"));
        }
    }
}

fn type_or_value(value: &Value) -> String {
    match value {
        Value::Object(_) => "an object".to_owned(),
        Value::Array(_) => "a list".to_owned(),
        scalar => scalar.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn problems_have_path_and_fix() {
        let schema = json!({"type": "object", "required": ["name"], "properties": {
            "name": {"type": "string", "maxLength": 3, "pattern": "^[a-z]+$"},
            "size": {"type": "integer", "minimum": 1, "maximum": 3},
            "mode": {"type": "string", "enum": ["a", "b"]},
            "tags": {"type": "array", "maxItems": 1, "items": {"type": "string"}},
            "pair": {"type": "object", "additionalProperties": {"type": "boolean"}},
        }});
        let cases = [
            (json!({}), "value.name is missing: it is required"),
            (
                json!({"name": "abcd"}),
                "value.name has 4 characters: may have at most 3",
            ),
            (json!({"name": "A"}), "value.name is \"A\": must match ^[a-z]+$"),
            (json!({"name": 1}), "value.name is 1: must be a string (quote it)"),
            (
                json!({"name": "a", "size": 0}),
                "value.size is 0: must be at least 1",
            ),
            (
                json!({"name": "a", "size": 4}),
                "value.size is 4: must be at most 3",
            ),
            (
                json!({"name": "a", "size": 1.5}),
                "value.size is 1.5: must be an integer",
            ),
            (
                json!({"name": "a", "mode": "c"}),
                "value.mode is \"c\": must be one of \"a\", \"b\"",
            ),
            (
                json!({"name": "a", "tags": ["x", "y"]}),
                "value.tags has 2 items: may have at most 1",
            ),
            (
                json!({"name": "a", "tags": [true]}),
                "value.tags[0] is true: must be a string (quote it)",
            ),
            (
                json!({"name": "a", "pair": {"x": 1}}),
                "value.pair.x is 1: must be true or false",
            ),
            (
                json!({"name": "a", "Size": 1}),
                "value.Size is unknown: did you mean size?",
            ),
            (
                json!({"name": "a", "sise": 1}),
                "value.sise is unknown: did you mean size?",
            ),
            (
                json!({"name": "a", "other": 1}),
                "value.other is unknown: remove it",
            ),
            (
                json!({"name": null}),
                "value.name is null: give it a value, or leave it out",
            ),
        ];
        for (value, expected) in cases {
            assert_eq!(super::value(&schema, &value), [expected], "{value}");
        }
        assert_eq!(
            value(
                &schema,
                &json!({"name": "a", "size": 3, "mode": "a", "tags": ["x"]})
            ),
            [] as [String; 0]
        );
    }

    #[test]
    fn supports_the_extensions_of_kubernetes() {
        let quantity =
            json!({"x-kubernetes-int-or-string": true, "anyOf": [{"type": "integer"}, {"type": "string"}]});
        assert!(value(&quantity, &json!("1Gi")).is_empty() && value(&quantity, &json!(1)).is_empty());
        assert!(!value(&quantity, &json!(true)).is_empty());
        let map = json!({"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"],
            "items": {"type": "object", "properties": {"name": {"type": "string"}}}});
        assert_eq!(
            value(&map, &json!([{"name": "a"}, {"name": "a"}])),
            ["value[1] is a duplicate: remove it"]
        );
        let free = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
        assert!(value(&free, &json!({"anything": [1]})).is_empty());
        let one = json!({"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}},
            "oneOf": [{"required": ["a"]}, {"required": ["b"]}]});
        assert!(value(&one, &json!({"a": "x"})).is_empty());
        assert_eq!(value(&one, &json!({"a": "x", "b": "y"})).len(), 1);
    }

    #[test]
    fn an_object_needs_a_name() {
        let schema = json!({"type": "object", "properties": {"spec": {"type": "object"}}});
        let object = json!({"apiVersion": "a/v1", "kind": "A", "metadata": {}, "spec": {}});
        let problems = super::object(&schema, &object);
        let texts: Vec<_> = problems.iter().map(ToString::to_string).collect();
        assert_eq!(texts, ["metadata.name is missing: name the object"]);
    }
}

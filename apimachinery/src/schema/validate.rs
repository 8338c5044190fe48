//! Validation of values against a schema, with the messages of the real server.

use super::format::{has_format, is_known};
use super::lists;
use super::numbers;
use super::unchanged::Correlation;
use crate::field::FieldError;
use crate::go_regexp;
use regex::Regex;
use serde_json::{Map, Value, json};
use std::collections::HashMap;

/// The compiled patterns of a schema. A pattern that does not compile matches nothing.
pub(super) type Patterns = HashMap<String, Option<Regex>>;

/// Collects the patterns of a schema and its nested schemas.
pub(super) fn patterns(schema: &Value, found: &mut Patterns) {
    match schema {
        Value::Object(fields) => {
            if let Some(Value::String(pattern)) = fields.get("pattern") {
                found
                    .entry(pattern.clone())
                    .or_insert_with(|| go_regexp::compile(pattern).ok());
            }
            fields.values().for_each(|value| patterns(value, found));
        }
        Value::Array(items) => items.iter().for_each(|value| patterns(value, found)),
        _ => {}
    }
}

pub(super) struct Validator<'a> {
    pub(super) patterns: &'a Patterns,
}

/// The errors of a value, and the number of schema keywords visited: if all alternatives fail, the one that got furthest is reported.
#[derive(Default)]
pub(super) struct ValidationResult {
    pub(super) errors: Vec<FieldError>,
    visited: usize,
}

impl ValidationResult {
    fn merge(&mut self, other: Self) {
        self.errors.extend(other.errors);
        self.visited += other.visited;
    }
}

impl Validator<'_> {
    /// Validates a value. Errors of a value that is unchanged are not reported (ratcheting).
    pub(super) fn validate(
        &self,
        value: &Value,
        old: Option<&Value>,
        schema: &Value,
        path: &str,
    ) -> ValidationResult {
        let mut result = self.validate_all(value, old, schema, path);
        // `apiVersion` and `kind` are always validated: they identify the request.
        let ratchets = path != "apiVersion" && path != "kind";
        let correlation = old.map(|old| Correlation { value, old, schema });
        if ratchets && !result.errors.is_empty() && correlation.is_some_and(Correlation::is_unchanged) {
            result.errors.clear();
        }
        result
    }

    fn validate_all(
        &self,
        value: &Value,
        old: Option<&Value>,
        schema: &Value,
        path: &str,
    ) -> ValidationResult {
        let mut result = ValidationResult {
            visited: 1,
            ..ValidationResult::default()
        };
        let types = types(schema);
        result.errors.extend(type_error(value, schema, &types, path));
        if value.is_null() {
            result.errors.extend(enum_error(value, schema, path));
            return result;
        }
        self.combinations(value, schema, path, &mut result);
        match value {
            Value::String(text) => {
                result.errors.extend(self.string_error(text, schema, path));
                if let Some(format) = string_format(schema, &types).filter(|format| !has_format(text, format))
                {
                    let message = format!("{path} in body must be of type {format}: {text:?}");
                    result
                        .errors
                        .push(FieldError::type_invalid(path, text.as_str(), message));
                }
            }
            Value::Number(number) => result
                .errors
                .extend(numbers::errors(number, schema, &types, path)),
            Value::Array(items) => self.array(items, old, schema, path, &mut result),
            _ => {}
        }
        result.errors.extend(enum_error(value, schema, path));
        if let Value::Object(fields) = value {
            self.object(fields, old, schema, path, &mut result);
        }
        result
    }

    /// Validates the alternatives of a schema, without regard to the old value: within them, unchanged fields are validated.
    fn combinations(&self, value: &Value, schema: &Value, path: &str, result: &mut ValidationResult) {
        let without_path = |detail: String| FieldError::invalid("", "", detail);
        let alternatives = |name: &str| schema[name].as_array().map(Vec::as_slice).unwrap_or_default();
        let validate_branch = |schema: &Value| self.validate(value, None, schema, path);
        let furthest_result = |results: Vec<ValidationResult>| {
            results
                .into_iter()
                .rev()
                .max_by_key(|result| result.visited)
                .unwrap_or_default()
        };
        let any = alternatives("anyOf");
        if !any.is_empty() {
            let results: Vec<ValidationResult> = any.iter().map(validate_branch).collect();
            if results.iter().all(|result| !result.errors.is_empty()) {
                result.errors.push(without_path(format!(
                    "\"{path}\" must validate at least one schema (anyOf)"
                )));
                result.merge(furthest_result(results));
            }
        }
        let one = alternatives("oneOf");
        if !one.is_empty() {
            let results: Vec<ValidationResult> = one.iter().map(validate_branch).collect();
            let valid = results.iter().filter(|result| result.errors.is_empty()).count();
            if valid != 1 {
                let found = if valid == 0 {
                    "Found none valid".to_owned()
                } else {
                    format!("Found {valid} valid alternatives")
                };
                result.errors.push(without_path(format!(
                    "\"{path}\" must validate one and only one schema (oneOf). {found}"
                )));
                if valid == 0 {
                    result.merge(furthest_result(results));
                }
            }
        }
        let all = alternatives("allOf");
        let results: Vec<ValidationResult> = all.iter().map(validate_branch).collect();
        let failed = results.iter().filter(|result| !result.errors.is_empty()).count();
        for alternative in results {
            result.merge(alternative);
        }
        if failed > 0 {
            let none = if failed == all.len() {
                ". None validated"
            } else {
                ""
            };
            result.errors.push(without_path(format!(
                "\"{path}\" must validate all the schemas (allOf){none}"
            )));
        }
        if schema["not"].is_object() && validate_branch(&schema["not"]).errors.is_empty() {
            result.errors.push(without_path(format!(
                "\"{path}\" must not validate the schema (not)"
            )));
        }
    }

    /// Returns the first error of a string.
    fn string_error(&self, text: &str, schema: &Value, path: &str) -> Option<FieldError> {
        let length = text.chars().count() as u64;
        if let Some(max) = schema["maxLength"].as_u64().filter(|max| length > *max) {
            return Some(FieldError::too_long(path, max));
        }
        if let Some(min) = schema["minLength"].as_u64().filter(|min| length < *min) {
            return Some(FieldError::invalid(
                path,
                text,
                format!("{path} in body should be at least {min} chars long"),
            ));
        }
        let pattern = schema["pattern"].as_str().filter(|pattern| !pattern.is_empty())?;
        let matches = self
            .patterns
            .get(pattern)
            .is_some_and(|regex| regex.as_ref().is_some_and(|regex| regex.is_match(text)));
        (!matches)
            .then(|| FieldError::invalid(path, text, format!("{path} in body should match '{pattern}'")))
    }

    fn array(
        &self,
        items: &[Value],
        old: Option<&Value>,
        schema: &Value,
        path: &str,
        result: &mut ValidationResult,
    ) {
        if schema["items"].is_object() {
            for (index, item) in items.iter().enumerate() {
                let old = lists::correlated(item, old, schema);
                result.merge(self.validate(item, old, &schema["items"], &format!("{path}[{index}]")));
            }
        }
        if let Some(min) = schema["minItems"]
            .as_u64()
            .filter(|min| (items.len() as u64) < *min)
        {
            result.errors.push(FieldError::invalid(
                path,
                items.len(),
                format!("{path} in body should have at least {min} items"),
            ));
        }
        if let Some(max) = schema["maxItems"]
            .as_u64()
            .filter(|max| items.len() as u64 > *max)
        {
            result.errors.push(FieldError::too_many(path, items.len(), max));
        }
        if schema["uniqueItems"] == true
            && items
                .iter()
                .enumerate()
                .any(|(index, item)| items[..index].contains(item))
        {
            result.errors.push(FieldError::invalid(
                path,
                "",
                format!("{path} in body shouldn't contain duplicates"),
            ));
        }
    }

    fn object(
        &self,
        fields: &Map<String, Value>,
        old: Option<&Value>,
        schema: &Value,
        path: &str,
        result: &mut ValidationResult,
    ) {
        if let Some(min) = schema["minProperties"]
            .as_u64()
            .filter(|min| (fields.len() as u64) < *min)
        {
            let message = format!("{path} in body should have at least {min} properties");
            result
                .errors
                .push(FieldError::invalid(path, fields.len(), message));
        }
        if let Some(max) = schema["maxProperties"]
            .as_u64()
            .filter(|max| fields.len() as u64 > *max)
        {
            result.errors.push(FieldError::too_many(path, fields.len(), max));
        }
        let below = |name: &str| {
            if path.is_empty() {
                name.to_owned()
            } else {
                format!("{path}.{name}")
            }
        };
        let forbids_others = schema["additionalProperties"] == false;
        for (name, value) in fields {
            let schema = schema["properties"].get(name).or_else(|| {
                schema
                    .get("additionalProperties")
                    .filter(|schema| schema.is_object())
            });
            if let Some(schema) = schema {
                result.merge(self.validate(value, old.and_then(|old| old.get(name)), schema, &below(name)));
            } else if forbids_others {
                let message = format!("{} in body is a forbidden property", below(name));
                result
                    .errors
                    .push(FieldError::invalid(path, name.as_str(), message));
            }
        }
        for name in schema["required"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
        {
            if !fields.contains_key(name) {
                result.errors.push(FieldError::required(&below(name), ""));
            }
        }
    }
}

/// The types that a schema allows; empty if it does not restrict them.
fn types(schema: &Value) -> Vec<&str> {
    if schema["x-kubernetes-int-or-string"] == true {
        return vec!["integer", "string"];
    }
    schema["type"]
        .as_str()
        .filter(|ty| !ty.is_empty())
        .into_iter()
        .collect()
}

/// The format of strings, if the real server validates it.
fn string_format<'a>(schema: &'a Value, types: &[&str]) -> Option<&'a str> {
    schema["format"]
        .as_str()
        .filter(|format| !format.is_empty() && matches!(types, [] | ["string"]))
}

fn type_error(value: &Value, schema: &Value, types: &[&str], path: &str) -> Option<FieldError> {
    let found = match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    };
    let allowed = match found {
        "null" => schema["nullable"] == true,
        "number" => {
            types.contains(&"number")
                || (types.contains(&"integer") && value.as_f64().is_some_and(numbers::is_whole))
        }
        "integer" => types.contains(&"integer") || types.contains(&"number"),
        other => types.contains(&other),
    };
    if types.is_empty() || allowed {
        return None;
    }
    if let Some(format) = schema["format"].as_str().filter(|format| is_known(format)) {
        // kube-apiserver compares the format first, which texts and lists do not have.
        match value {
            Value::String(_) | Value::Array(_) if types.contains(&"string") => return None,
            Value::Null | Value::String(_) | Value::Array(_) => {}
            _ => {
                let found = match found {
                    "integer" => "int64",
                    "number" => "float64",
                    _ => "",
                };
                let message = format!("{path} in body must be of type {format}: \"{found}\"");
                return Some(FieldError::type_invalid(path, found, message));
            }
        }
    }
    Some(FieldError::type_invalid(
        path,
        found,
        format!("{path} in body must be of type {}: \"{found}\"", types.join(",")),
    ))
}

fn enum_error(value: &Value, schema: &Value, path: &str) -> Option<FieldError> {
    let allowed = schema["enum"].as_array().filter(|allowed| !allowed.is_empty())?;
    let same = |other: &Value| {
        other == value || (value.is_number() && other.as_f64().is_some() && other.as_f64() == value.as_f64())
    };
    if allowed.iter().any(|other| !other.is_null() && same(other)) {
        return None;
    }
    let shown = allowed
        .iter()
        .map(|value| value.as_str().map_or_else(|| value.to_string(), str::to_owned));
    Some(FieldError::not_supported(path, value.clone(), shown))
}

/// The additional error when rules were not evaluated because of earlier errors.
pub(super) fn rules_not_checked() -> FieldError {
    let detail = "some validation rules were not checked because the object was invalid; correct the existing errors to complete validation";
    FieldError::invalid("", json!(null), detail)
}

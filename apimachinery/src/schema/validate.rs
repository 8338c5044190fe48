//! Validation of values against a schema, with the messages of the real server.

use super::type_check::AllowedTypes;
use super::unchanged::Correlation;
use super::{enumeration, field_schema, join, lists, numbers};
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
    /// Whether formats count that the type of a schema does not have: they do for defaults, but not for objects.
    pub(super) keeps_formats: bool,
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
        let allowed = AllowedTypes::of(schema, self.keeps_formats);
        result.errors.extend(allowed.type_error(value, path));
        if value.is_null() {
            result.errors.extend(enumeration::error(value, schema, path));
            return result;
        }
        self.combinations(value, schema, path, &mut result);
        match value {
            Value::String(text) => {
                result.errors.extend(self.string_error(text, schema, path));
                result.errors.extend(allowed.format_error(text, path));
            }
            Value::Number(number) => {
                result
                    .errors
                    .extend(numbers::errors(number, schema, &allowed.types, path));
            }
            Value::Array(items) => self.array(items, old, schema, path, &mut result),
            _ => {}
        }
        result.errors.extend(enumeration::error(value, schema, path));
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
        let length = count(text.chars().count());
        if let Some(max) = schema["maxLength"].as_i64().filter(|max| length > *max) {
            return Some(too_long(path, max));
        }
        if let Some(min) = schema["minLength"].as_i64().filter(|min| length < *min) {
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
            .as_i64()
            .filter(|min| count(items.len()) < *min)
        {
            result.errors.push(FieldError::invalid(
                path,
                items.len(),
                format!("{path} in body should have at least {min} items"),
            ));
        }
        if let Some(max) = schema["maxItems"]
            .as_i64()
            .filter(|max| count(items.len()) > *max)
        {
            result.errors.push(too_many(path, items.len(), max));
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
            .as_i64()
            .filter(|min| count(fields.len()) < *min)
        {
            let message = format!("{path} in body should have at least {min} properties");
            result
                .errors
                .push(FieldError::invalid(path, fields.len(), message));
        }
        if let Some(max) = schema["maxProperties"]
            .as_i64()
            .filter(|max| count(fields.len()) > *max)
        {
            result.errors.push(too_many(path, fields.len(), max));
        }
        let forbids_others = schema["additionalProperties"] == false;
        for (name, value) in fields {
            if let Some(schema) = field_schema(schema, name) {
                let old = old.and_then(|old| old.get(name));
                result.merge(self.validate(value, old, schema, &join(path, name)));
            } else if forbids_others {
                let message = format!("{} in body is a forbidden property", join(path, name));
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
                result.errors.push(FieldError::required(&join(path, name), ""));
            }
        }
    }
}

/// Returns the number of characters, items or fields as the bounds of schemas are: these may be negative.
fn count(length: usize) -> i64 {
    i64::try_from(length).unwrap_or(i64::MAX)
}

fn too_long(path: &str, max: i64) -> FieldError {
    u64::try_from(max).map_or_else(
        |_| FieldError {
            detail: "value is too long".to_owned(),
            ..FieldError::too_long(path, 0)
        },
        |max| FieldError::too_long(path, max),
    )
}

fn too_many(path: &str, actual: usize, max: i64) -> FieldError {
    u64::try_from(max).map_or_else(
        |_| FieldError {
            detail: "has too many items".to_owned(),
            ..FieldError::too_many(path, actual, 0)
        },
        |max| FieldError::too_many(path, actual, max),
    )
}

/// The additional error when rules were not evaluated because of earlier errors.
pub(super) fn rules_not_checked() -> FieldError {
    let detail = "some validation rules were not checked because the object was invalid; correct the existing errors to complete validation";
    FieldError::invalid("", json!(null), detail)
}

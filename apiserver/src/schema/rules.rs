//! The rules of a schema, `x-kubernetes-validations`, evaluated by kube-cel.
//!
//! Walking the schema, matching old items with new ones, paths, reasons and messages are ours; kube-cel parses and evaluates one rule at
//! one place. What it lacks, beside a real server:
//!
//! - Types are not checked when the definition is created: a rule that compares a string with a number fails when it is evaluated.
//! - No costs are estimated or counted: a rule that the real server refuses as too expensive is accepted.
//! - `sortBy`, `type`, the comprehensions with two variables and the optional syntax (`.?`, `[?`, `{?`) are not there: a definition
//!   whose rules use them is accepted, as the real server does, and every object that such a rule is about is refused.
//! - Lists that are sets are compared in order; `string` of a duration is not the real one.
//! - The metadata at the root is all there, not only `name` and `generateName`.
//! - `bool` of a text and `optMap` are not there either.
//! - The texts of some evaluation errors are its own: `causes.rs` knows those that are not.

use super::{causes, lists};
use crate::field::FieldError;
use crate::types::floats_to_integers;
use kube_cel::{CompiledSchema, ErrorKind, ValidationError, compile_schema, validate_compiled};
use regex::Regex;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

const RULES: &str = "x-kubernetes-validations";
/// How the message of a rule begins that has none.
const FAILED: &str = "failed rule: ";

/// The rules of a schema and of those within it.
#[derive(Debug, Default)]
pub(super) struct Rules {
    here: Vec<Rule>,
    properties: BTreeMap<String, Rules>,
    values: Option<Box<Rules>>,
    items: Option<Box<Rules>>,
}

#[derive(Debug)]
struct Rule {
    text: String,
    message: String,
    reason: String,
    field_path: String,
    compiled: CompiledSchema,
}

impl Rules {
    /// The rules, if there are any.
    pub(super) fn compile(schema: &Value) -> Option<Self> {
        // Beyond a schema's end there is null, and no end to that.
        if !schema.is_object() {
            return None;
        }
        let within = |schema: &Value| Self::compile(schema).map(Box::new);
        let properties = schema["properties"].as_object().into_iter().flatten();
        let mut rules = Self {
            here: schema[RULES]
                .as_array()
                .into_iter()
                .flatten()
                .map(|rule| Rule::compile(rule, schema))
                .collect(),
            properties: properties
                .filter_map(|(name, schema)| Some((name.clone(), Self::compile(schema)?)))
                .collect(),
            values: within(&schema["additionalProperties"]),
            items: within(&schema["items"]),
        };
        for branch in schema["allOf"].as_array().into_iter().flatten() {
            if let Some(branch) = Self::compile(branch) {
                rules.here.extend(branch.here);
            }
        }
        let none = rules.here.is_empty()
            && rules.properties.is_empty()
            && rules.values.is_none()
            && rules.items.is_none();
        (!none).then_some(rules)
    }

    /// The rules that an object breaks.
    pub(super) fn check(&self, object: &Value, old: Option<&Value>, schema: &Value) -> Vec<FieldError> {
        let mut errors = Vec::new();
        let (object, old) = (
            with_doubles(object, schema),
            old.map(|old| with_doubles(old, schema)),
        );
        self.visit(&object, old.as_ref(), schema, "", &mut errors);
        errors
    }

    fn visit(
        &self,
        value: &Value,
        old: Option<&Value>,
        schema: &Value,
        path: &str,
        errors: &mut Vec<FieldError>,
    ) {
        // What did not change is not held against the request, and null is no value.
        if old == Some(value) || (value.is_null() && schema["nullable"] == true) {
            return;
        }
        for rule in &self.here {
            if let Err(broken) = validate_compiled(&rule.compiled, value, old) {
                errors.extend(broken.iter().map(|error| rule.error(error, value, schema, path)));
            }
        }
        match value {
            Value::Object(fields) => {
                for (name, value) in fields {
                    let old = old.and_then(|old| old.get(name));
                    if let Some(rules) = self.properties.get(name) {
                        let below = if path.is_empty() {
                            name.clone()
                        } else {
                            format!("{path}.{name}")
                        };
                        rules.visit(value, old, &schema["properties"][name], &below, errors);
                    } else if let Some(rules) = self
                        .values
                        .as_ref()
                        .filter(|_| schema["properties"].get(name).is_none())
                    {
                        rules.visit(
                            value,
                            old,
                            &schema["additionalProperties"],
                            &format!("{path}[{name}]"),
                            errors,
                        );
                    }
                }
            }
            Value::Array(items) => {
                let Some(rules) = &self.items else { return };
                for (index, item) in items.iter().enumerate() {
                    let old = lists::correlated(item, old, schema);
                    rules.visit(item, old, &schema["items"], &format!("{path}[{index}]"), errors);
                }
            }
            _ => {}
        }
    }
}

impl Rule {
    fn compile(rule: &Value, schema: &Value) -> Self {
        let text = |name: &str| rule[name].as_str().unwrap_or_default().to_owned();
        let mut alone = Map::new();
        for name in ["rule", "message", "messageExpression", "optionalOldSelf"] {
            if let Some(value) = rule.get(name) {
                alone.insert(name.to_owned(), value.clone());
            }
        }
        for name in ["rule", "messageExpression"] {
            if let Some(Value::String(text)) = alone.get_mut(name) {
                // kube-cel does not know types at compile time, so there is nothing to hide from it.
                *text = replaced(text, r"\bdyn\(", "(");
                if rule["optionalOldSelf"] == true {
                    // An optional value is null to kube-cel; the rule expects CEL's optional.
                    *text = replaced(
                        text,
                        r"\boldSelf\b",
                        "(oldSelf == null ? optional.none() : optional.of(oldSelf))",
                    );
                }
            }
        }
        let mut schema = without_rules(schema);
        schema[RULES] = json!([alone]);
        Self {
            text: text("rule"),
            message: text("message"),
            reason: text("reason"),
            field_path: text("fieldPath"),
            compiled: compile_schema(&schema),
        }
    }

    /// What is told of a broken rule: what its expression made, where that is a message, else its message, or else the rule, as it was
    /// before it was rewritten.
    fn told(&self, made: &str) -> String {
        const MOST: usize = 5 << 10;
        let text = made.trim();
        let is_message = !text.is_empty() && text.len() <= MOST && !text.contains('\n');
        if is_message && !text.starts_with(FAILED) {
            return text.to_owned();
        }
        match self.message.trim() {
            "" => format!("{FAILED}{}", self.text),
            message => message.to_owned(),
        }
    }

    fn error(&self, error: &ValidationError, value: &Value, schema: &Value, path: &str) -> FieldError {
        if error.kind != ErrorKind::ValidationFailure {
            let ty = schema["type"].as_str().unwrap_or_default();
            return FieldError::invalid(
                path,
                ty,
                format!("{} evaluating rule: {}", causes::of(error), self.text),
            );
        }
        let mut value = value.clone();
        floats_to_integers(&mut value);
        let message = self.told(&error.message);
        let path = format!("{path}{}", self.field_path);
        let path = path.strip_prefix('.').unwrap_or(&path);
        let fault = match self.reason.as_str() {
            "FieldValueRequired" => FieldError::required(path, message),
            "FieldValueForbidden" => FieldError::forbidden(path, message),
            "FieldValueDuplicate" => FieldError::duplicate(path, value.clone()),
            _ => FieldError::invalid(path, value.clone(), message),
        };
        if value.is_object() || value.is_array() {
            fault.without_value()
        } else {
            fault
        }
    }
}

/// The schema without rules: those of other places are looked at there.
fn without_rules(schema: &Value) -> Value {
    match schema {
        Value::Object(fields) => {
            let fields = fields
                .iter()
                .filter(|(name, _)| *name != RULES && *name != "default");
            fields
                .map(|(name, value)| (name.clone(), without_rules(value)))
                .collect()
        }
        Value::Array(items) => items.iter().map(without_rules).collect(),
        other => other.clone(),
    }
}

/// The text with other words; the pattern is ours.
fn replaced(text: &str, pattern: &str, with: &str) -> String {
    Regex::new(pattern).map_or_else(
        |_| text.to_owned(),
        |pattern| pattern.replace_all(text, with).into_owned(),
    )
}

/// With what may have a fraction as a number that has one: to CEL, 2 and 2.0 are of two types, and the schema says of which.
fn with_doubles(value: &Value, schema: &Value) -> Value {
    match value {
        Value::Number(number) if schema["type"] == "number" => {
            number.as_f64().map_or_else(|| value.clone(), Value::from)
        }
        Value::Array(items) => items
            .iter()
            .map(|item| with_doubles(item, &schema["items"]))
            .collect(),
        Value::Object(fields) => {
            let fields = fields.iter().map(|(name, value)| {
                let schema = schema["properties"]
                    .get(name)
                    .unwrap_or(&schema["additionalProperties"]);
                (name.clone(), with_doubles(value, schema))
            });
            fields.collect()
        }
        other => other.clone(),
    }
}

/// What kube-cel says where it knows that syntax, and does not take it.
const UNSUPPORTED: &str = ": unsupported syntax '";

/// What is wrong with an expression as such: none when it can be parsed, by the real server if not by kube-cel.
pub(super) fn syntax_error(expression: &str) -> Option<String> {
    let compiled = compile_schema(&json!({ RULES: [{ "rule": expression }] }));
    let text = compiled.compilation_errors().first()?.to_string();
    // The parser is a port of the real server's, down to its words; what stands before them is not.
    let start = text.find("ERROR:").unwrap_or_default();
    let text = text[start..].replace("\n|", "\n |");
    // Between errors it shows the rule, behind a bar.
    let mut errors = text.lines().filter(|line| line.starts_with("ERROR:"));
    (!errors.all(|error| error.contains(UNSUPPORTED))).then_some(text)
}

//! Fuzzes CEL: a text is checked as the rule of a custom resource, and evaluated if it is valid.

use kubewright_apimachinery::schema::{Schema, check_structural};
use serde_json::{Value, json};
use std::sync::LazyLock;

/// Expressions with kube-apiserver's results; their schema and object are those of the target.
const EVALUATED: &str = include_str!("../../apimachinery/src/schema/tests/evaluated_rules.json");
const CHECKED: &str = include_str!("../../apimachinery/src/cel/checked_rules.json");

static TABLE: LazyLock<Value> = LazyLock::new(|| serde_json::from_str(EVALUATED).expect("a table"));

/// Checks and evaluates an expression. A valid one can be compiled.
pub fn run(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    let mut schema = TABLE["schema"].clone();
    schema["x-kubernetes-validations"] = json!([{ "rule": text, "messageExpression": text }]);
    let has_message = check_structural(&schema, "").is_empty();
    if !has_message {
        schema["x-kubernetes-validations"] = json!([{ "rule": text }]);
        if !check_structural(&schema, "").is_empty() {
            return;
        }
    }
    for error in Schema::new(&schema).validate(&TABLE["object"], None) {
        let error = error.to_string();
        assert!(
            !error.contains("failed to compile"),
            "{text:?} is valid, but: {error}"
        );
    }
}

/// All texts of both tables.
pub fn seeds() -> Vec<Vec<u8>> {
    let checked: Value = serde_json::from_str(CHECKED).expect("a table");
    let mut seeds = vec![];
    let mut pending = vec![&TABLE["true"], &TABLE["errors"], &checked["rules"]];
    while let Some(value) = pending.pop() {
        match value {
            Value::String(text) if !text.starts_with("compilation failed") => {
                seeds.push(text.clone().into_bytes());
            }
            Value::Array(items) => pending.extend(items),
            _ => {}
        }
    }
    seeds
}

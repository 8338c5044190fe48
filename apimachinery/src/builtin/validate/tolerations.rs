//! Validation of tolerations.

use super::{Check, items, names, text};
use crate::field::FieldError;
use serde_json::Value;

pub(super) fn validate_tolerations(check: &mut Check, spec: &Value, path: &str) {
    for (toleration, path) in items(spec, "tolerations", path) {
        let operator = text(toleration, "operator");
        let field = format!("{path}.operator");
        let key = text(toleration, "key");
        if key.is_empty() && operator != "Exists" {
            let detail =
                "operator must be Exists when `key` is empty, which means \"match all values and all keys\"";
            check.push(FieldError::invalid(&field, operator, detail));
        } else if !key.is_empty() {
            check.push_messages(&format!("{path}.key"), key, &names::qualified_name_errors(key));
        }
        let value = text(toleration, "value");
        match operator {
            "" | "Equal" => {
                let reason = names::label_value_errors(value);
                if !reason.is_empty() {
                    check.push(FieldError::invalid(&field, value, reason.join(";")));
                }
            }
            "Exists" if !value.is_empty() => {
                let detail = "value must be empty when `operator` is 'Exists'";
                check.push(FieldError::invalid(&field, value, detail));
            }
            "Exists" => {}
            "Lt" | "Gt" => {
                let known = ["Equal", "Exists", "Lt", "Gt"];
                check.push(FieldError::not_supported(&field, operator, known));
            }
            _ => check.push(FieldError::not_supported(&field, operator, ["Equal", "Exists"])),
        }
        let effect = text(toleration, "effect");
        if !toleration["tolerationSeconds"].is_null() && effect != "NoExecute" {
            let detail = "effect must be 'NoExecute' when `tolerationSeconds` is set";
            check.push(FieldError::invalid(&format!("{path}.effect"), effect, detail));
        }
        if !effect.is_empty() {
            let known = ["NoSchedule", "PreferNoSchedule", "NoExecute"];
            check.require_supported(toleration, "effect", &path, &known);
        }
    }
}

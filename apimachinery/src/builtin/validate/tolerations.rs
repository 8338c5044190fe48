//! Validation of tolerations.

use super::{Check, Constraint, items, names, text};
use serde_json::Value;

const EFFECTS: Constraint = Constraint::OptionalOneOf(&["NoSchedule", "PreferNoSchedule", "NoExecute"]);

pub(super) fn validate_tolerations(check: &mut Check, spec: &Value, path: &str) {
    check.apply(&[("tolerations[].effect", EFFECTS)], spec, None, path);
    for (toleration, path) in items(spec, "tolerations", path) {
        let operator = text(toleration, "operator");
        let field = format!("{path}.operator");
        let key = text(toleration, "key");
        if key.is_empty() && operator != "Exists" {
            let detail =
                "operator must be Exists when `key` is empty, which means \"match all values and all keys\"";
            check.invalid(&field, operator, detail);
        } else if !key.is_empty() {
            check.validate_format(&format!("{path}.key"), key, names::qualified_name_errors);
        }
        let value = text(toleration, "value");
        match operator {
            "" | "Equal" => {
                let reason = names::label_value_errors(value);
                if !reason.is_empty() {
                    check.invalid(&field, value, reason.join(";"));
                }
            }
            "Exists" if !value.is_empty() => {
                check.invalid(&field, value, "value must be empty when `operator` is 'Exists'");
            }
            "Exists" => {}
            "Lt" | "Gt" => {
                let known = ["Equal", "Exists", "Lt", "Gt"];
                check.not_supported(&field, operator, known);
            }
            _ => check.not_supported(&field, operator, ["Equal", "Exists"]),
        }
        let effect = text(toleration, "effect");
        if !toleration["tolerationSeconds"].is_null() && effect != "NoExecute" {
            let detail = "effect must be 'NoExecute' when `tolerationSeconds` is set";
            check.invalid(&format!("{path}.effect"), effect, detail);
        }
    }
}

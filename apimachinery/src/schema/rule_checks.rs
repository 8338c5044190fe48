//! Validation of a schema's rules, `x-kubernetes-validations`, when a definition is written.

use super::list_types_and_defaults;
use crate::cel;
use crate::field::FieldError;
use serde_json::Value;

/// Checks the rules of a schema at this path. `is_object` marks the schema of a whole object. `uncorrelated` names an ancestor list with old and new items that cannot be matched, if any.
pub(super) fn check_rules(
    schema: &Value,
    is_object: bool,
    uncorrelated: Option<&str>,
    path: &str,
    errors: &mut Vec<FieldError>,
) {
    const REASONS: [&str; 4] = [
        "FieldValueDuplicate",
        "FieldValueForbidden",
        "FieldValueInvalid",
        "FieldValueRequired",
    ];
    for (index, rule) in schema["x-kubernetes-validations"]
        .as_array()
        .into_iter()
        .flatten()
        .enumerate()
    {
        let at = |name: &str| format!("{path}.x-kubernetes-validations[{index}].{name}");
        let text = rule["rule"].as_str().unwrap_or_default();
        let message_expression = rule["messageExpression"].as_str().unwrap_or_default();
        if text.trim().is_empty() {
            errors.push(FieldError::required(&at("rule"), "rule is not specified"));
        } else if let Some(why) = cel::rule_error(rule, "rule", schema, is_object) {
            errors.push(FieldError::invalid(&at("rule"), rule.clone(), why));
        } else if !message_expression.trim().is_empty()
            && let Some(why) = cel::rule_error(rule, "messageExpression", schema, is_object)
        {
            let why = format!("messageExpression {why}");
            errors.push(FieldError::invalid(&at("messageExpression"), rule.clone(), why));
        }
        if !message_expression.is_empty() && message_expression.trim().is_empty() {
            errors.push(FieldError::required(
                &at("messageExpression"),
                "messageExpression must be non-empty if specified",
            ));
        }
        if let Some(message) = rule["message"].as_str().filter(|message| !message.is_empty()) {
            if message.trim().is_empty() {
                errors.push(FieldError::invalid(
                    &at("message"),
                    message,
                    "must be non-empty if specified",
                ));
            } else if message.contains('\n') {
                errors.push(FieldError::invalid(
                    &at("message"),
                    message,
                    "must not contain line breaks",
                ));
            }
        }
        if let Some(reason) = rule["reason"].as_str().filter(|reason| !REASONS.contains(reason)) {
            errors.push(FieldError::not_supported(&at("reason"), reason, REASONS));
        }
        if let Some(field) = rule["fieldPath"]
            .as_str()
            .filter(|field| !list_types_and_defaults::names_field(schema, field))
        {
            errors.push(FieldError::invalid(
                &at("fieldPath"),
                field,
                "must be a valid path",
            ));
        }
        if let Some(within) = uncorrelated.filter(|_| text.contains("oldSelf")) {
            let why =
                format!("oldSelf cannot be used on the uncorrelatable portion of the schema within {within}");
            errors.push(FieldError::invalid(&at("rule"), text, why));
        }
        if rule["optionalOldSelf"] == true && !text.contains("oldSelf") {
            errors.push(FieldError::invalid(
                &at("optionalOldSelf"),
                true,
                "may not be set if oldSelf is not used in rule",
            ));
        }
    }
}

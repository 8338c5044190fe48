//! Validation of a schema's rules, `x-kubernetes-validations`, when a definition is written.

use super::list_types_and_defaults;
use super::rule_costs::RuleCosts;
use crate::cel;
use crate::field::FieldError;
use serde_json::Value;

/// What the rules of a schema depend on beside it.
pub(super) struct RuleContext<'a> {
    /// Whether the schema is that of a whole object.
    pub(super) is_object: bool,
    /// The ancestor list with old and new items that cannot be matched, if any.
    pub(super) uncorrelated: Option<&'a str>,
    /// How many values with this schema an object can have; None if its lists and maps are not limited.
    pub(super) max_values: Option<u64>,
}

/// Checks the rules of a schema at this path, and adds their costs.
pub(super) fn check_rules(
    schema: &Value,
    context: &RuleContext<'_>,
    path: &str,
    costs: &mut RuleCosts,
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
        let is_compiled = if text.trim().is_empty() {
            errors.push(FieldError::required(&at("rule"), "rule is not specified"));
            false
        } else {
            check_expressions(rule, &at, schema, context, costs, errors)
        };
        let uses_old_self = is_compiled && text.contains("oldSelf");
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
        if let Some(within) = context.uncorrelated.filter(|_| uses_old_self) {
            let why =
                format!("oldSelf cannot be used on the uncorrelatable portion of the schema within {within}");
            errors.push(FieldError::invalid(&at("rule"), text, why));
        }
        if rule["optionalOldSelf"] == true && !uses_old_self {
            errors.push(FieldError::invalid(
                &at("optionalOldSelf"),
                true,
                "may not be set if oldSelf is not used in rule",
            ));
        }
    }
}

/// Checks the expression of a rule, and that of its message, and adds their costs. Returns whether the rule's expression can be compiled.
fn check_expressions(
    rule: &Value,
    at: &dyn Fn(&str) -> String,
    schema: &Value,
    context: &RuleContext<'_>,
    costs: &mut RuleCosts,
    errors: &mut Vec<FieldError>,
) -> bool {
    const MESSAGE: &str = "messageExpression";
    match cel::check_rule(rule, "rule", schema, context.is_object) {
        Ok(cost) => {
            let values = context.max_values.unwrap_or(cost.values_per_request);
            let cost = cost.once.saturating_mul(values);
            costs.add(at("rule"), "estimated rule cost", cost);
        }
        Err(why) => {
            errors.push(FieldError::invalid(&at("rule"), rule.clone(), why));
            return false;
        }
    }
    if rule[MESSAGE].as_str().is_some_and(|text| !text.trim().is_empty()) {
        match cel::check_rule(rule, MESSAGE, schema, context.is_object) {
            // A message is evaluated only for the first value that violates the rule.
            Ok(cost) => costs.add(at(MESSAGE), "estimated messageExpression cost", cost.once),
            Err(why) => {
                let why = format!("messageExpression {why}");
                errors.push(FieldError::invalid(&at(MESSAGE), rule.clone(), why));
            }
        }
    }
    true
}

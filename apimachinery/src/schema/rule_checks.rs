//! Validation of a schema's rules, `x-kubernetes-validations`, when a definition is written.

use super::field_path;
use super::rule_costs::RuleCosts;
use super::schema_checks::SchemaContext;
use super::structural::is_convertible;
use crate::cel;
use crate::field::FieldError;
use serde_json::Value;

/// Checks the rules of a schema at this path, except their expressions.
pub(super) fn check_texts(schema: &Value, path: &str, errors: &mut Vec<FieldError>) {
    const REASONS: [&str; 4] = [
        "FieldValueDuplicate",
        "FieldValueForbidden",
        "FieldValueInvalid",
        "FieldValueRequired",
    ];
    const NOT_EMPTY: &str = "must be non-empty if specified";
    const ONE_LINE: &str = "must not contain line breaks";
    for (at, rule) in rules(schema, path) {
        let text = |name: &str| rule[name].as_str().unwrap_or_default();
        let is_blank = |name: &str| !text(name).is_empty() && text(name).trim().is_empty();
        let has_lines = |text: &str| text.contains(['\n', '\r']);
        let mut refuse = |name: &str, detail: &str| {
            errors.push(FieldError::invalid(&at(name), text(name), detail));
        };
        if text("rule").trim().is_empty() {
            errors.push(FieldError::required(&at("rule"), "rule is not specified"));
        } else if is_blank("message") {
            refuse("message", NOT_EMPTY);
        } else if has_lines(text("message").trim()) {
            refuse("message", ONE_LINE);
        } else if has_lines(text("rule").trim()) && text("message").is_empty() {
            let detail = "message must be specified if rule contains line breaks";
            errors.push(FieldError::required(&at("message"), detail));
        }
        if is_blank("messageExpression") {
            errors.push(FieldError::required(
                &at("messageExpression"),
                "messageExpression must be non-empty if specified",
            ));
        }
        if let Some(reason) = rule["reason"].as_str().filter(|reason| !REASONS.contains(reason)) {
            errors.push(FieldError::not_supported(&at("reason"), reason, REASONS));
        }
        let mut refuse = |detail: &str| {
            errors.push(FieldError::invalid(&at("fieldPath"), text("fieldPath"), detail));
        };
        if is_blank("fieldPath") {
            refuse(NOT_EMPTY);
        }
        if has_lines(text("fieldPath")) {
            refuse(ONE_LINE);
        }
        // The real server looks for the field in the structural schema only.
        let is_known = field_path::field_path(schema, text("fieldPath")).is_some() || !is_convertible(schema);
        if !text("fieldPath").is_empty() && !is_known {
            refuse("must be a valid path");
        }
    }
}

/// Checks the expressions of the rules of a schema at this path, and of their messages, and adds their costs.
pub(super) fn check_expressions(
    schema: &Value,
    context: SchemaContext<'_>,
    path: &str,
    costs: &mut RuleCosts,
    errors: &mut Vec<FieldError>,
) {
    const MESSAGE: &str = "messageExpression";
    if rules(schema, path).next().is_some() && !cel::has_rule_type(schema, context.is_root) {
        let detail = "internal error: failed to construct type information for x-kubernetes-validations rules: unable to convert \
                      structural schema to CEL declarations";
        errors.push(FieldError::internal(
            &format!("{path}.x-kubernetes-validations"),
            detail,
        ));
        return;
    }
    for (at, rule) in rules(schema, path) {
        let text = rule["rule"].as_str().unwrap_or_default();
        let checked = cel::check_rule(rule, "rule", schema, context.is_root);
        let is_compiled = checked.is_ok();
        match checked {
            Ok(cost) => {
                let values = context.max_values.unwrap_or(cost.values_per_request);
                let cost = cost.once.saturating_mul(values);
                errors.extend(costs.add(at("rule"), "estimated rule cost", cost));
            }
            Err(why) => errors.push(FieldError::invalid(&at("rule"), rule.clone(), why)),
        }
        if is_compiled && rule[MESSAGE].as_str().is_some_and(|text| !text.is_empty()) {
            match cel::check_rule(rule, MESSAGE, schema, context.is_root) {
                // A message is evaluated only for the first value that violates the rule.
                Ok(cost) => {
                    errors.extend(costs.add(at(MESSAGE), "estimated messageExpression cost", cost.once));
                }
                Err(why) => {
                    let why = format!("messageExpression {why}");
                    errors.push(FieldError::invalid(&at(MESSAGE), rule.clone(), why));
                }
            }
        }
        if is_compiled && cel::reads_variable(text, "oldSelf") {
            if let Some(within) = context.uncorrelated {
                let why = format!(
                    "oldSelf cannot be used on the uncorrelatable portion of the schema within {within}"
                );
                errors.push(FieldError::invalid(&at("rule"), text, why));
            }
        } else if let Some(optional) = rule["optionalOldSelf"].as_bool() {
            errors.push(FieldError::invalid(
                &at("optionalOldSelf"),
                optional,
                "may not be set if oldSelf is not used in rule",
            ));
        }
    }
}

/// Returns the rules of a schema at this path, each with a function that returns the paths of its keys.
fn rules<'v>(schema: &'v Value, path: &'v str) -> impl Iterator<Item = (impl Fn(&str) -> String, &'v Value)> {
    let rules = schema["x-kubernetes-validations"].as_array();
    rules.into_iter().flatten().enumerate().map(move |(index, rule)| {
        let at = move |name: &str| format!("{path}.x-kubernetes-validations[{index}].{name}");
        (at, rule)
    })
}

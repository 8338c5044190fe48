//! Validation of a job's pod failure policy and success policy.

use super::{Check, array, items, job_indexes, names, text};
use crate::field::FieldError;
use serde_json::Value;
use std::collections::BTreeSet;

const ACTIONS: [&str; 4] = ["Count", "FailIndex", "FailJob", "Ignore"];
const OPERATORS: [&str; 2] = ["In", "NotIn"];
const STATUSES: [&str; 3] = ["False", "True", "Unknown"];
const MAX_RULES: usize = 20;
const MAX_CONDITIONS: usize = 20;
const MAX_EXIT_CODES: usize = 255;
const MAX_INDEXES_BYTES: usize = 64 * 1024;

/// Validates `podFailurePolicy`.
pub(super) fn validate_pod_failure_policy(check: &mut Check, spec: &Value, path: &str) {
    let policy = &spec["podFailurePolicy"];
    let path = format!("{path}.podFailurePolicy");
    check.limit_items(&policy["rules"], MAX_RULES, &format!("{path}.rules"));
    for (rule, path) in items(policy, "rules", &path) {
        let field = format!("{path}.action");
        match text(rule, "action") {
            "FailIndex" if spec["backoffLimitPerIndex"].is_null() => {
                check.invalid(&field, "FailIndex", "requires the backoffLimitPerIndex to be set");
            }
            _ => require_supported_value(check, rule, "action", &path, &ACTIONS),
        }
        let codes = &rule["onExitCodes"];
        if codes.is_object() {
            validate_exit_codes(check, codes, spec, &format!("{path}.onExitCodes"));
        }
        let list = format!("{path}.onPodConditions");
        check.limit_items(&rule["onPodConditions"], MAX_CONDITIONS, &list);
        for (condition, path) in items(rule, "onPodConditions", &path) {
            let kind = text(condition, "type");
            check.validate_format(&format!("{path}.type"), kind, names::qualified_name_errors);
            require_supported_value(check, condition, "status", &path, &STATUSES);
        }
        let conditions = !array(&rule["onPodConditions"]).is_empty();
        let detail = match (codes.is_object(), conditions) {
            (true, true) => "specifying both OnExitCodes and OnPodConditions is not supported",
            (false, false) => "specifying one of OnExitCodes and OnPodConditions is required",
            _ => continue,
        };
        check.push(FieldError::invalid(&path, "", detail).without_value());
    }
}

/// Requires the field to have one of the values; the error for a missing value lists them.
fn require_supported_value(check: &mut Check, holder: &Value, name: &str, path: &str, allowed: &[&str]) {
    if text(holder, name).is_empty() {
        let allowed: Vec<String> = allowed.iter().map(|value| format!("{value:?}")).collect();
        let detail = format!("valid values: [{}]", allowed.join(" "));
        check.required(&format!("{path}.{name}"), detail);
    } else {
        check.require_supported(holder, name, path, allowed);
    }
}

fn validate_exit_codes(check: &mut Check, codes: &Value, spec: &Value, path: &str) {
    require_supported_value(check, codes, "operator", path, &OPERATORS);
    if let Some(container) = codes["containerName"].as_str() {
        let template = &spec["template"]["spec"];
        let mut known = ["containers", "initContainers"]
            .into_iter()
            .flat_map(|list| array(&template[list]).iter());
        if !known.any(|known| text(known, "name") == container) {
            let detail = "must be one of the container or initContainer names in the pod template";
            check.invalid(&format!("{path}.containerName"), container, detail);
        }
    }
    let field = format!("{path}.values");
    let parsed: Vec<i64> = items(codes, "values", path)
        .filter_map(|(value, _)| value.as_i64())
        .collect();
    if parsed.is_empty() {
        check.invalid(&field, codes["values"].clone(), "at least one value is required");
    }
    check.limit_items(&codes["values"], MAX_EXIT_CODES, &field);
    let mut seen = BTreeSet::new();
    for (at, code) in parsed.iter().enumerate() {
        let field = format!("{field}[{at}]");
        if text(codes, "operator") == "In" && *code == 0 {
            check.invalid(&field, 0, "must not be 0 for the In operator");
        }
        if !seen.insert(code) {
            check.duplicate(&field, *code);
        }
    }
    if !parsed.is_sorted() {
        check.invalid(&field, codes["values"].clone(), "must be ordered");
    }
}

/// Validates `successPolicy`.
pub(super) fn validate_success_policy(check: &mut Check, spec: &Value, path: &str) {
    let policy = &spec["successPolicy"];
    let path = format!("{path}.successPolicy");
    if policy.is_null() {
        return;
    }
    if spec["completionMode"] != "Indexed" {
        return check.invalid(&path, policy.clone(), "requires indexed completion mode");
    }
    let rules = format!("{path}.rules");
    if items(policy, "rules", &path).next().is_none() {
        let detail = "at least one rules must be specified when the successPolicy is specified";
        check.required(&rules, detail);
    }
    check.limit_items(&policy["rules"], MAX_RULES, &rules);
    // For a job without completions, kube-apiserver returns no validation error: the request handler fails.
    let completions = spec["completions"].as_i64().unwrap_or_default();
    for (rule, path) in items(policy, "rules", &path) {
        let (count, field) = (&rule["succeededCount"], format!("{path}.succeededCount"));
        let indexes = rule["succeededIndexes"].as_str();
        if count.is_null() && indexes.is_none() {
            let detail = "at least one of succeededCount or succeededIndexes must be specified";
            check.required(&path, detail);
        }
        let mut total = 0;
        if let Some(indexes) = indexes {
            let field = format!("{path}.succeededIndexes");
            check.limit_bytes(indexes, MAX_INDEXES_BYTES, &field);
            match job_indexes::count(indexes, completions) {
                Ok(count) => total = count,
                Err(reason) => {
                    let detail = format!("error parsing succeededIndexes: {reason}");
                    check.invalid(&field, indexes, detail);
                }
            }
        }
        check.require_non_negative(rule, &["succeededCount"], &path);
        let Some(count) = count.as_i64() else { continue };
        if count > completions {
            let detail =
                format!("must be less than or equal to {completions} (the number of specified completions)");
            check.invalid(&field, count, detail);
        }
        if indexes.is_some() && count > total {
            let detail = format!(
                "must be less than or equal to {total} (the number of indexes in the specified succeededIndexes field)"
            );
            check.invalid(&field, count, detail);
        }
    }
}

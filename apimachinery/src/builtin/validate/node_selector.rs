//! Validation of node selectors.

use super::{Check, array, items, names, text};
use serde_json::Value;

const OPERATORS: &[&str] = &["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"];

/// Validates a node selector. Its terms are ORed.
pub(super) fn validate_node_selector(check: &mut Check, selector: &Value, path: &str) {
    let mut terms = items(selector, "nodeSelectorTerms", path).peekable();
    if terms.peek().is_none() {
        let detail = "must have at least one node selector term";
        check.required(&format!("{path}.nodeSelectorTerms"), detail);
    }
    for (term, path) in terms {
        self::validate_node_selector_term(check, term, true, &path);
    }
}

/// Validates a term; label values only if `with_values`.
pub(super) fn validate_node_selector_term(check: &mut Check, term: &Value, with_values: bool, path: &str) {
    for (requirement, path) in items(term, "matchExpressions", path) {
        check.validate_label_requirement(requirement, OPERATORS, with_values, &path);
    }
    for (requirement, path) in items(term, "matchFields", path) {
        validate_field_requirement(check, requirement, &path);
    }
}

/// Validates a field requirement; the only field is `metadata.name`.
fn validate_field_requirement(check: &mut Check, requirement: &Value, path: &str) {
    match text(requirement, "operator") {
        "In" | "NotIn" => {
            if array(&requirement["values"]).len() != 1 {
                let detail =
                    "must be only one value when `operator` is 'In' or 'NotIn' for node field selector";
                check.required(&format!("{path}.values"), detail);
            }
        }
        other => {
            let detail = "not a valid selector operator";
            check.invalid(&format!("{path}.operator"), other, detail);
        }
    }
    let key = text(requirement, "key");
    if key != "metadata.name" {
        check.invalid(&format!("{path}.key"), key, "not a valid field selector key");
        return;
    }
    for (value, path) in items(requirement, "values", path) {
        let value = value.as_str().unwrap_or_default();
        check.validate_format(&path, value, names::subdomain_errors);
    }
}

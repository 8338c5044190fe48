//! Selectors in access reviews: their validation, and what authorization reads of them.

use crate::meta::{names, text};
use crate::selectors::{FieldSelector, LabelSelector};
use crate::status::Cause;
use serde_json::{Value, json};

/// Validates a selector of an access review. Unknown operators are allowed, because a newer client may know them.
pub(super) fn validate_selector_attributes(selector: &Value, name: &str, errors: &mut Vec<Cause>) {
    if selector.is_null() {
        return;
    }
    let path = format!("spec.resourceAttributes.{name}");
    let raw = text(selector, "rawSelector");
    let requirements = requirements(selector);
    if raw.is_empty() && requirements.is_empty() {
        let why = format!("when {path} is specified, requirements or rawSelector is required");
        errors.push(Cause::required(format!("{path}.requirements"), &why));
    } else if !raw.is_empty() && !requirements.is_empty() {
        let why = "may not specified at the same time as requirements";
        errors.push(Cause::invalid(
            format!("{path}.rawSelector"),
            &selector["rawSelector"],
            why,
        ));
    }
    for (index, requirement) in requirements.iter().enumerate() {
        let path = format!("{path}.requirements[{index}]");
        let (key, field) = (text(requirement, "key"), format!("{path}.key"));
        if name == "fieldSelector" && key.is_empty() {
            errors.push(Cause::required(field.clone(), "must be specified"));
        }
        let values: Vec<&str> = values(requirement).collect();
        let field_of_values = format!("{path}.values");
        match requirement["operator"].as_str() {
            Some("In" | "NotIn") if values.is_empty() => {
                let why = "must be specified when `operator` is 'In' or 'NotIn'";
                errors.push(Cause::required(field_of_values, why));
            }
            Some("Exists" | "DoesNotExist") if !values.is_empty() => {
                let why = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'";
                errors.push(Cause::forbidden(field_of_values, why));
            }
            _ => {}
        }
        if name == "labelSelector" {
            for why in names::qualified_name_errors(key) {
                errors.push(Cause::invalid(field.clone(), &json!(key), why));
            }
            for (index, value) in values.iter().enumerate() {
                for why in names::label_value_errors(value) {
                    let field = format!("{path}.values[{index}]");
                    errors.push(Cause::invalid(field, &json!(value), why));
                }
            }
        }
    }
}

/// Returns the message about a selector that authorization cannot read, or not completely.
pub(super) fn ignored_selector(selector: &Value, name: &str) -> Option<String> {
    let is_field = name == "fieldSelector";
    let is_readable = |requirement: &&Value| match (requirement["operator"].as_str(), is_field) {
        (Some("In" | "NotIn"), true) => values(requirement).count() == 1,
        (Some("In" | "NotIn" | "Exists" | "DoesNotExist"), false) => true,
        _ => false,
    };
    let raw = text(selector, "rawSelector");
    let requirements = requirements(selector);
    let readable = requirements.iter().filter(is_readable).count();
    let how = match readable {
        _ if raw.is_empty() && readable == requirements.len() => return None,
        _ if raw.is_empty() && readable == 0 => "ignored",
        0 if is_field && FieldSelector::parse(raw).is_ok() => return None,
        0 if !is_field && LabelSelector::parse(raw).is_ok() => return None,
        0 => "ignored",
        _ => "partially ignored",
    };
    Some(format!("spec.resourceAttributes.{name} {how} due to parse error"))
}

fn requirements(selector: &Value) -> &[Value] {
    selector["requirements"]
        .as_array()
        .map(Vec::as_slice)
        .unwrap_or_default()
}

fn values(requirement: &Value) -> impl Iterator<Item = &str> {
    let values = requirement["values"].as_array().into_iter().flatten();
    values.map(|value| value.as_str().unwrap_or_default())
}

//! The error collector that the validation of all kinds shares, with the simplest rules.

use super::names;
use crate::field::FieldError;
use crate::meta::{array, text};
use crate::types::ExplicitEmptyFields;
use serde_json::Value;

const LABEL_OPERATORS: &[&str] = &["In", "NotIn", "Exists", "DoesNotExist"];

/// Collects the errors of an object. The `path` that a method takes is that of the value, unless it takes a holder and names.
#[derive(Default)]
pub(super) struct Check {
    pub(super) errors: Vec<FieldError>,
    pub(super) explicit_empty: ExplicitEmptyFields,
}

/// Returns the path of a field below a path, which is empty at the top level.
pub(super) fn child(path: &str, name: &str) -> String {
    if path.is_empty() {
        return name.to_owned();
    }
    format!("{path}.{name}")
}

/// Returns the items of a list with their paths.
pub(super) fn items<'a>(
    holder: &'a Value,
    name: &str,
    path: &str,
) -> impl Iterator<Item = (&'a Value, String)> + use<'a> {
    let path = child(path, name);
    array(&holder[name])
        .iter()
        .enumerate()
        .map(move |(index, item)| (item, format!("{path}[{index}]")))
}

/// Returns the fields of an object; none if the value is not an object.
pub(super) fn fields(value: &Value) -> impl Iterator<Item = (&String, &Value)> {
    value.as_object().into_iter().flatten()
}

/// Lists the paths of the fields that differ: `(changed: spec.hostname, spec.containers[0].name)`.
pub(super) fn changed_fields(old: &Value, new: &Value, path: &str) -> String {
    fn collect(old: &Value, new: &Value, path: &str, changed: &mut Vec<String>) {
        match (old, new) {
            _ if old == new => {}
            (Value::Object(before), Value::Object(after)) => {
                let removed = before.keys().filter(|name| !after.contains_key(*name));
                for name in after.keys().chain(removed) {
                    collect(&old[name], &new[name], &child(path, name), changed);
                }
            }
            (Value::Array(before), Value::Array(after)) if before.len() == after.len() => {
                for (index, (old, new)) in before.iter().zip(after).enumerate() {
                    collect(old, new, &format!("{path}[{index}]"), changed);
                }
            }
            _ => changed.push(path.to_owned()),
        }
    }
    let mut changed = vec![];
    collect(old, new, path, &mut changed);
    format!("(changed: {})", changed.join(", "))
}

impl Check {
    pub(super) fn push(&mut self, error: FieldError) {
        self.errors.push(error);
    }

    pub(super) fn required(&mut self, path: &str, detail: impl Into<String>) {
        self.push(FieldError::required(path, detail));
    }

    pub(super) fn forbidden(&mut self, path: &str, detail: impl Into<String>) {
        self.push(FieldError::forbidden(path, detail));
    }

    pub(super) fn invalid(&mut self, path: &str, value: impl Into<Value>, detail: impl Into<String>) {
        self.push(FieldError::invalid(path, value, detail));
    }

    pub(super) fn too_long(&mut self, path: &str, max: usize) {
        self.push(FieldError::too_long(path, max as u64));
    }

    pub(super) fn too_many(&mut self, path: &str, count: usize, max: usize) {
        self.push(FieldError::too_many(path, count, max as u64));
    }

    pub(super) fn duplicate(&mut self, path: &str, value: impl Into<Value>) {
        self.push(FieldError::duplicate(path, value));
    }

    pub(super) fn not_found(&mut self, path: &str, value: impl Into<Value>) {
        self.push(FieldError::not_found(path, value));
    }

    pub(super) fn not_supported<S: AsRef<str>>(
        &mut self,
        path: &str,
        value: impl Into<Value>,
        known: impl IntoIterator<Item = S>,
    ) {
        self.push(FieldError::not_supported(path, value, known));
    }

    /// Reports an absent, null or empty value. Returns whether the value is present.
    pub(super) fn require(&mut self, value: &Value, path: &str) -> bool {
        self.require_with(value, path, "")
    }

    /// The same, with a detail.
    pub(super) fn require_with(&mut self, value: &Value, path: &str, detail: &str) -> bool {
        let missing = match value {
            Value::Null => true,
            Value::String(text) => text.is_empty(),
            Value::Array(items) => items.is_empty(),
            _ => false,
        };
        if missing {
            self.required(path, detail);
        }
        !missing
    }

    /// Limits the length of a text in bytes.
    pub(super) fn limit_bytes(&mut self, text: &str, max: usize, path: &str) {
        if text.len() > max {
            self.too_long(path, max);
        }
    }

    /// Limits the number of items. Returns whether there are not too many.
    pub(super) fn limit_items(&mut self, list: &Value, max: usize, path: &str) -> bool {
        let count = array(list).len();
        if count > max {
            self.too_many(path, count, max);
        }
        count <= max
    }

    pub(super) fn require_non_negative(&mut self, holder: &Value, names: &[&str], path: &str) {
        for name in names {
            if let Some(number) = holder[*name].as_i64().filter(|number| *number < 0) {
                self.invalid(&child(path, name), number, "must be greater than or equal to 0");
            }
        }
    }

    /// Requires the field, if present, to have one of the values.
    pub(super) fn require_supported(&mut self, holder: &Value, name: &str, path: &str, allowed: &[&str]) {
        self.require_supported_at(holder, name, &child(path, name), allowed);
    }

    /// The same, with the path of the field itself.
    pub(super) fn require_supported_at(&mut self, holder: &Value, name: &str, path: &str, allowed: &[&str]) {
        if let Some(value) = holder[name].as_str().filter(|value| !allowed.contains(value)) {
            self.not_supported(path, value, allowed);
        }
    }

    pub(super) fn validate_port(&mut self, value: &Value, path: &str) {
        if let Some(number) = value.as_i64().filter(|number| !(1..=65535).contains(number)) {
            self.invalid(path, number, "must be between 1 and 65535, inclusive");
        }
    }

    /// Validates a port number or name.
    pub(super) fn validate_port_or_name(&mut self, value: &Value, path: &str) {
        self.validate_port(value, path);
        if let Some(name) = value.as_str() {
            self.validate_format(path, name, names::port_name_errors);
        }
    }

    /// Requires a text to have a format.
    pub(super) fn validate_format(&mut self, path: &str, text: &str, format: fn(&str) -> Vec<&'static str>) {
        self.push_messages(path, text, &format(text));
    }

    pub(super) fn push_messages(&mut self, path: &str, value: &str, messages: &[&str]) {
        for message in messages {
            self.invalid(path, value, *message);
        }
    }

    pub(super) fn validate_label_selector(&mut self, selector: &Value, path: &str) {
        self.validate_labels(&selector["matchLabels"], &format!("{path}.matchLabels"));
        for (requirement, path) in items(selector, "matchExpressions", path) {
            self.validate_label_requirement(requirement, LABEL_OPERATORS, true, &path);
        }
    }

    /// Validates a requirement on a label, which has one of these operators; label values only if `with_values`.
    pub(super) fn validate_label_requirement(
        &mut self,
        requirement: &Value,
        operators: &[&str],
        with_values: bool,
        path: &str,
    ) {
        let count = array(&requirement["values"]).len();
        let field = format!("{path}.values");
        match text(requirement, "operator") {
            operator if !operators.contains(&operator) => {
                let detail = "not a valid selector operator";
                self.invalid(&format!("{path}.operator"), operator, detail);
            }
            "In" | "NotIn" if count == 0 => {
                self.required(&field, "must be specified when `operator` is 'In' or 'NotIn'");
            }
            "Exists" | "DoesNotExist" if count > 0 => {
                let detail = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'";
                self.forbidden(&field, detail);
            }
            "Gt" | "Lt" if count != 1 => {
                let detail = "must be specified single value when `operator` is 'Lt' or 'Gt'";
                self.required(&field, detail);
            }
            _ => {}
        }
        let key = text(requirement, "key");
        self.validate_format(&format!("{path}.key"), key, names::qualified_name_errors);
        for (value, path) in items(requirement, "values", path).filter(|_| with_values) {
            let value = value.as_str().unwrap_or_default();
            self.validate_format(&path, value, names::label_value_errors);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::changed_fields;
    use serde_json::json;

    #[test]
    fn changes_are_listed_by_path() {
        let old = json!({ "a": 1, "list": [{ "b": 1, "c": 1 }, 2], "removed": {}, "other": [1] });
        let new = json!({ "a": 2, "list": [{ "b": 3, "c": 1 }, 2], "added": 1, "other": [1, 2] });
        assert_eq!(
            changed_fields(&old, &new, "spec"),
            "(changed: spec.a, spec.added, spec.list[0].b, spec.other, spec.removed)"
        );
    }
}

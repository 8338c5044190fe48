//! What the checks of all kinds share: the faults so far, and the simplest rules.

use super::names;
use crate::field::FieldError;
use crate::meta::text;
use crate::types::{self, Empties};
use serde_json::Value;

/// The faults so far, and the checks that many kinds share. A path is that of the value.
#[derive(Default)]
pub(super) struct Check {
    pub(super) errors: Vec<FieldError>,
    pub(super) empties: Empties,
}

/// The path of a field of what lies at a path; at the top that is empty.
fn child(path: &str, name: &str) -> String {
    if path.is_empty() {
        return name.to_owned();
    }
    format!("{path}.{name}")
}

/// The items of a list, with their paths.
pub(super) fn items<'a>(
    holder: &'a Value,
    name: &str,
    path: &str,
) -> impl Iterator<Item = (&'a Value, String)> + use<'a> {
    let path = child(path, name);
    holder[name]
        .as_array()
        .into_iter()
        .flatten()
        .enumerate()
        .map(move |(index, item)| (item, format!("{path}[{index}]")))
}

/// The fields of an object; none when it is not one.
pub(super) fn fields(value: &Value) -> impl Iterator<Item = (&String, &Value)> {
    value.as_object().into_iter().flatten()
}

impl Check {
    pub(super) fn push(&mut self, error: FieldError) {
        self.errors.push(error);
    }

    /// A field's value as the real server's own type, such as `core.PodSpec`.
    pub(super) fn shown(&self, value: &Value, path: &str, ty: &str) -> String {
        types::internal(&self.empties.restored(value, path), ty)
    }

    /// The value is there: not absent, null or empty.
    pub(super) fn required(&mut self, value: &Value, path: &str) -> bool {
        let missing = match value {
            Value::Null => true,
            Value::String(text) => text.is_empty(),
            Value::Array(items) => items.is_empty(),
            _ => false,
        };
        if missing {
            self.push(FieldError::required(path, ""));
        }
        !missing
    }

    /// Bytes of a text.
    pub(super) fn no_longer(&mut self, text: &str, most: usize, path: &str) {
        if text.len() > most {
            self.push(FieldError::too_long(path, most as u64));
        }
    }

    pub(super) fn at_most(&mut self, list: &Value, most: usize, path: &str) {
        let count = list.as_array().map_or(0, Vec::len);
        if count > most {
            self.push(FieldError::too_many(path, count, most as u64));
        }
    }

    pub(super) fn not_negative(&mut self, holder: &Value, names: &[&str], path: &str) {
        for name in names {
            if let Some(number) = holder[*name].as_i64().filter(|number| *number < 0) {
                self.push(FieldError::invalid(
                    &child(path, name),
                    number,
                    "must be greater than or equal to 0",
                ));
            }
        }
    }

    /// The field, if it is there, has one of the values.
    pub(super) fn one_of(&mut self, holder: &Value, name: &str, path: &str, allowed: &[&str]) {
        if let Some(value) = holder[name].as_str().filter(|value| !allowed.contains(value)) {
            self.push(FieldError::not_supported(
                &format!("{path}.{name}"),
                value,
                allowed,
            ));
        }
    }

    /// The same for a field that lies at the top.
    pub(super) fn one_of_at(&mut self, holder: &Value, name: &str, path: &str, allowed: &[&str]) {
        if let Some(value) = holder[name].as_str().filter(|value| !allowed.contains(value)) {
            self.push(FieldError::not_supported(path, value, allowed));
        }
    }

    pub(super) fn port(&mut self, value: &Value, path: &str) {
        if let Some(number) = value.as_i64().filter(|number| !(1..=65535).contains(number)) {
            self.push(FieldError::invalid(
                path,
                number,
                "must be between 1 and 65535, inclusive",
            ));
        }
    }

    /// A port by number or name.
    pub(super) fn port_or_name(&mut self, value: &Value, path: &str) {
        self.port(value, path);
        if let Some(name) = value.as_str() {
            self.messages(path, name, &names::port_name(name));
        }
    }

    pub(super) fn messages(&mut self, path: &str, value: &str, messages: &[&str]) {
        for message in messages {
            self.push(FieldError::invalid(path, value, *message));
        }
    }

    pub(super) fn selector(&mut self, selector: &Value, path: &str) {
        self.labels(&selector["matchLabels"], &format!("{path}.matchLabels"));
        for (requirement, path) in items(selector, "matchExpressions", path) {
            let values = requirement["values"]
                .as_array()
                .is_some_and(|values| !values.is_empty());
            match text(requirement, "operator") {
                "In" | "NotIn" if !values => {
                    let detail = "must be specified when `operator` is 'In' or 'NotIn'";
                    self.push(FieldError::required(&format!("{path}.values"), detail));
                }
                "Exists" | "DoesNotExist" if values => {
                    let detail = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'";
                    self.push(FieldError::forbidden(&format!("{path}.values"), detail));
                }
                "In" | "NotIn" | "Exists" | "DoesNotExist" => {}
                other => self.push(FieldError::invalid(
                    &format!("{path}.operator"),
                    other,
                    "not a valid selector operator",
                )),
            }
            let key = text(requirement, "key");
            self.messages(&format!("{path}.key"), key, &names::qualified(key));
            for (value, path) in items(requirement, "values", &path) {
                let value = value.as_str().unwrap_or_default();
                self.messages(&path, value, &names::label_value(value));
            }
        }
    }
}

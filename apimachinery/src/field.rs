//! Field validation errors with the messages of kube-apiserver (`field.Error` in Go).

use crate::{go_format, quote};
use serde_json::Value;
use std::fmt;

/// A validation error of one field.
#[derive(Debug, Clone, PartialEq)]
pub struct FieldError {
    /// The type of the error.
    pub kind: FieldErrorKind,
    /// The field path, such as `spec.containers[0].name`; `<nil>` for the whole object.
    pub field: String,
    /// The JSON of the invalid value, if the message shows it.
    pub value: Option<String>,
    /// The explanation; may be empty.
    pub detail: String,
}

/// The types of validation errors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FieldErrorKind {
    /// A required value is missing.
    Required,
    /// The value is invalid.
    Invalid,
    /// The value has the wrong type.
    TypeInvalid,
    /// The value is not one of the supported ones.
    NotSupported,
    /// The value must not be set.
    Forbidden,
    /// The value is too long.
    TooLong,
    /// The list has too many items.
    TooMany,
    /// The value is a duplicate.
    Duplicate,
    /// The referenced object does not exist.
    NotFound,
    /// Validation failed internally.
    Internal,
}

impl FieldErrorKind {
    /// Returns the reason of the cause in a Status.
    pub fn reason(self) -> &'static str {
        match self {
            Self::Required => "FieldValueRequired",
            Self::Invalid => "FieldValueInvalid",
            Self::TypeInvalid => "FieldValueTypeInvalid",
            Self::NotSupported => "FieldValueNotSupported",
            Self::Forbidden => "FieldValueForbidden",
            Self::TooLong => "FieldValueTooLong",
            Self::TooMany => "FieldValueTooMany",
            Self::Duplicate => "FieldValueDuplicate",
            Self::NotFound => "FieldValueNotFound",
            Self::Internal => "InternalError",
        }
    }

    fn message_prefix(self) -> &'static str {
        match self {
            Self::Required => "Required value",
            Self::Invalid | Self::TypeInvalid => "Invalid value",
            Self::NotSupported => "Unsupported value",
            Self::Forbidden => "Forbidden",
            Self::TooLong => "Too long",
            Self::TooMany => "Too many",
            Self::Duplicate => "Duplicate value",
            Self::NotFound => "Not found",
            Self::Internal => "Internal error",
        }
    }
}

/// Formats a value as Go's JSON; strings as `%q`, numbers as `%v`.
fn format_value(value: &Value) -> String {
    match value {
        Value::String(text) => quote::quoted(text),
        Value::Number(_) => go_format::show(value),
        _ => quote::json(value),
    }
}

impl FieldError {
    fn new(kind: FieldErrorKind, field: &str, value: Option<String>, detail: impl Into<String>) -> Self {
        let field = if field.is_empty() { "<nil>" } else { field };
        Self {
            kind,
            field: field.to_owned(),
            value,
            detail: detail.into(),
        }
    }

    /// A required value is missing.
    pub fn required(field: &str, detail: impl Into<String>) -> Self {
        Self::new(FieldErrorKind::Required, field, None, detail)
    }

    /// The value is invalid.
    pub fn invalid(field: &str, value: impl Into<Value>, detail: impl Into<String>) -> Self {
        Self::new(
            FieldErrorKind::Invalid,
            field,
            Some(format_value(&value.into())),
            detail,
        )
    }

    /// The value has the wrong type.
    pub fn type_invalid(field: &str, value: impl Into<Value>, detail: impl Into<String>) -> Self {
        Self::new(
            FieldErrorKind::TypeInvalid,
            field,
            Some(value.into().to_string()),
            detail,
        )
    }

    /// The value is not one of the supported ones.
    pub fn not_supported<S: AsRef<str>>(
        field: &str,
        value: impl Into<Value>,
        supported: impl IntoIterator<Item = S>,
    ) -> Self {
        let supported: Vec<String> = supported
            .into_iter()
            .map(|value| format!("{:?}", value.as_ref()))
            .collect();
        let detail = if supported.is_empty() {
            String::new()
        } else {
            format!("supported values: {}", supported.join(", "))
        };
        Self::new(
            FieldErrorKind::NotSupported,
            field,
            Some(value.into().to_string()),
            detail,
        )
    }

    /// The value must not be set.
    pub fn forbidden(field: &str, detail: impl Into<String>) -> Self {
        Self::new(FieldErrorKind::Forbidden, field, None, detail)
    }

    /// The value has more than `max` bytes.
    pub fn too_long(field: &str, max: u64) -> Self {
        let bytes = if max == 1 { "byte" } else { "bytes" };
        Self::new(
            FieldErrorKind::TooLong,
            field,
            None,
            format!("may not be more than {max} {bytes}"),
        )
    }

    /// The value has more than `max` items.
    pub fn too_many(field: &str, actual: usize, max: u64) -> Self {
        let items = if max == 1 { "item" } else { "items" };
        Self::new(
            FieldErrorKind::TooMany,
            field,
            Some(actual.to_string()),
            format!("must have at most {max} {items}"),
        )
    }

    /// The value is a duplicate.
    pub fn duplicate(field: &str, value: impl Into<Value>) -> Self {
        let value = value.into();
        let shown = match &value {
            Value::Array(_) | Value::Object(_) => crate::quote::json(&value),
            plain => plain.to_string(),
        };
        Self::new(FieldErrorKind::Duplicate, field, Some(shown), "")
    }

    /// Validation failed internally.
    pub fn internal(field: &str, detail: impl Into<String>) -> Self {
        Self::new(FieldErrorKind::Internal, field, None, detail)
    }

    /// The referenced object does not exist.
    pub fn not_found(field: &str, value: impl Into<Value>) -> Self {
        Self::new(
            FieldErrorKind::NotFound,
            field,
            Some(value.into().to_string()),
            "",
        )
    }

    /// Removes the shown value, where kube-apiserver shows none.
    #[must_use]
    pub fn without_value(mut self) -> Self {
        self.value = None;
        self
    }

    /// Returns the message without the field, as in a cause.
    pub fn body(&self) -> String {
        let mut text = self.kind.message_prefix().to_owned();
        let shows = !matches!(
            self.kind,
            FieldErrorKind::Required | FieldErrorKind::Forbidden | FieldErrorKind::TooLong
        );
        if let Some(value) = self.value.as_ref().filter(|_| shows) {
            text.push_str(": ");
            text.push_str(value);
        }
        if !self.detail.is_empty() {
            text.push_str(": ");
            text.push_str(&self.detail);
        }
        text
    }
}

impl fmt::Display for FieldError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}", self.field, self.body())
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Removes what a message shows as an object or as changes of one: kube-apiserver shows its Go structs. The tables have no diffs.
    pub(crate) fn without_shown_object(text: &str) -> String {
        let text = text.split(" (changed: ").next().unwrap_or_default();
        let Some((kind, shown)) = text.split_once(" value: ") else {
            return text.to_owned();
        };
        let mut values = serde_json::Deserializer::from_str(shown).into_iter::<Value>();
        let shows_object = match values.next() {
            Some(Ok(Value::Array(items))) => !items.iter().all(Value::is_string) || items.is_empty(),
            Some(Ok(value)) => value.is_object() || value.is_null(),
            _ => false,
        };
        if shows_object {
            return format!("{kind} value{}", &shown[values.byte_offset()..]);
        }
        text.to_owned()
    }
}

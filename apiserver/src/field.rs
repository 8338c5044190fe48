//! What is wrong with a field, in the words of the real server.

use crate::quote;
use serde_json::{Map, Value};
use std::fmt;

/// A fault of one field.
#[derive(Debug, Clone, PartialEq)]
pub struct FieldError {
    /// What kind of fault.
    pub kind: FieldErrorKind,
    /// The field, such as `spec.containers[0].name`; `<nil>` for the object.
    pub field: String,
    /// The value that is wrong as it is shown, where it is: JSON.
    pub value: Option<String>,
    /// What is wrong with it; may be empty.
    pub detail: String,
}

/// The kinds of faults; each has a reason and words of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FieldErrorKind {
    /// It is missing.
    Required,
    /// It is not valid.
    Invalid,
    /// It is of another type.
    TypeInvalid,
    /// It is none of some values.
    NotSupported,
    /// It may not be set.
    Forbidden,
    /// It is too long.
    TooLong,
    /// It has too many items.
    TooMany,
    /// It stands twice.
    Duplicate,
    /// What it names is not there.
    NotFound,
    /// It could not be looked at.
    Internal,
}

impl FieldErrorKind {
    /// The reason of the cause in a status.
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

    fn words(self) -> &'static str {
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

/// A value as Go writes JSON; texts as it quotes them. Of types, whose fields have an order, only selectors are shown so.
fn shown(value: &Value) -> String {
    if let (Some(labels), Some(expressions)) = (value.get("matchLabels"), value.get("matchExpressions")) {
        let (labels, expressions) = (quote::json(labels), quote::json(expressions));
        return format!("{{\"matchLabels\":{labels},\"matchExpressions\":{expressions}}}");
    }
    value.as_str().map_or_else(|| quote::json(value), quote::quoted)
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

    /// A field that is missing.
    pub fn required(field: &str, detail: impl Into<String>) -> Self {
        Self::new(FieldErrorKind::Required, field, None, detail)
    }

    /// A value that is not valid.
    pub fn invalid(field: &str, value: impl Into<Value>, detail: impl Into<String>) -> Self {
        Self::new(FieldErrorKind::Invalid, field, Some(shown(&value.into())), detail)
    }

    /// A value of another type.
    pub fn type_invalid(field: &str, value: impl Into<Value>, detail: impl Into<String>) -> Self {
        Self::new(
            FieldErrorKind::TypeInvalid,
            field,
            Some(value.into().to_string()),
            detail,
        )
    }

    /// A value that is none of those supported.
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

    /// A field that may not be set.
    pub fn forbidden(field: &str, detail: impl Into<String>) -> Self {
        Self::new(FieldErrorKind::Forbidden, field, None, detail)
    }

    /// A value of more bytes than this.
    pub fn too_long(field: &str, max: u64) -> Self {
        Self::new(
            FieldErrorKind::TooLong,
            field,
            None,
            format!("may not be more than {max} bytes"),
        )
    }

    /// A value of more items than this.
    pub fn too_many(field: &str, actual: usize, max: u64) -> Self {
        let items = if max == 1 { "item" } else { "items" };
        Self::new(
            FieldErrorKind::TooMany,
            field,
            Some(actual.to_string()),
            format!("must have at most {max} {items}"),
        )
    }

    /// A value that stands twice.
    pub fn duplicate(field: &str, value: impl Into<Value>) -> Self {
        Self::new(
            FieldErrorKind::Duplicate,
            field,
            Some(value.into().to_string()),
            "",
        )
    }

    /// A value that could not be looked at.
    pub fn internal(field: &str, detail: impl Into<String>) -> Self {
        Self::new(FieldErrorKind::Internal, field, None, detail)
    }

    /// A value that names nothing.
    pub fn not_found(field: &str, value: impl Into<Value>) -> Self {
        Self::new(
            FieldErrorKind::NotFound,
            field,
            Some(value.into().to_string()),
            "",
        )
    }

    /// With another text for the value, where the real server shows something else.
    #[must_use]
    pub fn showing(mut self, value: String) -> Self {
        self.value = Some(value);
        self
    }

    /// Without the value, where the real server does not show it.
    #[must_use]
    pub fn without_value(mut self) -> Self {
        self.value = None;
        self
    }

    /// The message without the field: that of the cause.
    pub fn body(&self) -> String {
        let mut text = self.kind.words().to_owned();
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

    /// The cause in the details of a status.
    pub fn cause(&self) -> Value {
        let mut cause = Map::new();
        cause.insert("reason".to_owned(), self.kind.reason().into());
        cause.insert("message".to_owned(), self.body().into());
        cause.insert("field".to_owned(), self.field.clone().into());
        Value::Object(cause)
    }
}

impl fmt::Display for FieldError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}", self.field, self.body())
    }
}

/// The message of a status 422: `Deployment.apps "a" is invalid: …`, each fault once. `kind` is with its group, as in `Deployment.apps`.
pub fn invalid_message(kind: &str, name: &str, errors: &[FieldError]) -> String {
    let mut texts: Vec<String> = Vec::new();
    for error in errors {
        let text = error.to_string();
        if !texts.contains(&text) {
            texts.push(text);
        }
    }
    let list = match &texts[..] {
        [one] => one.clone(),
        many => format!("[{}]", many.join(", ")),
    };
    format!("{kind} {name:?} is invalid: {list}")
}

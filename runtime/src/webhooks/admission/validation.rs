//! [`Validation`]: the errors of fields, and warnings.

use std::collections::BTreeSet;

use kube::core::response::StatusCause;
use serde::Serialize;

/// The result of a [`Validator`](super::Validator): errors of fields, which deny the write, and warnings, which do not.
///
/// The methods that add an error are those of Kubernetes' package `field`, with the same messages, so that a denial reads like the API
/// server's own: `Foo.demo.dev "x" is invalid: spec.size: Invalid value: 0: must be at least 1`. Paths are as in those messages:
/// `spec.rules[0].host`, `metadata.labels[app]`. Values are quoted in the message: use [`forbidden`](Self::forbidden) or
/// [`required`](Self::required) for a field with sensitive data.
#[derive(Clone, Debug, Default, PartialEq)]
#[must_use]
pub struct Validation {
    causes: Vec<StatusCause>,
    warnings: Vec<String>,
}

impl Validation {
    /// Returns a validation without errors and warnings, which accepts.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds: the value is not valid. `detail` says what is, as in `must be at least 1`.
    pub fn invalid(&mut self, path: impl Into<String>, value: impl Serialize, detail: &str) {
        self.add(
            "FieldValueInvalid",
            path,
            with_value("Invalid value", value),
            detail,
        );
    }

    /// Adds: the field must have a value, and has none.
    pub fn required(&mut self, path: impl Into<String>, detail: &str) {
        self.add("FieldValueRequired", path, "Required value".to_owned(), detail);
    }

    /// Adds: the field cannot have a value, or the value cannot be set, in this case.
    pub fn forbidden(&mut self, path: impl Into<String>, detail: &str) {
        self.add("FieldValueForbidden", path, "Forbidden".to_owned(), detail);
    }

    /// Adds: the value is not one of the supported ones.
    pub fn not_supported(&mut self, path: impl Into<String>, value: impl Serialize, supported: &[&str]) {
        let quoted: Vec<String> = supported.iter().map(|value| format!("{value:?}")).collect();
        let detail = match &*quoted {
            [] => String::new(),
            quoted => format!("supported values: {}", quoted.join(", ")),
        };
        self.add(
            "FieldValueNotSupported",
            path,
            with_value("Unsupported value", value),
            &detail,
        );
    }

    /// Adds: the value occurs twice in a list that has each once.
    pub fn duplicate(&mut self, path: impl Into<String>, value: impl Serialize) {
        self.add(
            "FieldValueDuplicate",
            path,
            with_value("Duplicate value", value),
            "",
        );
    }

    /// Adds: the field names an object that does not exist.
    pub fn not_found(&mut self, path: impl Into<String>, value: impl Serialize) {
        self.add("FieldValueNotFound", path, with_value("Not found", value), "");
    }

    /// Adds: the text is longer than this.
    pub fn too_long(&mut self, path: impl Into<String>, max_bytes: usize) {
        let unit = if max_bytes == 1 { "byte" } else { "bytes" };
        let detail = format!("may not be more than {max_bytes} {unit}");
        self.add("FieldValueTooLong", path, "Too long".to_owned(), &detail);
    }

    /// Adds: the list has more items than this.
    pub fn too_many(&mut self, path: impl Into<String>, count: usize, max: usize) {
        let unit = if max == 1 { "item" } else { "items" };
        let detail = format!("must have at most {max} {unit}");
        self.add("FieldValueTooMany", path, format!("Too many: {count}"), &detail);
    }

    /// Adds a warning, which kubectl shows. The API server cuts it off after 256 characters.
    pub fn warn(&mut self, warning: impl Into<String>) {
        self.warnings.push(warning.into());
    }

    /// Adds the errors and warnings of another validation.
    pub fn extend(&mut self, other: Self) {
        self.causes.extend(other.causes);
        self.warnings.extend(other.warnings);
    }

    /// Returns the errors: path, reason such as `FieldValueInvalid`, and message.
    pub fn causes(&self) -> &[StatusCause] {
        &self.causes
    }

    /// Returns the warnings.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// The errors in one line, equal ones once, as Kubernetes aggregates errors.
    pub(super) fn message(&self) -> String {
        let mut seen = BTreeSet::new();
        let texts = self
            .causes
            .iter()
            .map(|cause| format!("{}: {}", cause.field, cause.message));
        let texts: Vec<String> = texts.filter(|text| seen.insert(text.clone())).collect();
        match &*texts {
            [text] => text.clone(),
            texts => format!("[{}]", texts.join(", ")),
        }
    }

    fn add(&mut self, reason: &str, path: impl Into<String>, problem: String, detail: &str) {
        let message = match detail {
            "" => problem,
            detail => format!("{problem}: {detail}"),
        };
        self.causes.push(StatusCause {
            reason: reason.to_owned(),
            message,
            field: path.into(),
        });
    }
}

/// Texts are quoted, other values are JSON.
fn with_value(problem: &str, value: impl Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(text)) => format!("{problem}: {text:?}"),
        Ok(value) => format!("{problem}: {value}"),
        Err(_) => problem.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Facts from Kubernetes' package `field`: its type, value and detail, and what its Error() returns.
    #[test]
    fn messages_are_those_of_kubernetes() {
        let mut validation = Validation::new();
        validation.invalid("spec.size", 0, "must be at least 1");
        validation.invalid("spec.name", "a\"b", "");
        validation.invalid("spec.ratio", 0.5, "must be a whole number");
        validation.invalid("spec.range", json!({"from": 2, "to": 1}), "is empty");
        validation.required("spec.rules[0].host", "");
        validation.forbidden("spec.size", "field is immutable");
        validation.not_supported("spec.mode", "fast", &["slow", "careful"]);
        validation.duplicate("spec.ports[1]", 80);
        validation.not_found("spec.class", "gold");
        validation.too_long("spec.name", 63);
        validation.too_long("spec.name", 1);
        validation.too_many("spec.rules", 3, 2);
        let texts = validation.causes().iter().map(|cause| {
            let short = cause.reason.trim_start_matches("FieldValue");
            format!("{short} {}: {}", cause.field, cause.message)
        });
        let expected = [
            "Invalid spec.size: Invalid value: 0: must be at least 1",
            r#"Invalid spec.name: Invalid value: "a\"b""#,
            "Invalid spec.ratio: Invalid value: 0.5: must be a whole number",
            r#"Invalid spec.range: Invalid value: {"from":2,"to":1}: is empty"#,
            "Required spec.rules[0].host: Required value",
            "Forbidden spec.size: Forbidden: field is immutable",
            r#"NotSupported spec.mode: Unsupported value: "fast": supported values: "slow", "careful""#,
            "Duplicate spec.ports[1]: Duplicate value: 80",
            r#"NotFound spec.class: Not found: "gold""#,
            "TooLong spec.name: Too long: may not be more than 63 bytes",
            "TooLong spec.name: Too long: may not be more than 1 byte",
            "TooMany spec.rules: Too many: 3: must have at most 2 items",
        ];
        assert_eq!(texts.collect::<Vec<_>>(), expected);
    }

    #[test]
    fn several_errors_are_one_message_and_equal_ones_are_printed_once() {
        let mut validation = Validation::new();
        validation.required("spec.a", "");
        assert_eq!(validation.message(), "spec.a: Required value");
        let mut other = Validation::new();
        other.required("spec.b", "");
        other.required("spec.a", "");
        other.warn("old");
        validation.extend(other);
        assert_eq!(
            validation.message(),
            "[spec.a: Required value, spec.b: Required value]"
        );
        assert_eq!(
            (validation.causes().len(), validation.warnings()),
            (3, &["old".to_owned()][..])
        );
    }
}

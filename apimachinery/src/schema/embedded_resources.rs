//! Embedded resources: they must have `apiVersion`, `kind` and valid metadata.

use crate::builtin;
use crate::field::FieldError;
use crate::meta::names;
use serde_json::Value;

/// Validates the embedded resources of a value.
pub(super) fn check(value: &Value, schema: &Value, path: &str, errors: &mut Vec<FieldError>) {
    match value {
        Value::Object(fields) => {
            if schema["x-kubernetes-embedded-resource"] == true {
                check_object(fields, path, errors);
            }
            for (name, value) in fields {
                let below = if path.is_empty() {
                    name.clone()
                } else {
                    format!("{path}.{name}")
                };
                if let Some(schema) = schema["properties"].get(name) {
                    check(value, schema, &below, errors);
                } else if schema["additionalProperties"].is_object() {
                    check(
                        value,
                        &schema["additionalProperties"],
                        &format!("{path}[{name}]"),
                        errors,
                    );
                }
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                check(item, &schema["items"], &format!("{path}[{index}]"), errors);
            }
        }
        _ => {}
    }
}

fn check_object(fields: &serde_json::Map<String, Value>, path: &str, errors: &mut Vec<FieldError>) {
    if let Some(metadata) = fields.get("metadata") {
        let field = if path.is_empty() {
            "metadata".to_owned()
        } else {
            format!("{path}.metadata")
        };
        for (key, check) in [
            // A prefix may be a dot.
            (
                "generateName",
                (|text| names::path_segment_errors(&format!("{text}-"))) as fn(&str) -> Vec<&'static str>,
            ),
            ("name", names::path_segment_errors),
            ("namespace", names::label_errors),
        ] {
            let Some(text) = metadata[key].as_str().filter(|text| !text.is_empty()) else {
                continue;
            };
            let invalid = |why| FieldError::invalid(&format!("{field}.{key}"), text, why);
            errors.extend(check(text).into_iter().map(invalid));
        }
        errors.extend(builtin::validate_metadata(metadata, &field));
    }
    for name in ["apiVersion", "kind"] {
        let field = if path.is_empty() {
            name.to_owned()
        } else {
            format!("{path}.{name}")
        };
        let text = match fields.get(name) {
            None => {
                errors.push(FieldError::required(&field, ""));
                continue;
            }
            Some(Value::String(text)) => text,
            Some(other) => {
                errors.push(FieldError::invalid(&field, other.clone(), "must be a string"));
                continue;
            }
        };
        if text.is_empty() {
            errors.push(FieldError::invalid(&field, "", "must not be empty"));
        } else if name == "apiVersion" && text.matches('/').count() > 1 {
            errors.push(FieldError::invalid(
                &field,
                text.as_str(),
                format!("unexpected GroupVersion string: {text}"),
            ));
        } else if name == "kind" && !is_kind(text) {
            let detail = "may have mixed case, but should otherwise match: a DNS-1035 label must consist of lower case alphanumeric characters or \
                          '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex \
                          used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')";
            errors.push(FieldError::invalid(&field, text.as_str(), detail));
        }
    }
}

fn is_kind(text: &str) -> bool {
    text.len() <= 63
        && text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.ends_with(|c: char| c.is_ascii_alphanumeric())
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}

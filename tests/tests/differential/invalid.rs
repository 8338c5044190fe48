//! Normalizes validation errors. The real server reports some causes twice, shows the fields of its Go structs as values and appends a
//! diff of them; the embedded server reports each cause once, shows JSON and lists the paths of changed fields. Field, reason and text
//! of every cause are compared.

use regex::Regex;
use serde_json::{Map, Value, json};
use std::sync::LazyLock;

/// The text that replaces server-specific values.
pub(crate) const PLACEHOLDER: &str = "~";

/// The start of a message that shows a value.
static SHOWN_VALUE: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"^(?:Invalid|Unsupported|Duplicate) value: ").unwrap());
/// What changed, at the end of a message: the real server's diff, or the embedded server's list of fields.
static CHANGES: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"(?s)(?:\n@@ -\d.*| \(changed: [^()]+\))$").unwrap());

/// Normalizes the causes of a Status and its message, which repeats them. Other objects stay as they are.
pub(crate) fn normalize_status(status: &mut Map<String, Value>) {
    let Some(Value::Array(causes)) = status.get("details").map(|details| details["causes"].clone()) else {
        return;
    };
    let group = status["details"]["group"].as_str().unwrap_or_default();
    let is_builtin = !group.contains('.') || group.ends_with(".k8s.io");
    let mut normalized: Vec<Value> = vec![];
    for mut cause in causes.clone() {
        if let Some(message) = cause["message"].as_str() {
            cause["message"] = json!(normalize_message(message, is_builtin));
        }
        if !normalized.contains(&cause) {
            normalized.push(cause);
        }
    }
    let message = status.get("message").and_then(Value::as_str).unwrap_or_default();
    if let Some(head) = message.strip_suffix(&list(&causes)) {
        let message = format!("{head}{}", list(&normalized));
        status.insert("message".to_owned(), json!(message));
    }
    status["details"]["causes"] = json!(normalized);
}

/// Lists the causes as the message of a Status does.
fn list(causes: &[Value]) -> String {
    let mut texts: Vec<String> = vec![];
    for cause in causes {
        let part = |name: &str| cause[name].as_str().unwrap_or_default().to_owned();
        let text = format!("{}: {}", part("field"), part("message"));
        if !texts.contains(&text) {
            texts.push(text);
        }
    }
    match texts.as_slice() {
        [one] => one.clone(),
        many => format!("[{}]", many.join(", ")),
    }
}

/// Replaces the object that a cause of a built-in kind shows, and what it says about changes, by placeholders. In a cause of a custom
/// resource, only the order of the object's fields may differ.
fn normalize_message(message: &str, is_builtin: bool) -> String {
    let message = CHANGES.replace(message, " (changed: ~)");
    let Some(start) = SHOWN_VALUE.find(&message) else {
        return message.into_owned();
    };
    let (start, shown) = message.split_at(start.end());
    let mut values = serde_json::Deserializer::from_str(shown).into_iter::<Value>();
    match values.next() {
        Some(Ok(value)) if has_objects(&value) => {
            let end = &shown[values.byte_offset()..];
            let value = if is_builtin {
                PLACEHOLDER.to_owned()
            } else {
                value.to_string()
            };
            format!("{start}{value}{end}")
        }
        _ => message.into_owned(),
    }
}

/// Whether the servers may show this value differently: objects, and empty lists, which are null in Go.
fn has_objects(value: &Value) -> bool {
    match value {
        Value::Null | Value::Object(_) => true,
        Value::Array(items) => items.is_empty() || items.iter().any(has_objects),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(group: &str, causes: &[(&str, &str)]) -> Value {
        let causes: Vec<Value> = causes
            .iter()
            .map(|(field, message)| json!({ "field": field, "message": message, "reason": "FieldValueInvalid" }))
            .collect();
        let message = format!("X \"a\" is invalid: {}", list(&causes));
        json!({ "kind": "Status", "message": message, "details": { "group": group, "causes": causes } })
    }

    fn normalized(group: &str, causes: &[(&str, &str)]) -> Value {
        let mut status = status(group, causes);
        normalize_status(status.as_object_mut().unwrap());
        status
    }

    #[test]
    fn causes_are_compared_once_each_without_objects_and_diffs() {
        let real = normalized(
            "apps",
            &[
                (
                    "spec.a",
                    r#"Invalid value: {"Type":"X","RollingUpdate":null}: field is immutable"#,
                ),
                (
                    "spec.a",
                    r#"Invalid value: {"Type":"X","RollingUpdate":null}: field is immutable"#,
                ),
                (
                    "spec",
                    "Forbidden: only b\n@@ -1,2 +1,2 @@\n {\n-  \"A\": 1\n+  \"A\": 2\n",
                ),
                ("spec.c", "Duplicate value: {\"Name\":\"\"}"),
            ],
        );
        let embedded = normalized(
            "apps",
            &[
                ("spec.a", r#"Invalid value: {"type":"X"}: field is immutable"#),
                ("spec", "Forbidden: only b (changed: spec.a)"),
                ("spec.c", "Duplicate value: {\"port\":1}"),
            ],
        );
        assert_eq!(real, embedded);
        assert_eq!(
            real["message"],
            "X \"a\" is invalid: [spec.a: Invalid value: ~: field is immutable, spec: Forbidden: only b (changed: ~), \
             spec.c: Duplicate value: ~]"
        );
        assert_eq!(
            normalized("apps", &[("a", "x"), ("a", "x")])["message"],
            "X \"a\" is invalid: a: x"
        );
    }

    #[test]
    fn fields_texts_and_plain_values_stay() {
        let plain = &[
            ("spec.a", r#"Invalid value: "{\"A\":1}": field is immutable"#),
            ("spec.a", r#"Invalid value: ["b"]: field is immutable"#),
            ("spec.a", r#"Invalid value: "b": must not be {"A":1}"#),
            ("spec.a", "Invalid value: map[a:b]: field is immutable"),
            ("spec.b", "Forbidden: may not change (by anyone)"),
        ];
        assert_eq!(normalized("", plain), status("", plain));
        let [object, reordered] =
            [r#"{"a":1,"b":2}"#, r#"{"b":2,"a":1}"#].map(|object| format!("Duplicate value: {object}"));
        let custom = status("random.dev", &[("spec.a", &object)]);
        assert_eq!(normalized("random.dev", &[("spec.a", &object)]), custom);
        assert_eq!(normalized("random.dev", &[("spec.a", &reordered)]), custom);
        for (cause, other) in [
            (
                ("spec.a", "Invalid value: {}: x"),
                ("spec.b", "Invalid value: {}: x"),
            ),
            (
                ("spec.a", "Invalid value: {}: x"),
                ("spec.a", "Invalid value: {}: y"),
            ),
            (("spec.a", "Invalid value: {}"), ("spec.a", "Duplicate value: {}")),
            (
                ("spec.a", "Forbidden: x (changed: b)"),
                ("spec.a", "Forbidden: x"),
            ),
        ] {
            assert_ne!(normalized("", &[cause]), normalized("", &[other]));
            assert_ne!(normalized("", &[cause]), normalized("", &[cause, other]));
        }
    }
}

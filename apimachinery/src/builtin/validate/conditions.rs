//! Validation of `metav1.Condition`.

use super::{Check, items, names, text};
use crate::field::FieldError;
use serde_json::Value;
use std::collections::BTreeSet;

const MAX_REASON_BYTES: usize = 1024;
const MAX_MESSAGE_BYTES: usize = 32 * 1024;
const INVALID_REASON: &str = "a condition reason must start with alphabetic character, optionally followed by a string of alphanumeric \
                      characters or '_,:', and must end with an alphanumeric character or '_' (e.g. 'my_name',  or 'MY_NAME',  or \
                      'MyName',  or 'ReasonA,ReasonB',  or 'ReasonA:ReasonB', regex used for validation is \
                      '[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?')";

pub(super) fn validate_conditions(check: &mut Check, status: &Value) {
    let mut seen = BTreeSet::new();
    for (condition, path) in items(status, "conditions", "status") {
        let at = |name: &str| format!("{path}.{name}");
        let kind = text(condition, "type");
        if !seen.insert(kind) {
            check.push(FieldError::duplicate(&at("type"), kind));
        }
        check.push_messages(&at("type"), kind, &names::qualified_name_errors(kind));
        let state = text(condition, "status");
        let known = ["False", "True", "Unknown"];
        if !known.contains(&state) {
            check.push(FieldError::not_supported(&at("status"), state, known));
        }
        if let Some(generation) = condition["observedGeneration"].as_i64().filter(|it| *it < 0) {
            let detail = "must be greater than or equal to zero";
            check.push(FieldError::invalid(&at("observedGeneration"), generation, detail));
        }
        check.require(&condition["lastTransitionTime"], &at("lastTransitionTime"));
        let reason = text(condition, "reason");
        if check.require(&Value::from(reason), &at("reason")) {
            if !is_reason(reason) {
                check.push(FieldError::invalid(&at("reason"), reason, INVALID_REASON));
            }
            check.limit_bytes(reason, MAX_REASON_BYTES, &at("reason"));
        }
        check.limit_bytes(text(condition, "message"), MAX_MESSAGE_BYTES, &at("message"));
    }
}

fn is_reason(text: &str) -> bool {
    let word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    text.starts_with(|first: char| first.is_ascii_alphabetic())
        && text.bytes().all(|byte| word(byte) || matches!(byte, b',' | b':'))
        && text.bytes().last().is_some_and(word)
}

#[cfg(test)]
mod tests {
    use super::is_reason;

    #[test]
    fn reasons_match_the_regular_expression() {
        for (text, expected) in [
            ("A", true),
            ("a_b,C:9", true),
            ("9", false),
            ("a:", false),
            ("a b", false),
        ] {
            assert_eq!(is_reason(text), expected, "{text}");
        }
    }
}

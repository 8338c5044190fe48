//! Validation of `metav1.Condition`.

use super::{Check, Constraint, FieldRule, names};
use serde_json::Value;

const INVALID_REASON: &str = "a condition reason must start with alphabetic character, optionally followed by a string of alphanumeric \
                      characters or '_,:', and must end with an alphanumeric character or '_' (e.g. 'my_name',  or 'MY_NAME',  or \
                      'MyName',  or 'ReasonA,ReasonB',  or 'ReasonA:ReasonB', regex used for validation is \
                      '[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?')";

#[rustfmt::skip]
const CONDITIONS: &[FieldRule] = &[
    ("conditions[].type", Constraint::Unique),
    ("conditions[].type", Constraint::Text(names::qualified_name_errors)),
    ("conditions[].status", Constraint::Only(&["False", "True", "Unknown"])),
    ("conditions[].observedGeneration", Constraint::Within(0, i64::MAX, "must be greater than or equal to zero")),
    ("conditions[].lastTransitionTime", Constraint::Required("")),
    ("conditions[].reason", Constraint::Named(|reason| if is_reason(reason) { vec![] } else { vec![INVALID_REASON] })),
    ("conditions[].reason", Constraint::MaxBytes(1024)),
    ("conditions[].message", Constraint::MaxBytes(32 * 1024)),
];

/// Validates the conditions of a status at this path.
pub(super) fn validate_conditions(check: &mut Check, status: &Value, path: &str) {
    check.apply(CONDITIONS, status, None, path);
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

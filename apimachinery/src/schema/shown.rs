//! Errors that show a value of an object, with its floats as Go writes them: 3.0 is shown as 3.

use crate::field::FieldError;
use crate::types::floats_to_integers;
use serde_json::Value;

/// Returns the error with this value as the one that it shows.
pub(super) fn showing(error: FieldError, value: &Value) -> FieldError {
    let mut shown = value.clone();
    // A float that stands alone is shown with an exponent if it is large, one within a list or an object is not.
    if shown.is_array() || shown.is_object() {
        floats_to_integers(&mut shown);
    }
    let value = FieldError::invalid("", shown, "").value;
    FieldError { value, ..error }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn floats_are_shown_as_in_go() {
        for (value, expected) in [
            (json!(3.0), "3"),
            (json!(1e10), "1e+10"),
            (json!(123_456_789.5), "1.234567895e+08"),
            (json!([3.0, 1e10, 1.5]), "[3,10000000000,1.5]"),
            (json!("a"), "\"a\""),
            (json!(null), "null"),
        ] {
            let error = showing(FieldError::duplicate("f", Value::Null), &value);
            assert_eq!(error.body(), format!("Duplicate value: {expected}"));
        }
    }
}

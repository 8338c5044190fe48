//! The values that a schema enumerates.

use super::shown::showing;
use crate::field::FieldError;
use crate::quote;
use crate::types::float_to_integer;
use serde_json::{Number, Value};

/// Returns an error if a value is none of those that its schema enumerates.
pub(super) fn error(value: &Value, schema: &Value, path: &str) -> Option<FieldError> {
    let allowed = schema["enum"].as_array().filter(|allowed| !allowed.is_empty())?;
    if allowed.iter().any(|allowed| is_equal(value, allowed)) {
        return None;
    }
    let names = allowed.iter().map(|allowed| {
        allowed
            .as_str()
            .map_or_else(|| quote::json(allowed), str::to_owned)
    });
    let error = FieldError::not_supported(path, Value::Null, names);
    Some(showing(error, value))
}

/// Whether a value equals an enumerated one after its conversion to that one's type, which Go allows for numbers: a float loses its fraction
/// if it is converted to an integer, and an integer becomes a character if it is converted to a text.
fn is_equal(value: &Value, allowed: &Value) -> bool {
    match (value, allowed) {
        (Value::Null, _) => false,
        (Value::Number(number), Value::Number(allowed)) => match allowed.as_i64() {
            Some(allowed) => truncated(number) == allowed,
            None => number.as_f64() == allowed.as_f64(),
        },
        (Value::Number(number), Value::String(text)) => {
            number.as_i64().is_some_and(|code| is_character(code, text))
        }
        _ => value == allowed,
    }
}

fn truncated(number: &Number) -> i64 {
    number
        .as_i64()
        .unwrap_or_else(|| float_to_integer(number.as_f64().unwrap_or_default()))
}

/// Whether a text consists of the character with this code.
fn is_character(code: i64, text: &str) -> bool {
    let character = u32::try_from(code).ok().and_then(char::from_u32);
    text.chars()
        .eq([character.unwrap_or(char::REPLACEMENT_CHARACTER)])
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn values_are_converted_to_the_type_of_enumerated_ones() {
        for (value, allowed, expected) in [
            (json!(1.5), json!(1), true),
            (json!(1), json!(1.5), false),
            (json!(2), json!(2.0), true),
            (json!(97), json!("a"), true),
            (json!(97.0), json!("a"), false),
            (json!(-1), json!("\u{fffd}"), true),
            (json!("a"), json!(97), false),
            (json!([1]), json!([1]), true),
            (json!([1.0]), json!([1]), false),
            (json!(null), json!(null), false),
            (json!(true), json!(1), false),
        ] {
            assert_eq!(is_equal(&value, &allowed), expected, "{value} {allowed}");
        }
    }
}

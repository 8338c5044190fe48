//! Conversion of values that are not decoded from text: the result of a strategic merge patch. kube-apiserver converts such a result with its
//! unstructured converter, which has other error messages than the JSON decoder and accepts a few more values.

use super::decode_messages::{EmulatedComponent, ValueLocation};
use super::{Scalar, Type, conversion_error};
use serde_json::Value;

/// Converts a value to the type; returns the first error otherwise. Floats without a fraction become integers, and integers that are too
/// large wrap around.
pub(crate) fn convert(value: &mut Value, ty: &Type) -> Result<(), String> {
    if value.is_null() {
        return Ok(());
    }
    match (ty.resolve(), value) {
        (Type::Scalar(Scalar::Int32), value) => convert_integer(value, "int32", wrap_int32),
        (Type::Scalar(Scalar::Int64), value) => convert_integer(value, "int64", |number| number),
        // Go writes it as JSON, without a fraction if it has none, and reads that.
        (Type::Scalar(Scalar::IntOrString), value) if is_whole(value) => {
            convert_integer(value, "int32", |number| number)?;
            check_scalar(value, Scalar::IntOrString)
        }
        (Type::Scalar(Scalar::Bytes), Value::Array(items)) => items
            .iter_mut()
            .try_for_each(|item| convert_integer(item, "uint8", |number| number & 0xff)),
        (Type::Scalar(expected), value) => check_scalar(value, *expected),
        (Type::List(list), Value::Array(items)) => {
            items.iter_mut().try_for_each(|item| convert(item, &list.items))
        }
        (Type::List(_), other) => Err(format!("cannot restore slice from {}", go_kind(other))),
        (Type::Map(map), Value::Object(fields)) => fields
            .iter_mut()
            .try_for_each(|(name, value)| map.type_of(name).map_or(Ok(()), |ty| convert(value, ty))),
        (Type::Map(_), other) if matches!(ty, Type::Named(_)) => {
            Err(format!("cannot restore struct from: {}", go_kind(other)))
        }
        (Type::Map(_), other) => Err(format!("cannot restore map from {}", go_kind(other))),
        // Such a field has its own decoder.
        (Type::Schema(_), value) => conversion_error(&mut value.clone(), ty).map_or(Ok(()), Err),
        _ => Ok(()),
    }
}

/// Converts a number to an integer as Go does.
fn convert_integer(value: &mut Value, name: &str, wrap: fn(i64) -> i64) -> Result<(), String> {
    let Value::Number(number) = &*value else {
        return Err(match value {
            Value::Null => return Ok(()),
            _ => format!("unrecognized type: {name}"),
        });
    };
    let whole = number.as_f64().filter(|float| float.fract() == 0.0);
    let Some(integer) = number.as_i64().or_else(|| whole.map(float_to_integer)) else {
        return Err(format!("cannot convert float64 to {name}"));
    };
    *value = wrap(integer).into();
    Ok(())
}

fn is_whole(value: &Value) -> bool {
    let float = value.as_f64().filter(|_| value.is_f64());
    float.is_some_and(|float| float.fract() == 0.0 && is_in_integer_range(float))
}

/// Returns the low 32 bits.
#[expect(clippy::cast_possible_truncation, reason = "so does Go's conversion")]
pub(super) fn wrap_int32(number: i64) -> i64 {
    i64::from(number as i32)
}

/// Converts a float as Go does on amd64: without its fraction, and all that is out of range to the smallest integer.
pub(crate) fn float_to_integer(float: f64) -> i64 {
    if !is_in_integer_range(float) {
        return i64::MIN;
    }
    #[expect(clippy::cast_possible_truncation, reason = "in range, as checked above")]
    let integer = float as i64;
    integer
}

/// Whether a float without its fraction is an `i64`.
pub(crate) fn is_in_integer_range(float: f64) -> bool {
    const END: f64 = 9_223_372_036_854_775_808.0;
    (-END..END).contains(&float)
}

/// Checks a scalar as the converter does, but for its messages about values of another kind.
fn check_scalar(value: &Value, expected: Scalar) -> Result<(), String> {
    match expected {
        Scalar::Boolean if !value.is_boolean() => Err("unrecognized type: bool".to_owned()),
        Scalar::String if go_kind(value) == "int64" => Err("cannot convert int64 to string".to_owned()),
        Scalar::String if !value.is_string() => Err("unrecognized type: string".to_owned()),
        Scalar::Double if !value.is_number() => Err("unrecognized type: float64".to_owned()),
        Scalar::Bytes if !value.is_string() => Err(format!("cannot restore slice from {}", go_kind(value))),
        _ => {
            let location = ValueLocation::default();
            let mismatch = EmulatedComponent::Converter.mismatch(value, expected, None, &location);
            mismatch.map_or(Ok(()), Err)
        }
    }
}

fn go_kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "invalid",
        Value::Bool(_) => "bool",
        Value::Number(number) if number.is_f64() => "float64",
        Value::Number(_) => "int64",
        Value::String(_) => "string",
        Value::Array(_) => "slice",
        Value::Object(_) => "map",
    }
}

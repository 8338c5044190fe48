//! Conversion of values that are not decoded from text: the result of a strategic merge patch. kube-apiserver converts such a result with its
//! unstructured converter, which has other error messages than the JSON decoder and accepts a few more values.

use super::{Scalar, Type, conversion_error, json_kind, scalars};
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
    float.is_some_and(|float| float.fract() == 0.0 && is_in_range(float))
}

/// Returns the low 32 bits.
#[expect(clippy::cast_possible_truncation, reason = "so does Go's conversion")]
pub(super) fn wrap_int32(number: i64) -> i64 {
    i64::from(number as i32)
}

/// Converts a float as Go does on amd64: without its fraction, and all that is out of range to the smallest integer.
pub(crate) fn float_to_integer(float: f64) -> i64 {
    if !is_in_range(float) {
        return i64::MIN;
    }
    #[expect(clippy::cast_possible_truncation, reason = "in range, as checked above")]
    let integer = float as i64;
    integer
}

/// Whether a float without its fraction is an `i64`.
fn is_in_range(float: f64) -> bool {
    const END: f64 = 9_223_372_036_854_775_808.0;
    (-END..END).contains(&float)
}

fn check_scalar(value: &Value, expected: Scalar) -> Result<(), String> {
    let go_kind_of_value = go_kind(value);
    let json_number = |fits: bool| match value {
        _ if fits => Ok(()),
        Value::Number(number) => Err(format!(
            "json: cannot unmarshal number {number} into Go value of type int32"
        )),
        _ => Err(format!(
            "json: cannot unmarshal {} into Go value of type int32",
            json_kind(value)
        )),
    };
    let name = match expected {
        Scalar::Boolean if value.is_boolean() => return Ok(()),
        Scalar::Boolean => "bool",
        Scalar::String if value.is_string() => return Ok(()),
        Scalar::String if go_kind_of_value == "int64" => {
            return Err("cannot convert int64 to string".to_owned());
        }
        Scalar::String => "string",
        Scalar::Double if value.is_number() => return Ok(()),
        Scalar::Double => "float64",
        Scalar::Bytes => {
            return match value.as_str() {
                Some(text) => scalars::base64_error(text).map_or(Ok(()), |message| {
                    Err(format!("error decoding from json: {message}"))
                }),
                None => Err(format!("cannot restore slice from {go_kind_of_value}")),
            };
        }
        Scalar::DateTime | Scalar::MicroTime => {
            return match value.as_str() {
                Some(text) => scalars::time_error(text, expected == Scalar::MicroTime).map_or(Ok(()), Err),
                None => Err(format!(
                    "json: cannot unmarshal {} into Go value of type string",
                    json_kind(value)
                )),
            };
        }
        Scalar::Quantity => {
            let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            return scalars::quantity_error(&text).map_or(Ok(()), Err);
        }
        Scalar::IntOrString => {
            return json_number(
                value.is_string() || value.as_i64().is_some_and(|number| i32::try_from(number).is_ok()),
            );
        }
        Scalar::Int32 | Scalar::Int64 | Scalar::Untyped => return Ok(()),
    };
    Err(format!("unrecognized type: {name}"))
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

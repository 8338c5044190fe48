//! Conversion errors of values that are not decoded from text: the result of a strategic merge patch. kube-apiserver converts such a result
//! with its unstructured converter, which has other error messages than the JSON decoder and accepts a few more values.

use super::{Scalar, Type, conversion_error, json_kind, scalars};
use serde_json::Value;

/// Checks whether a value converts to the type; returns the first error otherwise. Floats without a fraction are accepted as integers.
pub(crate) fn check_convertible(value: &Value, ty: &Type) -> Result<(), String> {
    if value.is_null() {
        return Ok(());
    }
    match (ty.resolve(), value) {
        (Type::Scalar(expected), _) => check_scalar(value, *expected),
        (Type::List(list), Value::Array(items)) => items
            .iter()
            .try_for_each(|item| check_convertible(item, &list.items)),
        (Type::List(_), other) => Err(format!("cannot restore slice from {}", go_kind(other))),
        (Type::Map(map), Value::Object(fields)) => fields.iter().try_for_each(|(name, value)| {
            map.type_of(name)
                .map_or(Ok(()), |ty| check_convertible(value, ty))
        }),
        (Type::Map(_), other) if matches!(ty, Type::Named(_)) => {
            Err(format!("cannot restore struct from: {}", go_kind(other)))
        }
        (Type::Map(_), other) => Err(format!("cannot restore map from {}", go_kind(other))),
        // Such a field has its own decoder.
        (Type::Schema(_), value) => conversion_error(&mut value.clone(), ty).map_or(Ok(()), Err),
        _ => Ok(()),
    }
}

fn check_scalar(value: &Value, expected: Scalar) -> Result<(), String> {
    let go_kind_of_value = go_kind(value);
    let is_whole = value.as_f64().is_some_and(|number| number.fract() == 0.0);
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
        Scalar::Int32 | Scalar::Int64 if value.is_i64() || (value.is_number() && is_whole) => return Ok(()),
        Scalar::Int32 | Scalar::Int64 => {
            let name = if expected == Scalar::Int32 {
                "int32"
            } else {
                "int64"
            };
            if value.is_number() {
                return Err(format!("cannot convert float64 to {name}"));
            }
            name
        }
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
        Scalar::Untyped => return Ok(()),
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

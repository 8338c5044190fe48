//! Values of built-in kinds that do not come as text: the outcome of a strategic merge patch. The real server converts them with other
//! words than its decoder has, and takes a few more.

use super::{Scalar, Type, json_kind, scalars};
use serde_json::Value;

/// Whether a value can be made one of the type; else the first complaint. Whole numbers with a fraction of zero are taken for integers.
pub(crate) fn restore(value: &Value, ty: &Type) -> Result<(), String> {
    if value.is_null() {
        return Ok(());
    }
    match (ty.resolve(), value) {
        (Type::Scalar(wanted), _) => restore_scalar(value, *wanted),
        (Type::List(list), Value::Array(items)) => {
            items.iter().try_for_each(|item| restore(item, &list.items))
        }
        (Type::List(_), other) => Err(format!("cannot restore slice from {}", go_kind(other))),
        (Type::Map(map), Value::Object(fields)) => fields
            .iter()
            .try_for_each(|(name, value)| map.type_of(name).map_or(Ok(()), |ty| restore(value, ty))),
        (Type::Map(_), other) if matches!(ty, Type::Named(_)) => {
            Err(format!("cannot restore struct from: {}", go_kind(other)))
        }
        (Type::Map(_), other) => Err(format!("cannot restore map from {}", go_kind(other))),
        _ => Ok(()),
    }
}

fn restore_scalar(value: &Value, wanted: Scalar) -> Result<(), String> {
    let found = go_kind(value);
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
    let name = match wanted {
        Scalar::Boolean if value.is_boolean() => return Ok(()),
        Scalar::Boolean => "bool",
        Scalar::String if value.is_string() => return Ok(()),
        Scalar::String if found == "int64" => return Err("cannot convert int64 to string".to_owned()),
        Scalar::String => "string",
        Scalar::Double if value.is_number() => return Ok(()),
        Scalar::Double => "float64",
        Scalar::Int32 | Scalar::Int64 if value.is_i64() || (value.is_number() && is_whole) => return Ok(()),
        Scalar::Int32 | Scalar::Int64 => {
            let name = if wanted == Scalar::Int32 { "int32" } else { "int64" };
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
                None => Err(format!("cannot restore slice from {found}")),
            };
        }
        Scalar::DateTime | Scalar::MicroTime => {
            return match value.as_str() {
                Some(text) => scalars::time_error(text, wanted == Scalar::MicroTime).map_or(Ok(()), Err),
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

//! Messages, read into what JSON would say.

use super::table::{self, Field, Shape};
use super::wire::{self, Wire};
use crate::types::Type;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use serde_json::{Map, Value, json};

/// How deep messages may lie in messages.
const DEEPEST: usize = 100;

/// Reads a message whose JSON is of a type.
pub(super) fn read(bytes: &[u8], message: &str, ty: &Type) -> Result<Value, String> {
    decode(bytes, message, ty, 0)
}

/// The bytes behind what stands for them in JSON.
pub(super) fn bytes_of(value: &Value) -> Vec<u8> {
    STANDARD
        .decode(value.as_str().unwrap_or_default())
        .unwrap_or_default()
}

fn decode(bytes: &[u8], message: &str, ty: &Type, depth: usize) -> Result<Value, String> {
    if depth > DEEPEST {
        return Err("proto: nested too deeply".to_owned());
    }
    let mut object = Map::new();
    fill(&mut object, bytes, message, ty, depth)?;
    Ok(match message {
        "resource.Quantity" => object.remove("string").unwrap_or_else(|| json!("0")),
        "intstr.IntOrString" if object.get("type") == Some(&json!(1)) => {
            object.remove("strVal").unwrap_or_else(|| json!(""))
        }
        "intstr.IntOrString" => object.remove("intVal").unwrap_or_else(|| json!(0)),
        "meta.v1.Time" => time(&object, false),
        "meta.v1.MicroTime" => time(&object, true),
        "meta.v1.FieldsV1" | "runtime.RawExtension" => embedded(object.get("raw"))?,
        // A list that has a message of its own.
        _ if ty.as_list().is_some() => object.remove("items").unwrap_or_else(|| json!([])),
        _ => Value::Object(object),
    })
}

/// Reads the fields of a message; those that lie in line in JSON go where the message is.
fn fill(
    object: &mut Map<String, Value>,
    mut bytes: &[u8],
    message: &str,
    ty: &Type,
    depth: usize,
) -> Result<(), String> {
    let fields =
        table::fields(message).ok_or_else(|| format!("nothing is known of {message} in protobuf"))?;
    let map = ty.as_map().map(|(map, _)| map);
    while let Some((number, value, rest)) = wire::next(bytes)? {
        bytes = rest;
        // What is not known is not there, as for Go.
        let Some(field) = fields.get(&number) else {
            continue;
        };
        let known = map.map(|map| map.type_of(field.name));
        let inline = known == Some(None) && field.shape == Shape::One;
        if let (true, Wire::Bytes(inner), Some(_)) = (inline, value, table::fields(field.ty)) {
            if depth > DEEPEST {
                return Err("proto: nested too deeply".to_owned());
            }
            fill(object, inner, field.ty, ty, depth + 1)?;
            continue;
        }
        let ty = known.flatten().unwrap_or(&Type::Any);
        add(object, field, value, ty, depth)?;
    }
    Ok(())
}

fn add(
    object: &mut Map<String, Value>,
    field: &Field,
    value: Wire<'_>,
    ty: &Type,
    depth: usize,
) -> Result<(), String> {
    match field.shape {
        Shape::One => {
            object.insert(field.name.to_owned(), one(field, value, ty, depth)?);
        }
        Shape::List => {
            let items = ty.as_list().map_or(&Type::Any, |list| &list.items);
            let entry = object.entry(field.name).or_insert_with(|| json!([]));
            let Value::Array(list) = entry else { return Ok(()) };
            match value {
                // Numbers may come packed.
                Wire::Bytes(mut packed) if matches!(field.ty, "int32" | "int64" | "bool") => {
                    while !packed.is_empty() {
                        let (number, rest) = wire::number(packed)?;
                        packed = rest;
                        list.push(one(field, Wire::Number(number), items, depth)?);
                    }
                }
                value => list.push(one(field, value, items, depth)?),
            }
        }
        Shape::Map => {
            let Wire::Bytes(mut entry) = value else {
                return Err(format!("proto: wrong wireType for field {}", field.name));
            };
            let values = ty
                .as_map()
                .and_then(|(map, _)| map.values.as_ref())
                .unwrap_or(&Type::Any);
            let (mut key, mut value) = (String::new(), None);
            while let Some((number, part, rest)) = wire::next(entry)? {
                entry = rest;
                match (number, part) {
                    (1, Wire::Bytes(text)) => key = String::from_utf8_lossy(text).into_owned(),
                    (2, part) => value = Some(one(field, part, values, depth)?),
                    _ => {}
                }
            }
            let value = match value {
                Some(value) => value,
                None => one(field, Wire::Bytes(&[]), values, depth)?,
            };
            let map = object.entry(field.name).or_insert_with(|| json!({}));
            map[key] = value;
        }
    }
    Ok(())
}

fn one(field: &Field, value: Wire<'_>, ty: &Type, depth: usize) -> Result<Value, String> {
    Ok(match (field.ty, value) {
        ("string", Wire::Bytes(text)) => json!(String::from_utf8_lossy(text)),
        ("bytes", Wire::Bytes(bytes)) => json!(STANDARD.encode(bytes)),
        ("bool", Wire::Number(number)) => json!(number != 0),
        ("int32", Wire::Number(number)) => json!(int32(number)),
        ("int64", Wire::Number(number)) => json!(number.cast_signed()),
        ("double", Wire::Fixed64(bits)) => json!(f64::from_bits(bits)),
        ("float", Wire::Fixed32(bits)) => json!(f32::from_bits(bits)),
        (message, Wire::Bytes(bytes)) => decode(bytes, message, ty, depth + 1)?,
        _ => return Err(format!("proto: wrong wireType for field {}", field.name)),
    })
}

/// Negative numbers come as 64 bits; more is cut off, as Go does.
fn int32(number: u64) -> i32 {
    let [a, b, c, d, ..] = number.to_le_bytes();
    i32::from_le_bytes([a, b, c, d])
}

fn time(object: &Map<String, Value>, micros: bool) -> Value {
    let part = |key: &str| object.get(key).and_then(Value::as_i64).unwrap_or(0);
    let nanos = i32::try_from(part("nanos")).unwrap_or(0);
    match Timestamp::new(part("seconds"), nanos) {
        // Go writes the year 1 where there is no time.
        Ok(time) if object.is_empty() || time.as_second() <= -62_135_596_800 => Value::Null,
        Ok(time) if micros => json!(time.strftime("%Y-%m-%dT%H:%M:%S.%6fZ").to_string()),
        Ok(time) => json!(time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()),
        Err(_) => Value::Null,
    }
}

/// JSON in bytes.
fn embedded(raw: Option<&Value>) -> Result<Value, String> {
    match raw.map(bytes_of) {
        Some(bytes) if !bytes.is_empty() => serde_json::from_slice(&bytes).map_err(|error| error.to_string()),
        _ => Ok(Value::Null),
    }
}

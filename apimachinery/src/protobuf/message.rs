//! Decodes messages to JSON values.

use super::table::{self, Cardinality, MessageField};
use super::wire::{self, WireValue};
use crate::types::Type;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use serde_json::{Map, Value, json};

/// Maximum nesting depth of messages.
const MAX_DEPTH: usize = 100;

/// Decodes a message; `ty` is the type of its JSON.
pub(super) fn decode(bytes: &[u8], message: &str, ty: &Type) -> Result<Value, String> {
    decode_at_depth(bytes, message, ty, 0)
}

/// Decodes the base64 of a bytes field.
pub(super) fn bytes_of(value: &Value) -> Vec<u8> {
    STANDARD
        .decode(value.as_str().unwrap_or_default())
        .unwrap_or_default()
}

fn decode_at_depth(bytes: &[u8], message: &str, ty: &Type, depth: usize) -> Result<Value, String> {
    if depth > MAX_DEPTH {
        return Err("proto: nested too deeply".to_owned());
    }
    let mut object = Map::new();
    decode_fields(&mut object, bytes, message, ty, depth)?;
    Ok(match message {
        "resource.Quantity" => object.remove("string").unwrap_or_else(|| json!("0")),
        "intstr.IntOrString" if object.get("type") == Some(&json!(1)) => {
            object.remove("strVal").unwrap_or_else(|| json!(""))
        }
        "intstr.IntOrString" => object.remove("intVal").unwrap_or_else(|| json!(0)),
        "meta.v1.Time" => time(&object, false),
        "meta.v1.MicroTime" => time(&object, true),
        "meta.v1.FieldsV1" | "runtime.RawExtension" => embedded_json(object.get("raw"))?,
        // A list type with a message of its own.
        _ if ty.as_list().is_some() => object.remove("items").unwrap_or_else(|| json!([])),
        _ => Value::Object(object),
    })
}

/// Decodes the fields of a message. Fields that are inlined in JSON are added to the same object.
fn decode_fields(
    object: &mut Map<String, Value>,
    mut bytes: &[u8],
    message: &str,
    ty: &Type,
    depth: usize,
) -> Result<(), String> {
    let fields =
        table::fields(message).ok_or_else(|| format!("nothing is known of {message} in protobuf"))?;
    let map = ty.as_map().map(|(map, _)| map);
    while let Some((number, value, rest)) = wire::next_field(bytes)? {
        bytes = rest;
        // Unknown fields are skipped, as in Go.
        let Some(field) = fields.get(&number) else {
            continue;
        };
        let field_type = map.map(|map| map.type_of(field.name));
        let inline = field_type == Some(None) && field.cardinality == Cardinality::Singular;
        if let (true, WireValue::Bytes(inner), Some(_)) = (inline, value, table::fields(field.ty)) {
            if depth > MAX_DEPTH {
                return Err("proto: nested too deeply".to_owned());
            }
            decode_fields(object, inner, field.ty, ty, depth + 1)?;
            continue;
        }
        let ty = field_type.flatten().unwrap_or(&Type::Any);
        add_field(object, field, value, ty, depth)?;
    }
    Ok(())
}

fn add_field(
    object: &mut Map<String, Value>,
    field: &MessageField,
    value: WireValue<'_>,
    ty: &Type,
    depth: usize,
) -> Result<(), String> {
    match field.cardinality {
        Cardinality::Singular => {
            object.insert(field.name.to_owned(), decode_value(field, value, ty, depth)?);
        }
        Cardinality::List => {
            let items = ty.as_list().map_or(&Type::Any, |list| &list.items);
            let entry = object.entry(field.name).or_insert_with(|| json!([]));
            let Value::Array(list) = entry else { return Ok(()) };
            match value {
                // Repeated numbers may be packed.
                WireValue::Bytes(mut packed) if matches!(field.ty, "int32" | "int64" | "bool") => {
                    while !packed.is_empty() {
                        let (number, rest) = wire::varint(packed)?;
                        packed = rest;
                        list.push(decode_value(field, WireValue::Varint(number), items, depth)?);
                    }
                }
                value => list.push(decode_value(field, value, items, depth)?),
            }
        }
        Cardinality::Map => {
            let WireValue::Bytes(mut entry) = value else {
                return Err(format!("proto: wrong wireType for field {}", field.name));
            };
            let values = ty
                .as_map()
                .and_then(|(map, _)| map.values.as_ref())
                .unwrap_or(&Type::Any);
            let (mut key, mut value) = (String::new(), None);
            while let Some((number, part, rest)) = wire::next_field(entry)? {
                entry = rest;
                match (number, part) {
                    (1, WireValue::Bytes(text)) => key = String::from_utf8_lossy(text).into_owned(),
                    (2, part) => value = Some(decode_value(field, part, values, depth)?),
                    _ => {}
                }
            }
            let value = match value {
                Some(value) => value,
                None => decode_value(field, WireValue::Bytes(&[]), values, depth)?,
            };
            let map = object.entry(field.name).or_insert_with(|| json!({}));
            map[key] = value;
        }
    }
    Ok(())
}

fn decode_value(
    field: &MessageField,
    value: WireValue<'_>,
    ty: &Type,
    depth: usize,
) -> Result<Value, String> {
    Ok(match (field.ty, value) {
        ("string", WireValue::Bytes(text)) => json!(String::from_utf8_lossy(text)),
        ("bytes", WireValue::Bytes(bytes)) => json!(STANDARD.encode(bytes)),
        ("bool", WireValue::Varint(number)) => json!(number != 0),
        ("int32", WireValue::Varint(number)) => json!(int32(number)),
        ("int64", WireValue::Varint(number)) => json!(number.cast_signed()),
        ("double", WireValue::Fixed64(bits)) => json!(f64::from_bits(bits)),
        ("float", WireValue::Fixed32(bits)) => json!(f32::from_bits(bits)),
        (message, WireValue::Bytes(bytes)) => decode_at_depth(bytes, message, ty, depth + 1)?,
        _ => return Err(format!("proto: wrong wireType for field {}", field.name)),
    })
}

/// Negative numbers have 64 bits on the wire; the upper ones are cut off, as in Go.
fn int32(number: u64) -> i32 {
    let [a, b, c, d, ..] = number.to_le_bytes();
    i32::from_le_bytes([a, b, c, d])
}

fn time(object: &Map<String, Value>, micros: bool) -> Value {
    let part = |key: &str| object.get(key).and_then(Value::as_i64).unwrap_or(0);
    let nanos = i32::try_from(part("nanos")).unwrap_or(0);
    match Timestamp::new(part("seconds"), nanos) {
        // Go encodes the zero time as the year 1.
        Ok(time) if object.is_empty() || time.as_second() <= -62_135_596_800 => Value::Null,
        Ok(time) if micros => json!(time.strftime("%Y-%m-%dT%H:%M:%S.%6fZ").to_string()),
        Ok(time) => json!(time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()),
        Err(_) => Value::Null,
    }
}

/// Decodes JSON that is embedded as bytes.
fn embedded_json(raw: Option<&Value>) -> Result<Value, String> {
    match raw.map(bytes_of) {
        Some(bytes) if !bytes.is_empty() => serde_json::from_slice(&bytes).map_err(|error| error.to_string()),
        _ => Ok(Value::Null),
    }
}

//! Decodes messages to JSON values.

use super::json_form;
use super::table::{self, Cardinality, MessageField};
use super::wire::{self, WireValue};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};

/// Maximum nesting depth of messages.
const MAX_DEPTH: usize = 100;
/// Doubles below this have all integers.
const MAX_INTEGRAL_DOUBLE: f64 = 9e15;

/// Decodes a message. Fields that are zero and that Go does not distinguish from absent ones are left out.
pub(super) fn decode_message(bytes: &[u8], name: &str) -> Result<Value, String> {
    decode_at_depth(bytes, name, 0)
}

fn decode_at_depth(bytes: &[u8], name: &str, depth: usize) -> Result<Value, String> {
    let mut fields = Map::new();
    decode_fields(&mut fields, bytes, name, depth)?;
    match table::message(name) {
        Some(message) => json_form::from_fields(fields, name, message),
        None => Ok(Value::Object(fields)),
    }
}

/// Decodes the fields of a message. Fields that are inlined in JSON are added to the same object.
fn decode_fields(
    object: &mut Map<String, Value>,
    mut bytes: &[u8],
    name: &str,
    depth: usize,
) -> Result<(), String> {
    if depth > MAX_DEPTH {
        return Err("proto: nested too deeply".to_owned());
    }
    let message = table::message(name).ok_or_else(|| format!("nothing is known of {name} in protobuf"))?;
    while let Some((number, value, rest)) = wire::next_field(bytes)? {
        bytes = rest;
        let field = message.fields.binary_search_by_key(&number, |field| field.number);
        // Unknown fields are skipped, as in Go.
        let Ok(field) = field.map(|at| &message.fields[at]) else {
            continue;
        };
        match value {
            WireValue::Bytes(inner) if field.is_inline() => {
                decode_fields(object, inner, field.ty, depth + 1)?;
            }
            value => add_field(object, field, value, depth)?,
        }
    }
    Ok(())
}

fn add_field(
    object: &mut Map<String, Value>,
    field: &MessageField,
    value: WireValue<'_>,
    depth: usize,
) -> Result<(), String> {
    match field.cardinality {
        Cardinality::Singular => {
            let value = decode_value(field, value, depth)?;
            let is_zero = match &value {
                Value::Bool(value) => !value,
                Value::Number(number) => number.as_f64() == Some(0.0),
                Value::String(text) => text.is_empty(),
                _ => false,
            };
            // Only scalars are always encoded with their value; bytes, only if they are not absent.
            let is_scalar = table::message(field.ty).is_none() && field.ty != "bytes";
            if field.is_pointer || !is_zero || !is_scalar {
                object.insert(field.name.to_owned(), value);
            }
        }
        Cardinality::List => {
            let entry = object.entry(field.name).or_insert_with(|| json!([]));
            let Value::Array(list) = entry else { return Ok(()) };
            match value {
                // Repeated numbers may be packed.
                WireValue::Bytes(mut packed) if matches!(field.ty, "int32" | "int64" | "bool") => {
                    while !packed.is_empty() {
                        let (number, rest) = wire::varint(packed)?;
                        packed = rest;
                        list.push(decode_value(field, WireValue::Varint(number), depth)?);
                    }
                }
                value => list.push(decode_value(field, value, depth)?),
            }
        }
        Cardinality::Map => {
            let WireValue::Bytes(mut entry) = value else {
                return Err(format!("proto: wrong wireType for field {}", field.name));
            };
            let (mut key, mut value) = (String::new(), None);
            while let Some((number, part, rest)) = wire::next_field(entry)? {
                entry = rest;
                match (number, part) {
                    (1, WireValue::Bytes(text)) => key = String::from_utf8_lossy(text).into_owned(),
                    (2, part) => value = Some(decode_value(field, part, depth)?),
                    _ => {}
                }
            }
            let value = match value {
                Some(value) => value,
                None => decode_value(field, WireValue::Bytes(&[]), depth)?,
            };
            let map = object.entry(field.name).or_insert_with(|| json!({}));
            map[key] = value;
        }
    }
    Ok(())
}

fn decode_value(field: &MessageField, value: WireValue<'_>, depth: usize) -> Result<Value, String> {
    Ok(match (field.ty, value) {
        ("string", WireValue::Bytes(text)) => json!(String::from_utf8_lossy(text)),
        ("bytes", WireValue::Bytes(bytes)) => json!(STANDARD.encode(bytes)),
        ("bool", WireValue::Varint(number)) => json!(number != 0),
        ("int32", WireValue::Varint(number)) => json!(int32(number)),
        ("int64", WireValue::Varint(number)) => json!(number.cast_signed()),
        ("double", WireValue::Fixed64(bits)) => double(f64::from_bits(bits)),
        ("float", WireValue::Fixed32(bits)) => double(f32::from_bits(bits).into()),
        (message, WireValue::Bytes(bytes)) => decode_at_depth(bytes, message, depth + 1)?,
        _ => return Err(format!("proto: wrong wireType for field {}", field.name)),
    })
}

/// Go writes doubles without a fraction as integers.
#[expect(clippy::cast_possible_truncation, reason = "the number is a small integer")]
fn double(number: f64) -> Value {
    if number.fract() == 0.0 && number.abs() < MAX_INTEGRAL_DOUBLE {
        json!(number as i64)
    } else {
        json!(number)
    }
}

/// Negative numbers have 64 bits on the wire; the upper ones are cut off, as in Go.
fn int32(number: u64) -> i32 {
    let [a, b, c, d, ..] = number.to_le_bytes();
    i32::from_le_bytes([a, b, c, d])
}

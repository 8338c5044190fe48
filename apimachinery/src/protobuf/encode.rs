//! Encodes JSON values as messages, with the bytes that Go's types of Kubernetes have.

use super::json_form::{self, RAW_JSON};
use super::table::{self, Cardinality, MessageField};
use super::wire;
use serde_json::Value;

/// Appends a message without its length. What the message does not have is left out.
pub(super) fn append_message(value: &Value, name: &str, bytes: &mut Vec<u8>) {
    if RAW_JSON.contains(&name) {
        if !value.is_null() {
            wire::put_bytes(1, value.to_string().as_bytes(), bytes);
        }
        return;
    }
    let Some(message) = table::message(name) else {
        return;
    };
    let fields = json_form::to_fields(value, name, message);
    if json_form::is_empty(&fields, name) {
        return;
    }
    for field in &message.fields {
        let value = if field.is_inline() {
            &fields
        } else {
            &fields[field.name]
        };
        append_field(value, field, bytes);
    }
}

/// Appends an element of the field `items` of a message.
pub(super) fn append_item(item: &Value, list: &str, bytes: &mut Vec<u8>) {
    let items = table::message(list).and_then(|list| list.fields.iter().find(|field| field.name == "items"));
    if let Some(items) = items {
        append_value(item, items.number, items.ty, bytes);
    }
}

fn append_field(value: &Value, field: &MessageField, bytes: &mut Vec<u8>) {
    match (field.cardinality, value) {
        // Go has no values for absent pointers and bytes, and zero for all other fields.
        (Cardinality::Singular, Value::Null) if field.is_pointer || field.ty == "bytes" => {}
        (Cardinality::Singular, value) => append_value(value, field.number, field.ty, bytes),
        (Cardinality::List, Value::Array(items)) => {
            for item in items {
                append_value(item, field.number, field.ty, bytes);
            }
        }
        (Cardinality::Map, Value::Object(entries)) => {
            let mut entries: Vec<(&String, &Value)> = entries.iter().collect();
            entries.sort_by_key(|(key, _)| *key);
            for (key, value) in entries {
                wire::put_delimited(field.number, bytes, |bytes| {
                    wire::put_bytes(1, key.as_bytes(), bytes);
                    if field.ty != "bytes" || !value.is_null() {
                        append_value(value, 2, field.ty, bytes);
                    }
                });
            }
        }
        _ => {}
    }
}

fn append_value(value: &Value, number: u64, ty: &str, bytes: &mut Vec<u8>) {
    match ty {
        "string" => wire::put_bytes(number, value.as_str().unwrap_or_default().as_bytes(), bytes),
        "bytes" => wire::put_bytes(number, &json_form::bytes_of(value), bytes),
        "bool" => wire::put_varint_field(number, u64::from(value == true), bytes),
        "int32" | "int64" => {
            let integer = value.as_i64().unwrap_or_default();
            wire::put_varint_field(number, integer.cast_unsigned(), bytes);
        }
        "double" => wire::put_fixed64(number, value.as_f64().unwrap_or_default().to_bits(), bytes),
        message => wire::put_delimited(number, bytes, |bytes| append_message(value, message, bytes)),
    }
}

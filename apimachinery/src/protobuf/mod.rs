//! Protobuf of built-in kinds, the encoding that Go's typed clients prefer. Custom resources have none.
//!
//! `table` has the messages and `wire` their wire format; `json_form` knows the messages whose JSON is not an object with their fields.

mod decode;
mod encode;
mod json_form;
mod table;
pub mod wire;

use serde_json::{Value, json};
use std::borrow::Cow;
use wire::WireValue;

/// The prefix of every object.
const MAGIC: &[u8] = b"k8s\0";

/// Decodes an object to its JSON value. Fields that are zero are left out where JSON may leave them out.
///
/// # Errors
///
/// Returns a message if the bytes are invalid or their kind is unknown.
pub fn decode(bytes: &[u8]) -> Result<Value, String> {
    let envelope = bytes
        .strip_prefix(MAGIC)
        .ok_or("provided data does not appear to be a protobuf message, expected prefix")?;
    let envelope = decode::decode_message(envelope, "runtime.Unknown")?;
    let text = |key: &str| envelope[key].as_str().unwrap_or_default();
    let (version, kind) = (text("apiVersion"), text("kind"));
    let message = table::kind(version, kind)
        .ok_or_else(|| format!("no kind {kind:?} is registered for version {version:?}"))?;
    let mut object = decode::decode_message(&json_form::bytes_of(&envelope["raw"]), message)?;
    object["apiVersion"] = json!(version);
    object["kind"] = json!(kind);
    Ok(object)
}

/// Encodes an object as kube-apiserver does, to the same bytes. Its `apiVersion` and `kind` say what it is.
///
/// # Errors
///
/// Returns a message if the kind has no protobuf: that of a custom resource or a Table.
pub fn encode(object: &Value) -> Result<Vec<u8>, String> {
    encode_with(object, |message, bytes| {
        encode::append_message(object, message, bytes);
    })
}

/// Encodes a list, which has no items yet, with these.
///
/// # Errors
///
/// As [`encode`].
pub fn encode_list<'a>(
    list: &Value,
    items: impl IntoIterator<Item = Cow<'a, Value>>,
) -> Result<Vec<u8>, String> {
    encode_with(list, |message, bytes| {
        encode::append_message(list, message, bytes);
        for item in items {
            encode::append_item(&item, message, bytes);
        }
    })
}

fn encode_with(object: &Value, append: impl FnOnce(&str, &mut Vec<u8>)) -> Result<Vec<u8>, String> {
    let text = |key: &str| object[key].as_str().unwrap_or_default();
    let (version, kind) = (text("apiVersion"), text("kind"));
    let message = table::kind(version, kind)
        .ok_or_else(|| format!("object {kind:?} of version {version:?} has no protobuf encoding"))?;
    let mut bytes = MAGIC.to_vec();
    wire::put_delimited(1, &mut bytes, |bytes| {
        wire::put_bytes(1, version.as_bytes(), bytes);
        wire::put_bytes(2, kind.as_bytes(), bytes);
    });
    wire::put_delimited(2, &mut bytes, |bytes| append(message, bytes));
    // The encoding and the type of the content.
    wire::put_bytes(3, b"", &mut bytes);
    wire::put_bytes(4, b"", &mut bytes);
    Ok(bytes)
}

/// Encodes an event of a watch, with its length before it.
///
/// # Errors
///
/// As [`encode`].
pub fn encode_event(event_type: &str, object: &Value) -> Result<Vec<u8>, String> {
    let object = encode(object)?;
    let mut event = vec![0; 4];
    wire::put_bytes(1, event_type.as_bytes(), &mut event);
    wire::put_delimited(2, &mut event, |bytes| wire::put_bytes(1, &object, bytes));
    let length = u32::try_from(event.len() - 4).map_err(|_| "the event is too long".to_owned())?;
    event[..4].copy_from_slice(&length.to_be_bytes());
    Ok(event)
}

/// Decodes the complete events at the start of the stream of a watch, as clients do: for tests.
///
/// # Errors
///
/// As [`decode`].
pub fn decode_events(mut stream: &[u8]) -> Result<Vec<Value>, String> {
    let mut events = vec![];
    while let Some((length, rest)) = stream.split_first_chunk()
        && let Ok(length) = usize::try_from(u32::from_be_bytes(*length))
        && let Some((event, rest)) = rest.split_at_checked(length)
    {
        events.push(decode_event(event)?);
        stream = rest;
    }
    Ok(events)
}

/// Decodes a `WatchEvent`, whose object is encoded by itself.
fn decode_event(mut event: &[u8]) -> Result<Value, String> {
    let mut fields = json!({});
    while let Some((number, value, rest)) = wire::next_field(event)? {
        event = rest;
        match (number, value) {
            (1, WireValue::Bytes(text)) => fields["type"] = json!(String::from_utf8_lossy(text)),
            (2, WireValue::Bytes(object)) => {
                if let Some((1, WireValue::Bytes(object), _)) = wire::next_field(object)? {
                    fields["object"] = decode(object)?;
                }
            }
            _ => {}
        }
    }
    Ok(fields)
}

#[cfg(test)]
mod tests;

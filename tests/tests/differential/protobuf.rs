//! Responses in protobuf, decoded for the comparison.

use kubewright_apimachinery::{protobuf, types};
use serde_json::{Value, json};

/// The media type of objects and, with parameters, of watches.
pub(crate) const MEDIA_TYPE: &str = "application/vnd.kubernetes.protobuf";

/// Returns the JSON of a response, or that of the events of a watch. A response whose bytes are not those that the encoder makes of that
/// JSON is marked: on the real server, this compares the encoder with it byte by byte.
pub(crate) fn decode(bytes: &[u8], is_watch: bool) -> Value {
    let (decoded, encoded) = if is_watch {
        let events = protobuf::decode_events(bytes).unwrap();
        let encode = |event: &Value| {
            let event_type = event["type"].as_str().unwrap();
            protobuf::encode_event(event_type, &event["object"]).unwrap()
        };
        let encoded = events.iter().flat_map(encode).collect();
        (Value::Array(events), encoded)
    } else {
        let object = protobuf::decode(bytes).unwrap();
        let encoded = protobuf::encode(&object).unwrap();
        (object, encoded)
    };
    let mut shown = decoded.clone();
    match &mut shown {
        Value::Array(events) => events
            .iter_mut()
            .for_each(|event| normalize(&mut event["object"])),
        object => normalize(object),
    }
    if encoded == bytes {
        shown
    } else {
        json!({ "other bytes": String::from_utf8_lossy(bytes), "encoder": String::from_utf8_lossy(&encoded), "json": shown })
    }
}

/// Returns the number of complete events.
pub(crate) fn count_events(bytes: &[u8]) -> usize {
    protobuf::decode_events(bytes).unwrap().len()
}

/// Returns an object of a request in protobuf; `None` if it is none that has a kind.
pub(crate) fn encode(object: &Value) -> Option<Vec<u8>> {
    protobuf::encode(object).ok()
}

/// Adds the zero values that JSON has.
fn normalize(object: &mut Value) {
    let text = |key: &str| object[key].as_str().unwrap_or_default();
    if let Some(ty) = types::builtin(text("apiVersion"), text("kind")) {
        types::normalize(object, ty);
    }
}

//! The bytes of responses in JSON: the order of the fields, escapes, and how the body ends. They are those that the embedded server's encoder
//! makes of what they say: on the real server, this compares the encoder with it.

use kubewright_apimachinery::go_json;
use serde_json::{Value, json};

/// Returns the value of a response in JSON, or of a line of a watch; marked if it has other bytes than the encoder makes of it.
pub(crate) fn decode(text: &str) -> Value {
    let Ok(value) = serde_json::from_str::<Value>(text) else {
        return json!(text);
    };
    let Some(encoded) = encode(&value, text) else {
        return value;
    };
    if encoded == text.as_bytes() {
        return value;
    }
    let encoded = String::from_utf8_lossy(&encoded);
    let same = text
        .bytes()
        .zip(encoded.bytes())
        .take_while(|(a, b)| a == b)
        .count();
    let context = |text: &str| {
        let bytes = text.as_bytes();
        let shown = &bytes[same.saturating_sub(60)..bytes.len().min(same + 60)];
        String::from_utf8_lossy(shown).into_owned()
    };
    json!({ "other bytes": context(text), "encoder": context(&encoded), "json": value })
}

/// Returns the bytes that are expected of an object, a list, a Status or an event; None for other documents.
fn encode(value: &Value, text: &str) -> Option<Vec<u8>> {
    if value.get("object").is_some() && value.get("type").is_some() {
        let mut event = format!(r#"{{"type":{},"object":"#, value["type"]).into_bytes();
        event.extend(go_json::encode(&value["object"]));
        event.push(b'}');
        return Some(event);
    }
    let kind = value.get("kind")?.as_str()?;
    // Documents of discovery have types of their own.
    if kind.starts_with("API") && !kind.starts_with("APIService") {
        let end = if text.starts_with("{\n") { "" } else { "\n" };
        return Some([text.trim_end_matches('\n'), end].concat().into_bytes());
    }
    if text.starts_with("{\n") {
        return Some(go_json::encode_pretty(value, go_json::type_of_kind(value)));
    }
    let mut line = go_json::encode(value);
    line.push(b'\n');
    Some(line)
}

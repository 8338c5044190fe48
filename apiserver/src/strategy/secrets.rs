//! Secrets.

use crate::meta;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

/// What a secret says in plain words is kept as its data.
pub(super) fn fill(secret: &mut Value) {
    let plain = match secret {
        Value::Object(fields) => fields.remove("stringData"),
        _ => None,
    };
    if let Some(Value::Object(plain)) = plain {
        let data = meta::entry_mut(secret, "data");
        for (key, value) in plain {
            data.insert(key, json!(STANDARD.encode(value.as_str().unwrap_or_default())));
        }
    }
    if secret["type"].as_str().is_none_or(str::is_empty) {
        secret["type"] = json!("Opaque");
    }
}

//! Secrets and config maps.

use crate::meta;
use crate::status::Cause;
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

/// Data that is said to be immutable stays so.
pub(super) fn check(object: &Value, old: Option<&Value>) -> Vec<Cause> {
    let mut causes = vec![];
    for map in ["data", "binaryData"] {
        for key in object[map].as_object().into_iter().flatten().map(|(key, _)| key) {
            if let Some(why) = key_fault(key) {
                causes.push(Cause::invalid(format!("{map}[{key}]"), &json!(key), why));
            }
        }
    }
    let Some(old) = old else { return causes };
    if object["kind"] == "Secret" && old["type"] != object["type"] {
        causes.push(Cause::invalid("type", &object["type"], "field is immutable"));
    }
    if old["immutable"] != true {
        return causes;
    }
    if object["immutable"] != true {
        causes.push(Cause::forbidden(
            "immutable",
            "field is immutable when `immutable` is set",
        ));
    }
    for field in ["data", "binaryData"] {
        if old[field] != object[field] {
            causes.push(Cause::forbidden(
                field,
                "field is immutable when `immutable` is set",
            ));
        }
    }
    causes
}

fn key_fault(key: &str) -> Option<&'static str> {
    let known = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    if key.len() > 253 {
        return Some("must be no more than 253 bytes");
    }
    (key.is_empty() || !key.chars().all(known) || key.starts_with("..") || key == ".").then_some(
        "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', \
         regex used for validation is '[-._a-zA-Z0-9]+')",
    )
}

//! Protobuf in requests: Go's typed clients send built-in kinds in it and have no fallback if it is rejected. Responses are always JSON,
//! which these clients accept.

mod message;
mod table;
mod wire;

use crate::types;
use serde_json::{Value, json};

/// The prefix of every body.
const MAGIC: &[u8] = b"k8s\0";

/// Decodes a request body to the JSON value of the same request.
///
/// # Errors
///
/// Returns a message if the body is invalid or its kind is unknown.
pub fn decode(body: &[u8]) -> Result<Value, String> {
    let envelope = body
        .strip_prefix(MAGIC)
        .ok_or("provided data does not appear to be a protobuf message, expected prefix")?;
    let envelope = message::decode(envelope, "runtime.Unknown", &types::Type::Any)?;
    let text = |key: &str| envelope["typeMeta"][key].as_str().unwrap_or_default();
    let (version, kind) = (text("apiVersion"), text("kind"));
    let raw = message::bytes_of(&envelope["raw"]);
    let mut object = if kind == "DeleteOptions" {
        message::decode(
            &raw,
            "meta.v1.DeleteOptions",
            &types::Type::named("meta.v1.DeleteOptions"),
        )?
    } else {
        let ty = types::builtin(version, kind);
        let Some(ty @ types::Type::Named(named)) = ty else {
            return Err(format!("no kind {kind:?} is registered for version {version:?}"));
        };
        message::decode(&raw, &named.name, ty)?
    };
    object["apiVersion"] = json!(version);
    object["kind"] = json!(kind);
    Ok(object)
}

#[cfg(test)]
mod tests;

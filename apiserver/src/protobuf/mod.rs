//! Protobuf, in requests only: Go's typed clients send built-in kinds in it, and fall back to nothing when it is refused. Answers are
//! JSON, which they accept.

mod message;
mod table;
mod wire;

use crate::types;
use serde_json::{Value, json};

/// What every body begins with.
const MAGIC: &[u8] = b"k8s\0";

/// Reads a body into what the same request in JSON would say.
///
/// # Errors
///
/// Says what is wrong with it.
pub(crate) fn read(body: &[u8]) -> Result<Value, String> {
    let envelope = body
        .strip_prefix(MAGIC)
        .ok_or("provided data does not appear to be a protobuf message, expected prefix")?;
    let envelope = message::read(envelope, "runtime.Unknown", &types::Type::Any)?;
    let text = |key: &str| envelope["typeMeta"][key].as_str().unwrap_or_default();
    let (version, kind) = (text("apiVersion"), text("kind"));
    let raw = message::bytes_of(&envelope["raw"]);
    let mut object = if kind == "DeleteOptions" {
        message::read(
            &raw,
            "meta.v1.DeleteOptions",
            &types::Type::named("meta.v1.DeleteOptions"),
        )?
    } else {
        let ty = types::builtin(version, kind);
        let Some(ty @ types::Type::Named(named)) = ty else {
            return Err(format!("no kind {kind:?} is registered for version {version:?}"));
        };
        message::read(&raw, &named.name, ty)?
    };
    object["apiVersion"] = json!(version);
    object["kind"] = json!(kind);
    Ok(object)
}

#[cfg(test)]
mod tests;

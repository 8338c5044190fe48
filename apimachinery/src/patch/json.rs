//! JSON patch (RFC 6902) with the deviations of evanphx/json-patch, which the real server uses: `replace` and `copy` accept a missing
//! field, negative indices count from the end, and text before a path's first slash is ignored.

use super::pointer::{PointerError, add, get, remove, replace};
use super::{Decoding, PatchError, Patched};
use crate::types::{decode, json_kind, json_length};
use serde_json::{Map, Value};

const MAX_OPERATIONS: usize = 10_000;
/// Maximum size of all copied values together, as JSON: the limit of a request body. Without it, forty copies exhaust any memory.
const MAX_COPIED_BYTES: usize = 3 << 20;
const FIELDS: [&str; 4] = ["op", "path", "from", "value"];

/// Applies a JSON patch. If one operation fails, the patch fails.
pub fn json_patch(object: &Value, body: &[u8], decoding: Decoding) -> Result<Patched, PatchError> {
    let strict = decoding == Decoding::Strict;
    let prefix = if strict { "error decoding patch: " } else { "" };
    let refuse = |message: String| PatchError::BadRequest(format!("{prefix}{message}"));
    let decoded = decode(body).map_err(refuse)?;
    let operations = match &decoded.value {
        Value::Array(operations) => operations.as_slice(),
        Value::Null => &[],
        other => {
            let list = if strict {
                "[]handlers.jsonPatchOp"
            } else {
                "jsonpatch.Patch"
            };
            return Err(refuse(format!(
                "json: cannot unmarshal {} into Go value of type {list}",
                json_kind(other)
            )));
        }
    };
    let mut strict_errors = Vec::new();
    if strict {
        strict_errors.extend(
            decoded
                .duplicates
                .iter()
                .map(|path| format!("json patch duplicate field \"{path}\"")),
        );
    }
    for (index, operation) in operations.iter().enumerate() {
        match operation {
            Value::Object(fields) if strict => {
                strict_errors.extend(check_fields(index, fields).map_err(refuse)?);
            }
            Value::Object(_) | Value::Null => {}
            other => {
                let item = if strict {
                    "handlers.jsonPatchOp"
                } else {
                    "jsonpatch.Operation"
                };
                return Err(refuse(format!(
                    "json: cannot unmarshal {} into Go value of type {item}",
                    json_kind(other)
                )));
            }
        }
    }
    crate::types::sort_strict_errors(&mut strict_errors, body);
    if operations.len() > MAX_OPERATIONS {
        return Err(PatchError::TooLarge(format!(
            "The allowed maximum operations in a JSON patch is {MAX_OPERATIONS}, got {}",
            operations.len()
        )));
    }
    let (mut object, mut copied) = (object.clone(), 0);
    for operation in operations {
        apply(&mut object, operation, &mut copied).map_err(PatchError::Unprocessable)?;
    }
    Ok(Patched {
        object,
        strict_errors,
    })
}

/// Returns the unknown fields of an operation. A non-string `op`, `path` or `from` is an error.
fn check_fields(index: usize, fields: &Map<String, Value>) -> Result<Vec<String>, String> {
    for name in ["op", "path", "from"] {
        if let Some(other) = fields
            .get(name)
            .filter(|value| !value.is_string() && !value.is_null())
        {
            let found = json_kind(other);
            return Err(format!(
                "json: cannot unmarshal {found} into Go struct field jsonPatchOp.{name} of type string"
            ));
        }
    }
    let unknown = fields.keys().filter(|name| !FIELDS.contains(&name.as_str()));
    Ok(unknown
        .map(|name| format!("json patch unknown field \"[{index}].{name}\""))
        .collect())
}

/// Describes the failure of an operation: `missing` names what has no container, `place` where another error is.
fn in_operation<'a>(
    operation: &'a str,
    missing: &'a str,
    place: &'a str,
) -> impl Fn(PointerError) -> String + 'a {
    move |error| {
        // The message of a test lacks a word.
        let subject = if operation == "test" { "" } else { "doc " };
        let lacks = |what: &str| {
            format!("{operation} operation does not apply: {subject}is missing {what}: missing value")
        };
        match error {
            PointerError::Missing => lacks(missing),
            PointerError::MissingItem => lacks(&missing.replacen("path", "key", 1)),
            PointerError::Other(why) => format!("error in {place}: {why}"),
        }
    }
}

/// Applies one operation, and adds the size of copied values to `copied`.
fn apply(object: &mut Value, operation: &Value, copied: &mut usize) -> Result<(), String> {
    let text = |name: &str| {
        operation[name]
            .as_str()
            .ok_or_else(|| format!("operation, missing {name} field: missing value"))
    };
    let value = || operation["value"].clone();
    let add_at_destination = |object: &mut Value, operation: &str, value: Value| {
        let path = text("path")?;
        let missing = format!("destination path: {path}");
        let place = format!("{operation} for path: '{path}'");
        add(object, path, value).map_err(in_operation(operation, &missing, &place))
    };
    match operation["op"].as_str().unwrap_or("unknown") {
        "add" => {
            let path = text("path")?;
            let (missing, place) = (format!("path: {path:?}"), format!("add for path: '{path}'"));
            add(object, path, value()).map_err(in_operation("add", &missing, &place))
        }
        "remove" => {
            let path = text("path")?;
            let (missing, place) = (format!("path: {path:?}"), format!("remove for path: '{path}'"));
            let removed = remove(object, path);
            removed
                .map(drop)
                .map_err(in_operation("remove", &missing, &place))
        }
        "replace" => {
            let path = text("path")?;
            // The real server names another operation here.
            let (missing, place) = (format!("path: {path}"), format!("remove for path: '{path}'"));
            replace(object, path, value()).map_err(in_operation("replace", &missing, &place))
        }
        "move" => {
            let from = text("from")?;
            let key = from.rsplit('/').next().unwrap_or_default();
            let (missing, place) = (format!("from path: {from}"), format!("move for path: '{key}'"));
            let moved = remove(object, from).map_err(in_operation("move", &missing, &place))?;
            add_at_destination(object, "move", moved)
        }
        "copy" => {
            let from = text("from")?;
            let (missing, place) = (format!("from path: {from}"), format!("copy for from: '{from}'"));
            let value = get(object, from).map_err(in_operation("copy", &missing, &place))?;
            *copied += json_length(value);
            if *copied > MAX_COPIED_BYTES {
                return Err(format!(
                    "Unable to complete the copy, the accumulated size increase of copy is {copied}, exceeding the limit {MAX_COPIED_BYTES}"
                ));
            }
            let value = value.clone();
            add_at_destination(object, "copy", value)
        }
        "test" => {
            let path = text("path")?;
            let found = if path.is_empty() {
                object
            } else {
                let (missing, place) = (format!("path: {path}"), format!("test for path: '{path}'"));
                get(object, path).map_err(in_operation("test", &missing, &place))?
            };
            if *found == operation["value"] {
                Ok(())
            } else {
                Err(format!("testing value {path} failed: test failed"))
            }
        }
        other => Err(format!("Unexpected kind: {other}")),
    }
}

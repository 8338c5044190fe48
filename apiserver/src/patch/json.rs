//! JSON patch (RFC 6902) with the liberties of the library that the real server uses: `replace` and `copy` accept a field that is not
//! there, negative indices count from the end, the text before a path's first slash is not looked at.

use super::{Decoding, PatchError, Patched};
use crate::types::{decode, json_kind};
use serde_json::{Map, Value};

const MAX_OPERATIONS: usize = 10_000;
const FIELDS: [&str; 4] = ["op", "path", "from", "value"];

/// Applies a JSON patch. All operations succeed, or the patch fails.
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
    if operations.len() > MAX_OPERATIONS {
        return Err(PatchError::TooLarge(format!(
            "The allowed maximum operations in a JSON patch is {MAX_OPERATIONS}, got {}",
            operations.len()
        )));
    }
    let mut object = object.clone();
    for operation in operations {
        apply(&mut object, operation).map_err(PatchError::Unprocessable)?;
    }
    Ok(Patched {
        object,
        strict_errors,
    })
}

/// The unknown fields of an operation. A name that is no string is an error.
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

fn apply(object: &mut Value, operation: &Value) -> Result<(), String> {
    let text = |name: &str| {
        operation[name]
            .as_str()
            .ok_or_else(|| format!("operation, missing {name} field: missing value"))
    };
    let value = || operation["value"].clone();
    match operation["op"].as_str().unwrap_or("unknown") {
        "add" => add(object, text("path")?, value()),
        "remove" => remove(object, text("path")?).map(drop),
        "replace" => replace(object, text("path")?, value()),
        "move" => {
            let moved = remove(object, text("from")?)?;
            add(object, text("path")?, moved)
        }
        "copy" => {
            let copied = get(object, text("from")?)?;
            add(object, text("path")?, copied)
        }
        "test" => {
            let path = text("path")?;
            let found = if path.is_empty() {
                object.clone()
            } else {
                get(object, path)?
            };
            if found == value() {
                Ok(())
            } else {
                Err(format!("testing value {path} failed: test failed"))
            }
        }
        other => Err(format!("Unexpected kind: {other}")),
    }
}

/// The object or array that holds what a path names, and the name within it.
fn holder<'a>(object: &'a mut Value, path: &str) -> Result<(&'a mut Value, String), String> {
    let missing = || format!("doc is missing path: {path:?}: missing value");
    let mut steps: Vec<String> = path
        .split('/')
        .skip(1)
        .map(|step| step.replace("~1", "/").replace("~0", "~"))
        .collect();
    let last = steps.pop().ok_or_else(missing)?;
    let mut place = object;
    for step in steps {
        place = match place {
            Value::Object(fields) => fields.get_mut(&step),
            Value::Array(items) => existing(&step, items.len())
                .ok()
                .and_then(|index| items.get_mut(index)),
            _ => None,
        }
        .ok_or_else(missing)?;
    }
    if place.is_object() || place.is_array() {
        Ok((place, last))
    } else {
        Err(missing())
    }
}

/// The index of an item that is there.
fn existing(step: &str, length: usize) -> Result<usize, String> {
    index(step, length).and_then(|index| {
        if index < length {
            Ok(index)
        } else {
            Err(out_of_range(step))
        }
    })
}

/// An index up to the length, counted from the end when negative.
fn index(step: &str, length: usize) -> Result<usize, String> {
    let number: i64 = step
        .parse()
        .map_err(|_| format!("value was not a proper array index: '{step}'"))?;
    let index = if number < 0 {
        i64::try_from(length).unwrap_or(i64::MAX) + number
    } else {
        number
    };
    usize::try_from(index)
        .ok()
        .filter(|index| *index <= length)
        .ok_or_else(|| out_of_range(step))
}

fn out_of_range(step: &str) -> String {
    format!("Unable to access invalid index: {step}: invalid index referenced")
}

fn add(object: &mut Value, path: &str, value: Value) -> Result<(), String> {
    let (holder, name) = holder(object, path)?;
    match holder {
        Value::Object(fields) => drop(fields.insert(name, value)),
        Value::Array(items) if name == "-" => items.push(value),
        Value::Array(items) => {
            // The new item counts: -1 appends.
            let length = items.len();
            let at = if name.starts_with('-') {
                existing(&name, length + 1)?
            } else {
                index(&name, length)?
            };
            items.insert(at, value);
        }
        _ => {}
    }
    Ok(())
}

fn remove(object: &mut Value, path: &str) -> Result<Value, String> {
    let (holder, name) = holder(object, path)?;
    match holder {
        Value::Object(fields) => fields
            .remove(&name)
            .ok_or_else(|| format!("Unable to remove nonexistent key: {name}: missing value")),
        Value::Array(items) => {
            let at = existing(&name, items.len())?;
            Ok(items.remove(at))
        }
        _ => Ok(Value::Null),
    }
}

fn replace(object: &mut Value, path: &str, value: Value) -> Result<(), String> {
    if path.is_empty() {
        if !value.is_object() && !value.is_array() {
            return Err("replace operation value must be object or array".to_owned());
        }
        *object = value;
        return Ok(());
    }
    let (holder, name) = holder(object, path)?;
    match holder {
        Value::Object(fields) => drop(fields.insert(name, value)),
        Value::Array(items) => {
            let at = existing(&name, items.len())?;
            items[at] = value;
        }
        _ => {}
    }
    Ok(())
}

/// What a path names; null when an object does not have it.
fn get(object: &mut Value, path: &str) -> Result<Value, String> {
    let (holder, name) = holder(object, path)?;
    match holder {
        Value::Array(items) => Ok(items[existing(&name, items.len())?].clone()),
        holder => Ok(holder[name.as_str()].clone()),
    }
}

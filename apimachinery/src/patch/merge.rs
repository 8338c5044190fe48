//! JSON merge patch (RFC 7386).

use super::{Decoding, PatchError, Patched};
use crate::types::{decode, json_kind};
use serde_json::Value;

/// Applies a merge patch: null removes a field, an object is merged into an object, any other value replaces. Nulls within new values are
/// dropped, except as list items.
pub fn merge_patch(object: &Value, body: &[u8], decoding: Decoding) -> Result<Patched, PatchError> {
    let invalid = || PatchError::BadRequest("Invalid JSON Patch".to_owned());
    let strict = decoding == Decoding::Strict;
    let decoded = decode(body).map_err(|message| {
        if strict {
            PatchError::BadRequest(format!("error decoding patch: {message}"))
        } else {
            invalid()
        }
    })?;
    match &decoded.value {
        Value::Object(_) => {}
        Value::Null => return Err(invalid()),
        other if strict => {
            let found = json_kind(other);
            return Err(PatchError::BadRequest(format!(
                "error decoding patch: json: cannot unmarshal {found} into Go value of type map[string]interface {{}}"
            )));
        }
        // A list replaces the object; decoding the result rejects it.
        Value::Array(_) => {}
        _ => return Err(invalid()),
    }
    let mut object = object.clone();
    merge(&mut object, decoded.value);
    Ok(Patched::new(object, &decoded.duplicates, decoding))
}

fn merge(current: &mut Value, patch: Value) {
    match (current, patch) {
        (Value::Object(fields), Value::Object(patch)) => {
            for (name, value) in patch {
                if value.is_null() {
                    fields.remove(&name);
                    continue;
                }
                // A null field is merged into like a missing one.
                merge(fields.entry(name).or_insert(Value::Null), value);
            }
        }
        (current, mut patch) => {
            drop_nulls(&mut patch);
            *current = patch;
        }
    }
}

/// Removes fields that are null.
pub(super) fn drop_nulls(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|_, value| !value.is_null());
            fields.values_mut().for_each(drop_nulls);
        }
        Value::Array(items) => items.iter_mut().for_each(drop_nulls),
        _ => {}
    }
}

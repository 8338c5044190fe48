//! The JSON patch of a defaulter: what it changed, and nothing else.
//!
//! The defaulter sees a typed object, which may lack fields of the raw one, and has others, which are serialized as empty. So its change is
//! the difference between the typed object before and after, both serialized; [`merged`] applies that to the raw object.

use json_patch::Patch;
use serde_json::{Map, Value};

/// The field that identifies an element of a list, in most lists of Kubernetes.
const LIST_KEY: &str = "name";

/// Returns the patch of the raw object that makes the change from `before` to `after`.
pub(super) fn patch(raw: &Value, before: &Value, after: &Value) -> Patch {
    if before == after {
        return Patch::default();
    }
    json_patch::diff(raw, &merged(raw, before, after))
}

/// Returns the raw value with the change from `before` to `after`.
pub(super) fn merged(raw: &Value, before: &Value, after: &Value) -> Value {
    if before == after {
        return raw.clone();
    }
    match (raw, before, after) {
        (Value::Object(raw), Value::Object(before), Value::Object(after)) => {
            Value::Object(merged_fields(raw, before, after))
        }
        (Value::Array(raw), Value::Array(before), Value::Array(after)) if raw.len() == before.len() => {
            Value::Array(merged_elements(raw, before, after))
        }
        _ => after.clone(),
    }
}

fn merged_fields(
    raw: &Map<String, Value>,
    before: &Map<String, Value>,
    after: &Map<String, Value>,
) -> Map<String, Value> {
    let mut fields = raw.clone();
    fields.retain(|key, _| !before.contains_key(key) || after.contains_key(key));
    for (key, value) in after {
        let merged = match (raw.get(key), before.get(key)) {
            (_, Some(before)) if before == value => continue,
            (Some(raw), Some(before)) => merged(raw, before, value),
            _ => value.clone(),
        };
        fields.insert(key.clone(), merged);
    }
    fields
}

fn merged_elements(raw: &[Value], before: &[Value], after: &[Value]) -> Vec<Value> {
    let origins = origins(before, after);
    let elements = after.iter().zip(origins);
    elements
        .map(|(value, origin)| match origin {
            Some(origin) => merged(&raw[origin], &before[origin], value),
            None => value.clone(),
        })
        .collect()
}

/// Returns for each element of `after` the index of the element of `before` that it was, each once: an equal one, else one of the same
/// name, else, if both lists have the same length, the one at the same place.
fn origins(before: &[Value], after: &[Value]) -> Vec<Option<usize>> {
    // Most lists change at one place: equal beginnings and ends are found without a search.
    let pairs = before.iter().zip(after);
    let prefix = pairs.take_while(|(before, after)| before == after).count();
    let rest = before.len().min(after.len()) - prefix;
    let ends = before.iter().rev().zip(after.iter().rev()).take(rest);
    let suffix = ends.take_while(|(before, after)| before == after).count();
    let changed = prefix..after.len() - suffix;
    let mut is_free = vec![true; before.len()];
    let mut origins: Vec<Option<usize>> = (0..after.len())
        .map(|index| match index {
            index if index < changed.start => Some(index),
            index if index >= changed.end => Some(index + before.len() - after.len()),
            _ => None,
        })
        .collect();
    let is_same: [fn(&Value, &Value) -> bool; 2] = [|before, after| before == after, has_same_name];
    for is_same in is_same {
        for index in changed.clone() {
            if origins[index].is_some() {
                continue;
            }
            let mut candidates = prefix..before.len() - suffix;
            let found = candidates.find(|&origin| is_free[origin] && is_same(&before[origin], &after[index]));
            if let Some(origin) = found {
                origins[index] = Some(origin);
                is_free[origin] = false;
            }
        }
    }
    if before.len() == after.len() {
        for index in changed.clone() {
            // Different names: another element.
            let is_changed = name(&before[index]).is_none() || name(&after[index]).is_none();
            if origins[index].is_none() && is_free[index] && is_changed {
                origins[index] = Some(index);
            }
        }
    }
    origins
}

fn has_same_name(before: &Value, after: &Value) -> bool {
    name(before).is_some() && name(before) == name(after)
}

fn name(element: &Value) -> Option<&str> {
    element.get(LIST_KEY)?.as_str()
}

#[cfg(test)]
#[path = "patch_tests.rs"]
mod tests;

//! What a path of a JSON patch names, and what can be done there.

use crate::types::{MAX_DEPTH, nesting_depth};
use serde_json::Value;

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

/// Refuses what would be deeper than a body may be: whoever walks it walks on a stack.
fn check_depth(path: &str, value: &Value) -> Result<(), String> {
    if path.matches('/').count() + nesting_depth(value) > MAX_DEPTH {
        return Err(format!("Unable to nest deeper than {MAX_DEPTH} levels"));
    }
    Ok(())
}

pub(super) fn add(object: &mut Value, path: &str, value: Value) -> Result<(), String> {
    check_depth(path, &value)?;
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

pub(super) fn remove(object: &mut Value, path: &str) -> Result<Value, String> {
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

pub(super) fn replace(object: &mut Value, path: &str, value: Value) -> Result<(), String> {
    check_depth(path, &value)?;
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
pub(super) fn get<'a>(object: &'a mut Value, path: &str) -> Result<&'a Value, String> {
    let (holder, name) = holder(object, path)?;
    match holder {
        Value::Array(items) => Ok(&items[existing(&name, items.len())?]),
        holder => Ok(&holder[name.as_str()]),
    }
}

//! JSON pointers of a JSON patch, and the operations at their target.

use crate::types::{MAX_DEPTH, nesting_depth};
use serde_json::Value;

/// Why a path has no target.
pub(super) enum PointerError {
    /// Nothing contains the target.
    Missing,
    /// A list lacks the item that is to be replaced.
    MissingItem,
    Other(String),
}

impl From<String> for PointerError {
    fn from(why: String) -> Self {
        Self::Other(why)
    }
}

/// Returns the object or array that contains the target of a path, and the last step of the path.
fn container<'a>(object: &'a mut Value, path: &str) -> Result<(&'a mut Value, String), PointerError> {
    let missing = || PointerError::Missing;
    let mut steps: Vec<String> = path
        .split('/')
        .skip(1)
        .map(|step| step.replace("~1", "/").replace("~0", "~"))
        .collect();
    let last = steps.pop().ok_or_else(missing)?;
    let mut parent = object;
    for step in steps {
        parent = match parent {
            Value::Object(fields) => fields.get_mut(&step),
            Value::Array(items) => existing_index(&step, items.len())
                .ok()
                .and_then(|index| items.get_mut(index)),
            _ => None,
        }
        .ok_or_else(missing)?;
    }
    if parent.is_object() || parent.is_array() {
        Ok((parent, last))
    } else {
        Err(missing())
    }
}

/// Returns the index of an existing item.
fn existing_index(step: &str, length: usize) -> Result<usize, String> {
    let found = Some(index(step, length)?).filter(|index| *index < length);
    found.ok_or_else(|| out_of_range(step))
}

/// Parses an index between 0 and the length; a negative one counts from the end.
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

/// Rejects nesting that is deeper than a request body may be: values are walked recursively.
fn check_depth(path: &str, value: &Value) -> Result<(), String> {
    if path.matches('/').count() + nesting_depth(value) > MAX_DEPTH {
        return Err(format!("Unable to nest deeper than {MAX_DEPTH} levels"));
    }
    Ok(())
}

pub(super) fn add(object: &mut Value, path: &str, value: Value) -> Result<(), PointerError> {
    check_depth(path, &value)?;
    let (container, name) = container(object, path)?;
    match container {
        Value::Object(fields) => drop(fields.insert(name, value)),
        Value::Array(items) if name == "-" => items.push(value),
        Value::Array(items) => {
            // The new item counts for negative indices: -1 appends.
            let length = items.len();
            let at = if name.starts_with('-') {
                existing_index(&name, length + 1)?
            } else {
                index(&name, length)?
            };
            items.insert(at, value);
        }
        _ => {}
    }
    Ok(())
}

pub(super) fn remove(object: &mut Value, path: &str) -> Result<Value, PointerError> {
    let (container, name) = container(object, path)?;
    match container {
        Value::Object(fields) => fields
            .remove(&name)
            .ok_or_else(|| format!("Unable to remove nonexistent key: {name}: missing value").into()),
        Value::Array(items) => {
            let at = existing_index(&name, items.len())?;
            Ok(items.remove(at))
        }
        _ => Ok(Value::Null),
    }
}

pub(super) fn replace(object: &mut Value, path: &str, value: Value) -> Result<(), PointerError> {
    check_depth(path, &value)?;
    if path.is_empty() {
        if !value.is_object() && !value.is_array() {
            let why = "replace operation value must be object or array".to_owned();
            return Err(why.into());
        }
        *object = value;
        return Ok(());
    }
    let (container, name) = container(object, path)?;
    match container {
        Value::Object(fields) => drop(fields.insert(name, value)),
        Value::Array(items) => {
            let at = existing_index(&name, items.len()).map_err(|_| PointerError::MissingItem)?;
            items[at] = value;
        }
        _ => {}
    }
    Ok(())
}

/// Returns the target of a path; null for a missing field of an object.
pub(super) fn get<'a>(object: &'a mut Value, path: &str) -> Result<&'a Value, PointerError> {
    let (container, name) = container(object, path)?;
    match container {
        Value::Array(items) => Ok(&items[existing_index(&name, items.len())?]),
        container => Ok(&container[name.as_str()]),
    }
}

//! Merging and ordering of lists: items of the patch in the patch's order, among server-only items in the server's order.

use super::{
    DIRECTIVE, FieldPatch, JsonObject, PatchError, internal, merge_map, received_type, unknown_directive,
};
use crate::go_format;
use serde_json::Value;
use std::mem::discriminant;

/// Merges two lists: scalars as a set, objects by their merge key.
pub(super) fn merge_list(
    original: Vec<Value>,
    patch: Vec<Value>,
    field_patch: &FieldPatch<'_>,
    deletes: bool,
) -> Result<Vec<Value>, PatchError> {
    let Some(first) = original.first().or(patch.first()) else {
        return Ok(original);
    };
    check_same_item_types(&original, &patch)?;
    if !first.is_object() {
        if deletes {
            return Ok(original
                .into_iter()
                .filter(|item| !patch.contains(item))
                .collect());
        }
        let mut merged: Vec<Value> = Vec::new();
        for item in original.iter().chain(&patch) {
            if !merged.contains(item) {
                merged.push(item.clone());
            }
        }
        return sort_items(merged, &patch, &original, None);
    }
    let Some(key) = field_patch.patch.merge_key.as_deref() else {
        return internal("cannot merge lists without merge key for struct".to_owned());
    };
    let (mut merged, patch) = apply_directives(original, patch, key)?;
    // Items that a directive deleted have no position.
    let server_order = merged.clone();
    for item in &patch {
        let Value::Object(fields) = item else { continue };
        let wanted = key_of(fields, key)?;
        match merged.iter_mut().find(|item| item.get(key) == Some(wanted)) {
            Some(found) => {
                if let Value::Object(original) = found.take() {
                    *found = Value::Object(merge_map(original, fields.clone(), field_patch.ty)?);
                }
            }
            None => merged.push(item.clone()),
        }
    }
    sort_items(merged, &patch, &server_order, Some(key))
}

/// Checks that the items of both lists have one type and are not lists.
pub(super) fn check_same_item_types(original: &[Value], patch: &[Value]) -> Result<(), PatchError> {
    let Some(first) = original.first().or(patch.first()) else {
        return Ok(());
    };
    if first.is_array() {
        return Err(PatchError::Unprocessable(
            "lists of lists are not supported".to_owned(),
        ));
    }
    if original
        .iter()
        .chain(patch)
        .any(|item| discriminant(item) != discriminant(first))
    {
        let lists = Value::Array(vec![
            Value::Array(original.to_vec()),
            Value::Array(patch.to_vec()),
        ]);
        return internal(format!(
            "list element types are not identical: {}",
            go_format::show(&lists)
        ));
    }
    Ok(())
}

/// Returns the fields of an item of a keyed list.
fn object_item(item: &Value) -> Result<&JsonObject, PatchError> {
    let Value::Object(fields) = item else {
        let found = received_type(item);
        return internal(format!(
            "expected a map[string]interface {{}}, but received a {found}"
        ));
    };
    Ok(fields)
}

fn key_of<'a>(fields: &'a JsonObject, key: &str) -> Result<&'a Value, PatchError> {
    if let Some(value) = fields.get(key) {
        return Ok(value);
    }
    let shown = go_format::show(&Value::Object(fields.clone()));
    internal(format!("map: {shown} does not contain declared merge key: {key}"))
}

/// Applies the items with a directive. Returns the list without the items that they delete, and the items of the patch without a directive.
/// With `replace`, the latter are the whole list.
fn apply_directives(
    mut original: Vec<Value>,
    patch: Vec<Value>,
    key: &str,
) -> Result<(Vec<Value>, Vec<Value>), PatchError> {
    let mut rest = Vec::new();
    let mut replaces = false;
    for item in patch {
        let Some(directive) = item.get(DIRECTIVE) else {
            rest.push(item);
            continue;
        };
        let Value::Object(fields) = &item else { continue };
        match directive.as_str() {
            Some("delete") => {
                let wanted = key_of(fields, key)?;
                original.retain(|item| item.get(key) != Some(wanted));
            }
            Some("replace") => replaces = true,
            Some("merge") => {
                return internal("merging lists cannot yet be specified in the patch".to_owned());
            }
            _ => return internal(unknown_directive(directive, fields)),
        }
    }
    Ok(if replaces {
        (rest, Vec::new())
    } else {
        (original, rest)
    })
}

/// Orders a merged list: items of `wanted` in its order, the others in the server's order. An item of the server precedes an item of the
/// patch only if the server had both in this order.
pub(super) fn sort_items(
    merged: Vec<Value>,
    wanted: &[Value],
    server: &[Value],
    key: Option<&str>,
) -> Result<Vec<Value>, PatchError> {
    if let Some(key) = key {
        for item in merged.iter().chain(wanted).chain(server) {
            key_of(object_item(item)?, key)?;
        }
    }
    let position = |list: &[Value], item: &Value| match key {
        Some(key) => list.iter().position(|other| other.get(key) == item.get(key)),
        None => list.iter().position(|other| other == item),
    };
    let (mut patched, mut others): (Vec<Value>, Vec<Value>) = merged
        .into_iter()
        .partition(|item| position(wanted, item).is_some());
    patched.sort_by_key(|item| position(wanted, item));
    others.sort_by_key(|item| position(server, item));
    let mut ordered = Vec::with_capacity(patched.len() + others.len());
    let mut patched = patched.into_iter().peekable();
    let mut others = others.into_iter().peekable();
    while let Some(other) = others.peek() {
        let Some(next) = patched.peek() else { break };
        let goes_first = matches!((position(server, other), position(server, next)), (Some(other), Some(next)) if other < next);
        ordered.extend(if goes_first { others.next() } else { patched.next() });
    }
    ordered.extend(others);
    ordered.extend(patched);
    Ok(ordered)
}

/// Checks that all items of the patch are in `$setElementOrder`, in the same order.
pub(super) fn check_order(patch: &[Value], wanted: &[Value], key: Option<&str>) -> Result<(), PatchError> {
    if patch.is_empty() || wanted.is_empty() {
        return Ok(());
    }
    if key.is_some() {
        for item in patch {
            object_item(item)?;
        }
    }
    let is_delete =
        |item: &&Value| key.is_some() && item.get(DIRECTIVE).is_some_and(|directive| directive == "delete");
    let items: Vec<&Value> = patch.iter().filter(|item| !is_delete(item)).collect();
    let mut found = 0;
    let mut orders = wanted.iter();
    // An item with another directive needs no position, but only while positions are left: the real server counts like this.
    while let Some(item) = items.get(found) {
        if item.get(DIRECTIVE).is_some() && orders.len() > 0 {
            found += 1;
            continue;
        }
        let Some(other) = orders.next() else { break };
        let same = match key {
            Some(key) => key_of(object_item(item)?, key)? == key_of(object_item(other)?, key)?,
            None => *item == other,
        };
        found += usize::from(same);
    }
    if found == items.len() {
        return Ok(());
    }
    let shown = |items: &[Value]| go_format::show(&Value::Array(items.to_vec()));
    let (patch, wanted) = (shown(patch), shown(wanted));
    internal(format!(
        "The order in patch list:\n{patch}\n doesn't match $setElementOrder list:\n{wanted}\n"
    ))
}

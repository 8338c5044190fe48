//! Merging lists, and their order: what the patch has in the patch's order, among what only the server has in the server's.

use super::{DIRECTIVE, Object, PatchError, Place, go, internal, merge_map, unknown_directive};
use serde_json::Value;
use std::mem::discriminant;

/// Merges two lists of scalars, which become a set, or of objects, by the key.
pub(super) fn merge_list(
    original: Vec<Value>,
    patch: Vec<Value>,
    place: &Place<'_>,
    deletes: bool,
) -> Result<Vec<Value>, PatchError> {
    let Some(first) = original.first().or(patch.first()) else {
        return Ok(original);
    };
    check_same_types(&original, &patch)?;
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
        return order(merged, &patch, &original, None);
    }
    let Some(key) = place.patch.merge_key.as_deref() else {
        return internal("cannot merge lists without merge key for struct".to_owned());
    };
    let (mut merged, patch) = apply_directives(original, patch, key)?;
    // What a directive deleted has no place any more.
    let server_order = merged.clone();
    for item in &patch {
        let Value::Object(fields) = item else { continue };
        let wanted = key_of(fields, key)?;
        match merged.iter_mut().find(|item| item.get(key) == Some(wanted)) {
            Some(found) => {
                if let Value::Object(original) = found.take() {
                    *found = Value::Object(merge_map(original, fields.clone(), place.ty)?);
                }
            }
            None => merged.push(item.clone()),
        }
    }
    order(merged, &patch, &server_order, Some(key))
}

/// The items of both lists are of one type, and no lists.
pub(super) fn check_same_types(original: &[Value], patch: &[Value]) -> Result<(), PatchError> {
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
            go::show(&lists)
        ));
    }
    Ok(())
}

fn key_of<'a>(fields: &'a Object, key: &str) -> Result<&'a Value, PatchError> {
    if let Some(value) = fields.get(key) {
        return Ok(value);
    }
    let shown = go::show(&Value::Object(fields.clone()));
    internal(format!("map: {shown} does not contain declared merge key: {key}"))
}

/// Does what the items with a directive say: the list without what they delete, and the items without one. With `replace`, those are
/// the whole list.
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

/// Orders a merged list: the items that `wanted` has as it has them, the others as the server had them. An item of the server comes
/// before one of the patch only when the server had both and in this order.
pub(super) fn order(
    merged: Vec<Value>,
    wanted: &[Value],
    server: &[Value],
    key: Option<&str>,
) -> Result<Vec<Value>, PatchError> {
    if let Some(key) = key {
        for item in merged.iter().chain(wanted).chain(server) {
            match item {
                Value::Object(fields) => drop(key_of(fields, key)?),
                other => {
                    return internal(format!(
                        "expected a map[string]interface {{}}, but received a {}",
                        go::type_name(other)
                    ));
                }
            }
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

/// The items of the patch must all stand in `$setElementOrder`, and in the same order.
pub(super) fn check_order(patch: &[Value], wanted: &[Value], key: Option<&str>) -> Result<(), PatchError> {
    if patch.is_empty() || wanted.is_empty() {
        return Ok(());
    }
    let is_delete =
        |item: &&Value| key.is_some() && item.get(DIRECTIVE).is_some_and(|directive| directive == "delete");
    let items: Vec<&Value> = patch.iter().filter(|item| !is_delete(item)).collect();
    let mut found = 0;
    let mut orders = wanted.iter();
    // An item with another directive needs no place, but only as long as there are places left: so does the real server count.
    while let Some(item) = items.get(found) {
        if item.get(DIRECTIVE).is_some() && orders.len() > 0 {
            found += 1;
            continue;
        }
        let Some(other) = orders.next() else { break };
        let same = match (key, item, other) {
            (Some(key), Value::Object(item), Value::Object(other)) => {
                key_of(item, key)? == key_of(other, key)?
            }
            _ => *item == other,
        };
        found += usize::from(same);
    }
    if found == items.len() {
        return Ok(());
    }
    let shown = |items: &[Value]| go::show(&Value::Array(items.to_vec()));
    let (patch, wanted) = (shown(patch), shown(wanted));
    internal(format!(
        "The order in patch list:\n{patch}\n doesn't match $setElementOrder list:\n{wanted}\n"
    ))
}

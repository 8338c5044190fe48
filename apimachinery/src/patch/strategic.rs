//! Strategic merge patch: merges lists by key where the type says so; directives in the patch delete, replace and order.

use super::{Decoding, PatchError, Patched, merge::drop_nulls};
use crate::field::FieldError;
use crate::go_format;
use crate::types::{Field, PatchStrategy, Type, convert, decode, json_kind};
use list::{merge_list, sort_items};
use serde_json::{Map, Value};

mod list;

const DIRECTIVE: &str = "$patch";
const RETAIN_KEYS: &str = "$retainKeys";
const SET_ELEMENT_ORDER: &str = "$setElementOrder";
const DELETE_FROM_PRIMITIVE_LIST: &str = "$deleteFromPrimitiveList";

type JsonObject = Map<String, Value>;

/// Applies a strategic merge patch to an object of a built-in kind. Custom resources do not support it (415).
pub fn strategic_merge_patch(
    object: &Value,
    body: &[u8],
    ty: &Type,
    decoding: Decoding,
) -> Result<Patched, PatchError> {
    let decoded = decode(body).map_err(PatchError::BadRequest)?;
    let patch = match decoded.value {
        Value::Object(patch) => patch,
        Value::Null => JsonObject::new(),
        other => {
            let found = json_kind(&other);
            return Err(PatchError::BadRequest(format!(
                "json: cannot unmarshal {found} into Go value of type map[string]interface {{}}"
            )));
        }
    };
    let shown = go_format::show(&Value::Object(patch.clone()));
    let original = object.as_object().cloned().unwrap_or_default();
    let mut patched = Value::Object(merge_map(original, patch, ty)?);
    if let Err(detail) = convert(&mut patched, ty) {
        return Err(PatchError::Invalid(FieldError::invalid("patch", shown, detail)));
    }
    // The Go type of the result says what it is.
    for key in ["apiVersion", "kind"] {
        if let Some(value) = object.get(key) {
            patched[key] = value.clone();
        }
    }
    Ok(Patched::new(patched, &decoded.duplicates, decoding))
}

fn internal<T>(message: String) -> Result<T, PatchError> {
    Err(PatchError::Internal(message))
}

fn bad_request<T>(message: &str) -> Result<T, PatchError> {
    Err(PatchError::BadRequest(message.to_owned()))
}

/// The type and patch strategy of a field.
struct FieldPatch<'a> {
    /// The type of the field, or of the items of its list.
    ty: &'a Type,
    patch: &'a PatchStrategy,
}

fn field_patch<'a>(ty: &'a Type, name: &str) -> Result<FieldPatch<'a>, PatchError> {
    let map = ty.as_map().map(|(map, _)| map);
    if let Some(Field { ty, patch, .. }) = map.and_then(|map| map.fields.get(name)) {
        return Ok(FieldPatch {
            ty: ty.as_list().map_or(ty, |list| &list.items),
            patch,
        });
    }
    if map.is_some_and(|map| map.values.is_some()) {
        return internal("merging an object in json but data type is not struct, instead is: map".to_owned());
    }
    let container = match ty {
        Type::Named(named) => named.name.rsplit('.').next().unwrap_or_default(),
        // JSON of any form.
        _ => "RawExtension",
    };
    internal(format!(
        "unable to find api field in struct {container} for the json field {name:?}"
    ))
}

fn merge_map(mut original: JsonObject, mut patch: JsonObject, ty: &Type) -> Result<JsonObject, PatchError> {
    match patch.get(DIRECTIVE) {
        None => {}
        Some(Value::String(directive)) if directive == "replace" => {
            patch.remove(DIRECTIVE);
            return Ok(patch);
        }
        Some(Value::String(directive)) if directive == "delete" => return Ok(JsonObject::new()),
        Some(other) => return internal(unknown_directive(other, &patch)),
    }
    retain_keys(&mut original, &mut patch)?;
    let orders: Vec<String> = patch
        .keys()
        .filter(|name| name.starts_with(SET_ELEMENT_ORDER))
        .cloned()
        .collect();
    for name in orders {
        if let Some(order) = patch.remove(&name) {
            merge_ordered(&mut original, &mut patch, &name, order, ty)?;
        }
    }
    for (name, value) in patch {
        let deletes = name.starts_with(DELETE_FROM_PRIMITIVE_LIST);
        let name = match name.strip_prefix(DELETE_FROM_PRIMITIVE_LIST) {
            None => name,
            Some(rest) => match rest.strip_prefix('/') {
                Some(field) => field.to_owned(),
                None => return bad_request("invalid patch format of primitive list"),
            },
        };
        if value.is_null() {
            original.remove(&name);
            continue;
        }
        let merged = match (original.get_mut(&name).map(Value::take), value) {
            (Some(Value::Object(original)), Value::Object(patch)) => {
                let field_patch = field_patch(ty, &name)?;
                let merged = if field_patch.patch.replace {
                    patch
                } else {
                    merge_map(original, patch, field_patch.ty)?
                };
                Some(Value::Object(merged))
            }
            (Some(Value::Array(original)), Value::Array(patch)) => {
                let field_patch = field_patch(ty, &name)?;
                let merged = if deletes || field_patch.patch.merge {
                    merge_list(original, patch, &field_patch, deletes)?
                } else {
                    patch
                };
                Some(Value::Array(merged))
            }
            (Some(original), _) if deletes => Some(original),
            (None, _) if deletes => continue,
            (_, mut patch) => {
                drop_nulls(&mut patch);
                without_directives(patch)
            }
        };
        match merged {
            Some(merged) => drop(original.insert(name, merged)),
            None => drop(original.remove(&name)),
        }
    }
    Ok(original)
}

/// The Go type of a value of the wrong type, as messages show it.
fn received_type(value: &Value) -> &'static str {
    if value.is_null() {
        "%!s(<nil>)"
    } else {
        go_format::type_name(value)
    }
}

fn unknown_directive(directive: &Value, container: &JsonObject) -> String {
    format!(
        "unknown patch type: {} in map: {}",
        go_format::show(directive),
        go_format::show(&Value::Object(container.clone()))
    )
}

/// Applies `$retainKeys`, the list of all fields to keep. A patch that sets other fields is invalid.
fn retain_keys(original: &mut JsonObject, patch: &mut JsonObject) -> Result<(), PatchError> {
    const INVALID: &str = "invalid patch format of retainKeys";
    let Some(retained) = patch.remove(RETAIN_KEYS) else {
        return Ok(());
    };
    let Value::Array(retained) = retained else {
        return bad_request(INVALID);
    };
    let is_retained = |name: &str| retained.iter().any(|kept| kept == name);
    let sets_others = patch.iter().any(|(name, value)| {
        !value.is_null()
            && !name.starts_with(DELETE_FROM_PRIMITIVE_LIST)
            && !name.starts_with(SET_ELEMENT_ORDER)
            && !is_retained(name)
    });
    if sets_others {
        return bad_request(INVALID);
    }
    original.retain(|name, _| is_retained(name));
    Ok(())
}

/// Merges a list with its `$setElementOrder` directive.
fn merge_ordered(
    original: &mut JsonObject,
    patch: &mut JsonObject,
    directive: &str,
    wanted: Value,
    ty: &Type,
) -> Result<(), PatchError> {
    let as_list = |value: Value| match value {
        Value::Array(items) => Ok(items),
        other => internal(format!(
            "expected a []interface {{}}, but received a {}",
            received_type(&other)
        )),
    };
    let wanted = as_list(wanted)?;
    let Some(name) = directive
        .strip_prefix(SET_ELEMENT_ORDER)
        .and_then(|rest| rest.strip_prefix('/'))
    else {
        return bad_request("invalid patch format of setElementOrder list");
    };
    let current = original.get(name).cloned().map(as_list).transpose()?;
    let patched = patch.get(name).cloned().map(as_list).transpose()?;
    let field_patch = field_patch(ty, name)?;
    let key = field_patch.patch.merge_key.as_deref();
    list::check_order(patched.as_deref().unwrap_or_default(), &wanted, key)?;
    let server_order = current.clone().unwrap_or_default();
    let sent = patched.clone().unwrap_or_default();
    let merged = match (current, patched) {
        (None, None) => return Ok(()),
        (Some(current), None) => current,
        (None, Some(patched)) => patched.into_iter().filter_map(without_directives).collect(),
        (Some(current), Some(patched)) if field_patch.patch.merge => {
            merge_list(current, patched, &field_patch, false)?
        }
        (Some(_), Some(patched)) => patched,
    };
    if server_order.is_empty() && sent.is_empty() {
        return internal("no elements in any of the given slices".to_owned());
    }
    list::check_same_item_types(&server_order, &sent)?;
    patch.remove(name);
    original.insert(
        name.to_owned(),
        Value::Array(sort_items(merged, &wanted, &server_order, key)?),
    );
    Ok(())
}

/// Removes directives from a new value; none for a value that has a directive itself.
fn without_directives(value: Value) -> Option<Value> {
    Some(match value {
        Value::Object(fields) if fields.contains_key(DIRECTIVE) => return None,
        Value::Object(fields) => Value::Object(
            fields
                .into_iter()
                .filter_map(|(name, value)| Some((name, without_directives(value)?)))
                .collect(),
        ),
        Value::Array(items) => Value::Array(items.into_iter().filter_map(without_directives).collect()),
        other => other,
    })
}

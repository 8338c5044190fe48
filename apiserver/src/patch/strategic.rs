//! Strategic merge patch: lists are merged by a key where the kind says so, and directives in the patch delete, replace and order.

use super::{Decoding, PatchError, Patched, go, merge::drop_nulls};
use crate::field::FieldError;
use crate::types::{Field, PatchStrategy, Type, check_convertible, decode, json_kind};
use list::{merge_list, order};
use serde_json::{Map, Value};

mod list;

const DIRECTIVE: &str = "$patch";
const RETAIN_KEYS: &str = "$retainKeys";
const ORDER: &str = "$setElementOrder";
const DELETE_FROM: &str = "$deleteFromPrimitiveList";

type Object = Map<String, Value>;

/// Applies a strategic merge patch to an object of a built-in kind. For custom resources the real server knows no such patch: 415.
pub fn strategic_merge_patch(
    object: &Value,
    body: &[u8],
    ty: &Type,
    decoding: Decoding,
) -> Result<Patched, PatchError> {
    let decoded = decode(body).map_err(PatchError::BadRequest)?;
    let patch = match decoded.value {
        Value::Object(patch) => patch,
        Value::Null => Object::new(),
        other => {
            let found = json_kind(&other);
            return Err(PatchError::BadRequest(format!(
                "json: cannot unmarshal {found} into Go value of type map[string]interface {{}}"
            )));
        }
    };
    let shown = go::show(&Value::Object(patch.clone()));
    let original = object.as_object().cloned().unwrap_or_default();
    let object = Value::Object(merge_map(original, patch, ty)?);
    if let Err(detail) = check_convertible(&object, ty) {
        return Err(PatchError::Invalid(FieldError::invalid("patch", shown, detail)));
    }
    let duplicates = decoded.duplicates.iter().filter(|_| decoding == Decoding::Strict);
    Ok(Patched {
        object,
        strict_errors: duplicates
            .map(|path| format!("duplicate field \"{path}\""))
            .collect(),
    })
}

fn internal<T>(message: String) -> Result<T, PatchError> {
    Err(PatchError::Internal(message))
}

fn bad_request<T>(message: &str) -> Result<T, PatchError> {
    Err(PatchError::BadRequest(message.to_owned()))
}

/// What is known of a field.
struct Place<'a> {
    /// The type of the field, or of the items of its list.
    ty: &'a Type,
    patch: PatchStrategy,
}

fn place<'a>(ty: &'a Type, name: &str) -> Result<Place<'a>, PatchError> {
    let Some((map, _)) = ty.as_map() else {
        return internal(
            "merging an object in json but data type is not struct, instead is: interface".to_owned(),
        );
    };
    match map.fields.get(name) {
        Some(Field { ty, patch, .. }) => Ok(Place {
            ty: ty.as_list().map_or(ty, |list| &list.items),
            patch: patch.clone(),
        }),
        None if map.values.is_some() => {
            internal("merging an object in json but data type is not struct, instead is: map".to_owned())
        }
        None => {
            let holder = match ty {
                Type::Named(named) => named.name.rsplit('.').next().unwrap_or_default(),
                _ => "",
            };
            internal(format!(
                "unable to find api field in struct {holder} for the json field {name:?}"
            ))
        }
    }
}

fn merge_map(mut original: Object, mut patch: Object, ty: &Type) -> Result<Object, PatchError> {
    match patch.get(DIRECTIVE) {
        None => {}
        Some(Value::String(directive)) if directive == "replace" => {
            patch.remove(DIRECTIVE);
            return Ok(patch);
        }
        Some(Value::String(directive)) if directive == "delete" => return Ok(Object::new()),
        Some(other) => return internal(unknown_directive(other, &patch)),
    }
    retain_keys(&mut original, &mut patch)?;
    let orders: Vec<String> = patch
        .keys()
        .filter(|name| name.starts_with(ORDER))
        .cloned()
        .collect();
    for name in orders {
        if let Some(order) = patch.remove(&name) {
            merge_ordered(&mut original, &mut patch, &name, order, ty)?;
        }
    }
    for (name, value) in patch {
        let deletes = name.starts_with(DELETE_FROM);
        let name = match name.strip_prefix(DELETE_FROM) {
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
                let place = place(ty, &name)?;
                let merged = if place.patch.replace {
                    patch
                } else {
                    merge_map(original, patch, place.ty)?
                };
                Some(Value::Object(merged))
            }
            (Some(Value::Array(original)), Value::Array(patch)) => {
                let place = place(ty, &name)?;
                let merged = if deletes || place.patch.merge {
                    merge_list(original, patch, &place, deletes)?
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

fn unknown_directive(directive: &Value, holder: &Object) -> String {
    format!(
        "unknown patch type: {} in map: {}",
        go::show(directive),
        go::show(&Value::Object(holder.clone()))
    )
}

/// `$retainKeys` lists all fields that are to stay; the patch may not set others.
fn retain_keys(original: &mut Object, patch: &mut Object) -> Result<(), PatchError> {
    const INVALID: &str = "invalid patch format of retainKeys";
    let Some(retained) = patch.remove(RETAIN_KEYS) else {
        return Ok(());
    };
    let Value::Array(retained) = retained else {
        return bad_request(INVALID);
    };
    let is_retained = |name: &str| retained.iter().any(|kept| kept == name);
    let sets_others = patch.iter().any(|(name, value)| {
        !value.is_null() && !name.starts_with(DELETE_FROM) && !name.starts_with(ORDER) && !is_retained(name)
    });
    if sets_others {
        return bad_request(INVALID);
    }
    original.retain(|name, _| is_retained(name));
    Ok(())
}

/// Merges a list that comes with its order.
fn merge_ordered(
    original: &mut Object,
    patch: &mut Object,
    directive: &str,
    wanted: Value,
    ty: &Type,
) -> Result<(), PatchError> {
    let as_list = |value: Value| match value {
        Value::Array(items) => Ok(items),
        other => internal(format!(
            "expected a []interface {{}}, but received a {}",
            go::type_name(&other)
        )),
    };
    let wanted = as_list(wanted)?;
    let Some(name) = directive
        .strip_prefix(ORDER)
        .and_then(|rest| rest.strip_prefix('/'))
    else {
        return bad_request("invalid patch format of setElementOrder list");
    };
    let current = original.get(name).cloned().map(as_list).transpose()?;
    let patched = patch.get(name).cloned().map(as_list).transpose()?;
    let place = place(ty, name)?;
    let key = place.patch.merge_key.as_deref();
    list::check_order(patched.as_deref().unwrap_or_default(), &wanted, key)?;
    let server_order = current.clone().unwrap_or_default();
    let sent = patched.clone().unwrap_or_default();
    let merged = match (current, patched) {
        (None, None) => return Ok(()),
        (Some(current), None) => current,
        (None, Some(patched)) => patched.into_iter().filter_map(without_directives).collect(),
        (Some(current), Some(patched)) if place.patch.merge => merge_list(current, patched, &place, false)?,
        (Some(_), Some(patched)) => patched,
    };
    if server_order.is_empty() && sent.is_empty() {
        return internal("no elements in any of the given slices".to_owned());
    }
    list::check_same_types(&server_order, &sent)?;
    patch.remove(name);
    original.insert(
        name.to_owned(),
        Value::Array(order(merged, &wanted, &server_order, key)?),
    );
    Ok(())
}

/// What is new holds no directives; what has one is left out.
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

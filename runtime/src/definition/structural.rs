//! Makes a schema structural: the alternatives of an enum only restrict fields that the enum declares.

use serde_json::Value;

use super::{
    finish,
    keywords::{Fields, INT_OR_STRING, field_path},
    references::{RUST_TYPE, insert_built_in},
    variants,
};

/// The place of a schema, for errors.
#[derive(Clone, Copy)]
pub(super) struct Place<'a> {
    /// The field's path, such as `spec.rules[]`; empty for the root.
    pub(super) path: &'a str,
    /// The Rust type of the value, or the closest one around it.
    pub(super) rust_type: &'a str,
}

/// Makes the schema structural, and all within it.
///
/// # Errors
/// An enum has no structural schema; the error has the field's path and the fix.
pub(super) fn make_structural(schema: &mut Value) -> Result<(), String> {
    let root = Place {
        path: "",
        rust_type: "",
    };
    visit(schema, root, false)
}

/// Visits what is within a schema first: variants are lifted after their fields.
fn visit(schema: &mut Value, around: Place<'_>, is_variant: bool) -> Result<(), String> {
    let Value::Object(fields) = schema else {
        return Ok(());
    };
    if is_variant {
        insert_built_in(fields);
    }
    // The only alternatives that have types; the API server requires this form.
    if fields.get(INT_OR_STRING) == Some(&Value::Bool(true)) {
        return Ok(());
    }
    let rust_type = fields.get(RUST_TYPE).and_then(Value::as_str).map(str::to_owned);
    let place = Place {
        rust_type: rust_type.as_deref().unwrap_or(around.rust_type),
        ..around
    };
    check_type(fields, place)?;
    for (key, value) in fields.iter_mut() {
        match (key.as_str(), value) {
            ("properties", Value::Object(properties)) => {
                for (name, property) in properties {
                    let path = field_path(place.path, name);
                    visit(property, Place { path: &path, ..place }, false)?;
                }
            }
            ("items", Value::Array(elements)) => visit_element(elements, place)?,
            ("items" | "additionalProperties", value) => visit_element(std::slice::from_mut(value), place)?,
            ("allOf" | "anyOf" | "oneOf", Value::Array(variants)) => {
                for variant in variants {
                    visit(variant, place, true)?;
                }
            }
            _ => {}
        }
    }
    finish::set_known_format(fields);
    set_list_type(fields);
    sort_required(fields);
    variants::lift(fields, place)
}

/// A list of unique scalars, such as of a `BTreeSet`, is a set, in which the API server refuses duplicates. It refuses `uniqueItems`, because to
/// compare all elements would take quadratic time: for others it is dropped.
fn set_list_type(fields: &mut Fields) {
    let is_unique = fields.remove("uniqueItems") == Some(Value::Bool(true));
    let is_scalar = fields.get("items").is_some_and(|items| {
        // An item of a set may not be null.
        matches!(
            items["type"].as_str(),
            Some("string" | "integer" | "number" | "boolean")
        ) && items["nullable"] != true
    });
    if is_unique && is_scalar {
        let list_type = fields.entry("x-kubernetes-list-type");
        list_type.or_insert_with(|| "set".into());
    }
}

fn visit_element(elements: &mut [Value], place: Place<'_>) -> Result<(), String> {
    let path = format!("{}[]", place.path);
    for element in elements {
        visit(element, Place { path: &path, ..place }, false)?;
    }
    Ok(())
}

/// A structural schema has one type, beside null.
fn check_type(fields: &Fields, place: Place<'_>) -> Result<(), String> {
    match fields.get("type") {
        Some(Value::Array(types)) => {
            let types: Vec<_> = types.iter().filter_map(Value::as_str).collect();
            Err(format!(
                "{} of {} has the types {}, and a schema of a custom resource has one: choose one, or replace `type` by \
                 `\"x-kubernetes-preserve-unknown-fields\" = true`, which accepts any value",
                place.path,
                place.rust_type,
                types.join(" and ")
            ))
        }
        _ => Ok(()),
    }
}

fn sort_required(fields: &mut Fields) {
    if let Some(Value::Array(names)) = fields.get_mut("required") {
        names.sort_by(|one, other| one.as_str().cmp(&other.as_str()));
        names.dedup();
    }
}

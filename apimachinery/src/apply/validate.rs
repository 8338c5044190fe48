//! Validation of values against their types, with the messages of the real server.

use super::atom::{Atom, AtomKind, ListAtom, MapAtom, ScalarAtom};
use super::path_element::PathElement;
use crate::go_format;
use crate::types::Type;
use serde_json::Value;
use std::collections::BTreeSet;

/// Validates an applied configuration. The error is one line, or several under `errors:`.
pub(super) fn validate(value: &Value, ty: &Type) -> Result<(), String> {
    in_one_text(&type_errors(value, ty, false))
}

/// Validates an existing object, which may have duplicate items in sets and map lists.
pub(super) fn validate_live(value: &Value, ty: &Type) -> Result<(), String> {
    in_one_text(&type_errors(value, ty, true))
}

fn in_one_text(errors: &[String]) -> Result<(), String> {
    match errors {
        [] => Ok(()),
        [error] => Err(error.clone()),
        errors => Err(format!("errors:\n  {}", errors.join("\n  "))),
    }
}

fn type_errors(value: &Value, ty: &Type, allow_duplicates: bool) -> Vec<String> {
    let mut errors = TypeErrors {
        found: vec![],
        allow_duplicates,
    };
    visit(value, ty, &mut String::new(), &mut errors);
    errors.found
}

struct TypeErrors {
    found: Vec<String>,
    /// Whether duplicate items of sets and map lists are allowed.
    allow_duplicates: bool,
}

fn report(path: &str, message: &str, errors: &mut TypeErrors) {
    errors.found.push(if path.is_empty() {
        message.to_owned()
    } else {
        format!("{path}: {message}")
    });
}

fn visit(value: &Value, ty: &Type, path: &mut String, errors: &mut TypeErrors) {
    match Atom::of(ty).deduce(Some(value)).kind() {
        Some(AtomKind::Map(map)) => visit_map(value, map, path, errors),
        Some(AtomKind::List(list)) => visit_list(value, list, path, errors),
        Some(AtomKind::Scalar(scalar)) => {
            if let Some(message) = scalar_error(value, scalar) {
                report(path, &message, errors);
            }
        }
        None => {}
    }
}

fn with_element(path: &mut String, element: &PathElement, visit: impl FnOnce(&mut String)) {
    let length = path.len();
    path.push_str(&element.to_string());
    visit(path);
    path.truncate(length);
}

fn visit_map(value: &Value, map: MapAtom<'_>, path: &mut String, errors: &mut TypeErrors) {
    let fields = match value {
        Value::Object(fields) => fields,
        Value::Null => return,
        other => {
            return report(
                path,
                &format!("expected map, got &{{{}}}", go_format::show(other)),
                errors,
            );
        }
    };
    for (name, value) in fields {
        let element = PathElement::Field(name.clone());
        let Some(ty) = map.type_of(name) else {
            return with_element(path, &element, |path| {
                report(path, "field not declared in schema", errors);
            });
        };
        with_element(path, &element, |path| visit(value, ty, path, errors));
    }
}

fn visit_list(value: &Value, list: ListAtom<'_>, path: &mut String, errors: &mut TypeErrors) {
    let items = match value {
        Value::Array(items) => items,
        Value::Null => return,
        other => {
            return report(
                path,
                &format!("expected list, got &{{{}}}", go_format::show(other)),
                errors,
            );
        }
    };
    let mut seen = BTreeSet::new();
    for (index, item) in items.iter().enumerate() {
        let element = if list.is_atomic() {
            PathElement::Index(i64::try_from(index).unwrap_or(i64::MAX))
        } else {
            match list.element(item) {
                Ok(element) => element,
                Err(message) => return report(path, &format!("element {index}: {message}"), errors),
            }
        };
        with_element(path, &element, |path| visit(item, list.items, path, errors));
        if !errors.allow_duplicates && !seen.insert(element.clone()) {
            report(path, &format!("duplicate entries for key {element}"), errors);
        }
    }
}

fn scalar_error(value: &Value, scalar: ScalarAtom) -> Option<String> {
    let (conforms, expected) = match scalar {
        ScalarAtom::Numeric => (value.is_number(), "numeric (int or float)"),
        ScalarAtom::String => (value.is_string(), "string"),
        ScalarAtom::Boolean => (value.is_boolean(), "boolean"),
        ScalarAtom::Untyped => (!value.is_array() && !value.is_object(), "any scalar"),
    };
    if conforms || value.is_null() {
        return None;
    }
    let got = match scalar {
        ScalarAtom::Numeric => go_format::type_name(value).to_owned(),
        ScalarAtom::String => format!("&value.valueUnstructured{{Value:{}}}", literal(value)),
        ScalarAtom::Boolean | ScalarAtom::Untyped => format!("&{{{}}}", go_format::show(value)),
    };
    Some(format!("expected {expected}, got {got}"))
}

/// Formats the value like Go's `%#v`.
fn literal(value: &Value) -> String {
    match value {
        Value::Null => "interface {}(nil)".to_owned(),
        Value::Array(items) => format!(
            "[]interface {{}}{{{}}}",
            items.iter().map(literal).collect::<Vec<_>>().join(", ")
        ),
        Value::Object(fields) => {
            let fields = fields
                .iter()
                .map(|(name, value)| format!("{name:?}:{}", literal(value)));
            format!(
                "map[string]interface {{}}{{{}}}",
                fields.collect::<Vec<_>>().join(", ")
            )
        }
        other => other.to_string(),
    }
}

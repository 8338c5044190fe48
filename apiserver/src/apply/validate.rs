//! Whether a value fits its type, in the words of the real server.

use super::atom::{Atom, ListAtom, MapAtom, ScalarAtom, Step};
use super::element::PathElement;
use crate::types::Type;
use serde_json::Value;
use std::collections::BTreeSet;

/// Checks an applied configuration. The error is one line, or a list of lines under `errors:`.
pub(super) fn validate(value: &Value, ty: &Type) -> Result<(), String> {
    match &faults(value, ty, false)[..] {
        [] => Ok(()),
        [fault] => Err(fault.clone()),
        faults => Err(format!("errors:\n  {}", faults.join("\n  "))),
    }
}

/// Whether a value fits its type, where items may come twice: then it can be said who owns what.
pub(super) fn fits(value: &Value, ty: &Type) -> bool {
    faults(value, ty, true).is_empty()
}

fn faults(value: &Value, ty: &Type, may_repeat: bool) -> Vec<String> {
    let mut faults = Faults {
        found: vec![],
        may_repeat,
    };
    visit(value, ty, &mut String::new(), &mut faults);
    faults.found
}

struct Faults {
    found: Vec<String>,
    /// An item of a list that comes twice is none.
    may_repeat: bool,
}

fn report(path: &str, message: &str, faults: &mut Faults) {
    faults.found.push(if path.is_empty() {
        message.to_owned()
    } else {
        format!("{path}: {message}")
    });
}

fn visit(value: &Value, ty: &Type, path: &mut String, faults: &mut Faults) {
    match Atom::of(ty).deduced(Some(value)).step() {
        Some(Step::Map(map)) => visit_map(value, map, path, faults),
        Some(Step::List(list)) => visit_list(value, list, path, faults),
        Some(Step::Scalar(scalar)) => {
            if let Some(message) = scalar_fault(value, scalar) {
                report(path, &message, faults);
            }
        }
        None => {}
    }
}

fn within(path: &mut String, element: &PathElement, visit: impl FnOnce(&mut String)) {
    let length = path.len();
    path.push_str(&element.to_string());
    visit(path);
    path.truncate(length);
}

fn visit_map(value: &Value, map: MapAtom<'_>, path: &mut String, faults: &mut Faults) {
    let fields = match value {
        Value::Object(fields) => fields,
        Value::Null => return,
        other => return report(path, &format!("expected map, got &{{{}}}", shown(other)), faults),
    };
    for (name, value) in fields {
        let mut unknown = false;
        within(path, &PathElement::Field(name.clone()), |path| {
            if let Some(ty) = map.type_of(name) {
                visit(value, ty, path, faults);
            } else {
                report(path, "field not declared in schema", faults);
                unknown = true;
            }
        });
        if unknown {
            return;
        }
    }
}

fn visit_list(value: &Value, list: ListAtom<'_>, path: &mut String, faults: &mut Faults) {
    let items = match value {
        Value::Array(items) => items,
        Value::Null => return,
        other => return report(path, &format!("expected list, got &{{{}}}", shown(other)), faults),
    };
    let mut seen = BTreeSet::new();
    for (index, item) in items.iter().enumerate() {
        let element = if list.is_atomic() {
            PathElement::Index(i64::try_from(index).unwrap_or(i64::MAX))
        } else {
            match list.element(item) {
                Ok(element) => element,
                Err(message) => return report(path, &format!("element {index}: {message}"), faults),
            }
        };
        within(path, &element, |path| visit(item, list.items, path, faults));
        if !faults.may_repeat && !seen.insert(element.clone()) {
            report(path, &format!("duplicate entries for key {element}"), faults);
        }
    }
}

fn scalar_fault(value: &Value, scalar: ScalarAtom) -> Option<String> {
    let (fits, expected) = match scalar {
        ScalarAtom::Numeric => (value.is_number(), "numeric (int or float)"),
        ScalarAtom::String => (value.is_string(), "string"),
        ScalarAtom::Boolean => (value.is_boolean(), "boolean"),
        ScalarAtom::Untyped => (!value.is_array() && !value.is_object(), "any scalar"),
    };
    if fits || value.is_null() {
        return None;
    }
    let got = match scalar {
        ScalarAtom::Numeric => go_type(value).to_owned(),
        ScalarAtom::String => format!("&value.valueUnstructured{{Value:{}}}", literal(value)),
        ScalarAtom::Boolean | ScalarAtom::Untyped => format!("&{{{}}}", shown(value)),
    };
    Some(format!("expected {expected}, got {got}"))
}

fn go_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "<nil>",
        Value::Bool(_) => "bool",
        Value::Number(number) if number.is_f64() => "float64",
        Value::Number(_) => "int64",
        Value::String(_) => "string",
        Value::Array(_) => "[]interface {}",
        Value::Object(_) => "map[string]interface {}",
    }
}

/// The value as Go's `%v` writes it.
fn shown(value: &Value) -> String {
    match value {
        Value::Null => "<nil>".to_owned(),
        Value::String(text) => text.clone(),
        Value::Array(items) => format!("[{}]", items.iter().map(shown).collect::<Vec<_>>().join(" ")),
        Value::Object(fields) => {
            let fields = fields
                .iter()
                .map(|(name, value)| format!("{name}:{}", shown(value)));
            format!("map[{}]", fields.collect::<Vec<_>>().join(" "))
        }
        other => other.to_string(),
    }
}

/// The value as Go's `%#v` writes it.
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

//! The results of expressions of mutating admission policies: objects of the types `Object…`, and lists of `JSONPatch`. [`super::lowering`]
//! makes maps of such objects, in which a key has the name of the type.

use super::checker::Type;
use super::{library, type_values};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kube_cel::cel::Value as CelValue;
use kube_cel::cel::objects::Key;
use serde_json::{Map, Value};

/// The type of the whole object. Those of its parts are named by their paths, such as `Object.spec`.
pub(super) const OBJECT: &str = "Object";
/// The type of an operation of a JSON patch.
pub(super) const JSON_PATCH: &str = "JSONPatch";
/// The key of an object's type in the map that it becomes. JSON has no such keys.
pub(super) const TYPE_KEY: bool = true;

/// Escapes a step of a path of a JSON patch.
pub(super) const ESCAPE_KEY: &str = "jsonpatch.escapeKey";

/// Returns the type of a field of such an object; None if there is no such field.
pub(super) fn field(object: &str, field: &str) -> Option<Type> {
    match (object, field) {
        (JSON_PATCH, "op" | "path" | "from") => Some(Type::Simple("string")),
        (JSON_PATCH, "value") => Some(Type::Dyn),
        (JSON_PATCH, _) => None,
        _ => Some(Type::Dyn),
    }
}

/// True for the names of types of which mutations can make objects.
pub(super) fn is_patch_type(name: &str) -> bool {
    name == JSON_PATCH || name == OBJECT || name.starts_with("Object.")
}

/// Returns an apply configuration.
///
/// # Errors
///
/// Returns kube-apiserver's message if types of nested objects are not named by their paths, or a value cannot be part of an object.
pub(super) fn configuration(result: &CelValue) -> Result<Value, String> {
    if type_of(result).is_none() {
        let name = type_values::name_of(result);
        return Err(format!(
            "unsupported return type from ApplyConfiguration expression: {name}"
        ));
    }
    let mut mismatches = vec![];
    let value = to_json(result, OBJECT, &mut mismatches)?;
    in_one_text(&mismatches)?;
    Ok(value)
}

/// Returns a JSON patch.
///
/// # Errors
///
/// As for [`configuration`].
pub(super) fn json_patch(result: &CelValue) -> Result<Value, String> {
    let CelValue::List(operations) = result else {
        return Err("type mismatch: JSONPatchType.expression should evaluate to array".to_owned());
    };
    operations.iter().map(operation).collect()
}

fn operation(operation: &CelValue) -> Result<Value, String> {
    let CelValue::Map(fields) = operation else {
        let name = type_values::name_of(operation);
        return Err(format!(
            "type mismatch: JSONPatchType.expression should evaluate to array of JSONPatch, got element of {name}"
        ));
    };
    let mut result = Map::new();
    for (key, value) in fields.map.iter() {
        let Key::String(name) = key else { continue };
        let name = name.to_string();
        let mut mismatches = vec![];
        // The root of a value may be of any type; below a list or map, types are not checked.
        let root = type_of(value);
        let converted = to_json(value, root.unwrap_or(OBJECT), &mut mismatches)?;
        if root.is_some() {
            in_one_text(&mismatches)?;
        }
        let is_absent = name == "from" && converted == "";
        if !is_absent {
            result.insert(name, converted);
        }
    }
    Ok(Value::Object(result))
}

fn in_one_text(mismatches: &[String]) -> Result<(), String> {
    if mismatches.is_empty() {
        return Ok(());
    }
    Err(format!("type mismatch: {}", mismatches.join("\n")))
}

/// The type of an object that the expression made.
fn type_of(value: &CelValue) -> Option<&str> {
    let CelValue::Map(fields) = value else { return None };
    match fields.map.get(&Key::Bool(TYPE_KEY)) {
        Some(CelValue::String(name)) => Some(name),
        _ => None,
    }
}

/// Converts a value, whose type should have the name `expected` if it is such an object.
fn to_json(value: &CelValue, expected: &str, mismatches: &mut Vec<String>) -> Result<Value, String> {
    Ok(match value {
        CelValue::Null => Value::Null,
        CelValue::Bool(truth) => (*truth).into(),
        CelValue::Int(number) => (*number).into(),
        CelValue::UInt(number) => (*number).into(),
        CelValue::Float(number) => (*number).into(),
        CelValue::String(text) => text.as_str().into(),
        CelValue::Bytes(bytes) => STANDARD.encode(bytes.as_slice()).into(),
        CelValue::List(items) => {
            let items = items.iter().map(|item| to_json(item, expected, mismatches));
            Value::Array(items.collect::<Result<_, _>>()?)
        }
        CelValue::Map(fields) => {
            let ty = type_of(value);
            if let Some(name) = ty.filter(|name| *name != expected) {
                mismatches.push(format!(
                    "unexpected type name {name:?}, expected {expected:?}, which matches field name path from root Object type"
                ));
            }
            let mut object = Map::new();
            for (key, value) in fields.map.iter() {
                let name = match key {
                    Key::String(name) => name,
                    Key::Bool(TYPE_KEY) if ty.is_some() => continue,
                    _ => return Err(format!("map key {key} is not a string")),
                };
                // The keys of maps do not belong to the path.
                let below = ty.map(|_| format!("{expected}.{name}"));
                let below = below.as_deref().unwrap_or(expected);
                object.insert(name.to_string(), to_json(value, below, mismatches)?);
            }
            Value::Object(object)
        }
        time @ (CelValue::Timestamp(_) | CelValue::Duration(_)) => {
            library::text_of(time).unwrap_or_default().into()
        }
        other => {
            let name = type_values::name_of(other);
            return Err(format!("a value of type {name} cannot be part of an object"));
        }
    })
}

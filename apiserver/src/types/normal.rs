//! What an object of a built-in kind looks like when the real server has read it: Go leaves out what is empty, and writes what it cannot
//! leave out.

use super::{Field, Scalar, Type, scalars};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value};

/// Makes a decoded object what the real server stores and answers with, defaults aside: without nulls and most of what is empty, and with
/// the fields that are always there. Unknown fields and values of wrong types stay; [`super::check`] deals with those.
pub fn normalize(value: &mut Value, ty: &Type) {
    match (ty.resolve(), value) {
        (Type::List(list), Value::Array(items)) => {
            for item in items {
                if item.is_null() {
                    *item = written_when_absent(&list.items);
                }
                normalize(item, &list.items);
            }
        }
        (Type::Map(map), Value::Object(object)) => {
            for (name, field) in &map.fields {
                let value = object.remove(&**name).filter(|value| !value.is_null());
                if let Some(value) = normal_field(value, field) {
                    object.insert(name.to_string(), value);
                }
            }
            if let Some(values) = &map.values {
                for (_, value) in object
                    .iter_mut()
                    .filter(|(name, _)| !map.fields.contains_key(name.as_str()))
                {
                    if value.is_null() {
                        *value = written_when_absent(values);
                    }
                    normalize(value, values);
                }
            }
        }
        (Type::Scalar(Scalar::Bytes), Value::String(text)) => {
            text.retain(|character| !matches!(character, '\n' | '\r'));
        }
        (Type::Scalar(Scalar::Quantity), value) => write_quantity(value, NANO),
        // Bytes may be sent as numbers.
        (Type::Scalar(Scalar::Bytes), value @ Value::Array(_)) => {
            let items = value.as_array().into_iter().flatten();
            let bytes = items.map(|item| item.as_u64().and_then(|byte| u8::try_from(byte).ok()));
            let bytes: Vec<u8> = bytes.map(Option::unwrap_or_default).collect();
            *value = STANDARD.encode(bytes).into();
        }
        _ => {}
    }
}

/// Makes an object what the real server reads from its store: what cannot tell an empty list or map from none has none.
pub fn settle(value: &mut Value, ty: &Type) {
    match (ty.resolve(), value) {
        (Type::List(list), Value::Array(items)) => {
            for item in items {
                settle(item, &list.items);
            }
        }
        (Type::Map(map), Value::Object(object)) => {
            for (name, value) in object {
                let field = map.fields.get(name.as_str());
                let Some(ty) = field.map(|field| &field.ty).or(map.values.as_ref()) else {
                    continue;
                };
                if value.is_null() && field.is_none() && matches!(ty, Type::Scalar(Scalar::Bytes)) {
                    // No bytes at all are kept as none.
                    *value = Value::from("");
                }
                let is_empty = match value {
                    _ if matches!(ty, Type::Opaque) => false,
                    Value::Array(items) => items.is_empty(),
                    Value::Object(fields) => fields.is_empty() && !matches!(ty, Type::Named(_)),
                    _ => false,
                };
                if is_empty && field.is_some_and(|field| !field.empty.pointer) {
                    *value = Value::Null;
                } else {
                    settle(value, ty);
                }
            }
        }
        _ => {}
    }
}

/// An object of the type with nothing set.
pub fn zero(ty: &Type) -> Value {
    let mut object = Value::Object(Map::new());
    normalize(&mut object, ty);
    object
}

/// The smallest parts that quantities are counted in, and those of resources.
const NANO: i32 = -9;
const MILLI: i32 = -3;

fn write_quantity(value: &mut Value, smallest: i32) {
    let text = match &*value {
        Value::String(text) => text.trim().to_owned(),
        Value::Number(number) => number.to_string(),
        _ => return,
    };
    *value = scalars::quantity(&text, smallest).unwrap_or(text).into();
}

/// What is written of a field, if anything.
fn normal_field(value: Option<Value>, field: &Field) -> Option<Value> {
    let omitted = field.empty.omitempty || field.empty.omitzero;
    let Some(mut value) = value else {
        if field.empty.pointer {
            return (!omitted).then_some(Value::Null);
        }
        if field.empty.omitzero || (omitted && !is_struct(&field.ty)) {
            return None;
        }
        return Some(written_when_absent(&field.ty));
    };
    if let (Some("v1.ResourceList"), Value::Object(resources)) = (field.go.as_deref(), &mut value) {
        for quantity in resources.values_mut() {
            write_quantity(quantity, MILLI);
        }
    }
    normalize(&mut value, &field.ty);
    if field.empty.pointer || !omitted {
        return Some(value);
    }
    let is_empty = match &value {
        // What is raw is a struct, too, whatever shape it has.
        _ if is_struct(&field.ty) => field.empty.omitzero && value == zero(&field.ty),
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        Value::String(text) => text.is_empty(),
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::Bool(set) => !set,
        Value::Null => true,
    };
    (!is_empty).then_some(value)
}

/// What Go cannot leave out with `omitempty`.
fn is_struct(ty: &Type) -> bool {
    match ty {
        Type::Named(_) => ty.as_map().is_some(),
        Type::Scalar(Scalar::DateTime | Scalar::MicroTime | Scalar::Quantity | Scalar::IntOrString)
        | Type::Opaque => true,
        _ => false,
    }
}

fn written_when_absent(ty: &Type) -> Value {
    match ty {
        Type::Named(_) => zero(ty),
        Type::Scalar(scalar) => match scalar {
            Scalar::Boolean => Value::Bool(false),
            Scalar::Int32 | Scalar::Int64 | Scalar::Double | Scalar::IntOrString => Value::from(0),
            Scalar::String => Value::from(""),
            Scalar::Quantity => Value::from("0"),
            Scalar::Bytes | Scalar::DateTime | Scalar::MicroTime | Scalar::Untyped => Value::Null,
        },
        Type::List(_) | Type::Map(_) | Type::Any | Type::Opaque => Value::Null,
    }
}

//! Normalizes objects of built-in kinds as a round trip through kube-apiserver does: Go omits empty fields that are `omitempty`, and writes
//! the zero value of those that are not.

use super::{Field, Scalar, SchemaOr, Type, floats_to_integers, scalars};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Number, Value};

/// Normalizes a decoded object to what kube-apiserver stores and returns, except for defaults: drops nulls and most empty values, and adds
/// fields that Go always writes. Unknown fields and values of wrong types stay; [`super::check`] handles those.
pub fn normalize(value: &mut Value, ty: &Type) {
    match (ty.resolve(), value) {
        (Type::List(list), Value::Array(items)) => {
            for item in items {
                if item.is_null() {
                    *item = value_when_absent(&list.items);
                }
                normalize(item, &list.items);
            }
        }
        (Type::Map(map), Value::Object(object)) => {
            for (name, field) in &map.fields {
                let value = object.remove(&**name).filter(|value| !value.is_null());
                if let Some(value) = normalize_field(value, field) {
                    object.insert(name.to_string(), value);
                }
            }
            if let Some(values) = &map.values {
                for (_, value) in object
                    .iter_mut()
                    .filter(|(name, _)| !map.fields.contains_key(name.as_str()))
                {
                    if value.is_null() {
                        *value = value_when_absent(values);
                    }
                    normalize(value, values);
                }
            }
        }
        // Defaults, examples and enumerations of schemas, which kube-apiserver decodes and encodes again.
        (Type::Any, value) => floats_to_integers(value),
        (Type::Schema(form), value) => match form.type_of(value) {
            Some(ty) if value.as_array().is_none_or(|items| !items.is_empty()) => normalize(value, ty),
            _ if *form == SchemaOr::Boolean => {}
            _ => *value = Value::Null,
        },
        (Type::Scalar(Scalar::Bytes), Value::String(text)) => {
            text.retain(|character| !matches!(character, '\n' | '\r'));
        }
        (Type::Scalar(Scalar::Double), Value::Number(number)) => {
            if let Some(integer) = integral_double(number) {
                *number = integer.into();
            }
        }
        (Type::Scalar(Scalar::Quantity), value) => normalize_quantity(value, NANO),
        (Type::Scalar(scalar @ (Scalar::DateTime | Scalar::MicroTime)), value) => {
            normalize_time(value, *scalar == Scalar::MicroTime);
        }
        // Go also decodes bytes from a list of numbers.
        (Type::Scalar(Scalar::Bytes), value @ Value::Array(_)) => {
            let items = value.as_array().into_iter().flatten();
            let bytes = items.map(|item| item.as_u64().and_then(|byte| u8::try_from(byte).ok()));
            let bytes: Vec<u8> = bytes.map(Option::unwrap_or_default).collect();
            *value = STANDARD.encode(bytes).into();
        }
        _ => {}
    }
}

/// Returns the integer as which Go writes a double, if that has no fraction: a large one is rounded.
fn integral_double(number: &Number) -> Option<i64> {
    let double = number.as_f64().filter(|double| double.fract() == 0.0)?;
    format!("{double:.0}").parse().ok()
}

/// Normalizes an object to what kube-apiserver reads back from storage, where empty lists and maps are not distinguished from absent ones.
pub fn normalize_stored(value: &mut Value, ty: &Type) {
    match (ty.resolve(), value) {
        (Type::List(list), Value::Array(items)) => {
            for item in items {
                normalize_stored(item, &list.items);
            }
        }
        (Type::Map(map), Value::Object(object)) => {
            for (name, value) in object {
                let field = map.fields.get(name.as_str());
                let Some(ty) = field.map(|field| &field.ty).or(map.values.as_ref()) else {
                    continue;
                };
                if value.is_null() && field.is_none() && matches!(ty, Type::Scalar(Scalar::Bytes)) {
                    // Null bytes are stored as empty bytes.
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
                    normalize_stored(value, ty);
                }
            }
        }
        (Type::Schema(form), value) => {
            if let Some(ty) = form.type_of(value) {
                normalize_stored(value, ty);
            }
        }
        _ => {}
    }
}

/// Returns the zero value of the type: an object with nothing set.
pub fn zero_value(ty: &Type) -> Value {
    let mut object = Value::Object(Map::new());
    normalize(&mut object, ty);
    object
}

/// The smallest units to which quantities are rounded, as powers of ten: in general, and within a `ResourceList`.
const NANO: i32 = -9;
const MILLI: i32 = -3;

fn normalize_time(value: &mut Value, micro: bool) {
    /// Go's zero time is written as null.
    const ZERO: [&str; 2] = ["0001-01-01T00:00:00Z", "0001-01-01T00:00:00.000000Z"];
    let Some(text) = value.as_str() else { return };
    // Nearly all times are canonical already.
    let length = if micro {
        "2006-01-02T15:04:05.000000Z"
    } else {
        "2006-01-02T15:04:05Z"
    }
    .len();
    let is_canonical = text.len() == length && text.ends_with('Z') && !ZERO.contains(&text);
    if !is_canonical && let Some(canonical) = scalars::canonical_time(text, micro) {
        *value = if ZERO.contains(&canonical.as_str()) {
            Value::Null
        } else {
            canonical.into()
        };
    }
}

fn normalize_quantity(value: &mut Value, smallest: i32) {
    let text = match &*value {
        Value::String(text) => text.trim().to_owned(),
        Value::Number(number) => number.to_string(),
        _ => return,
    };
    *value = scalars::canonical_quantity(&text, smallest)
        .unwrap_or(text)
        .into();
}

/// Returns how a field is written, or `None` if it is omitted.
fn normalize_field(value: Option<Value>, field: &Field) -> Option<Value> {
    let omits_empty = field.empty.omitempty || field.empty.omitzero;
    let Some(mut value) = value else {
        if field.empty.pointer {
            return (!omits_empty).then_some(Value::Null);
        }
        if field.empty.omitzero || (omits_empty && !is_struct(&field.ty)) {
            return None;
        }
        return Some(value_when_absent(&field.ty));
    };
    if let (Some("v1.ResourceList"), Value::Object(resources)) = (field.go_type.as_deref(), &mut value) {
        for quantity in resources.values_mut() {
            normalize_quantity(quantity, MILLI);
        }
    }
    normalize(&mut value, &field.ty);
    if value.is_null() && omits_empty {
        return None;
    }
    if field.empty.pointer || !omits_empty {
        return Some(value);
    }
    let is_empty = match &value {
        // A raw extension is a struct to Go, whatever its JSON.
        _ if is_struct(&field.ty) => field.empty.omitzero && value == zero_value(&field.ty),
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        Value::String(text) => text.is_empty(),
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::Bool(set) => !set,
        Value::Null => true,
    };
    (!is_empty).then_some(value)
}

/// Whether `omitempty` has no effect because the Go type is a struct.
fn is_struct(ty: &Type) -> bool {
    match ty {
        Type::Named(_) => ty.as_map().is_some(),
        Type::Scalar(Scalar::DateTime | Scalar::MicroTime | Scalar::Quantity | Scalar::IntOrString)
        | Type::Opaque => true,
        _ => false,
    }
}

fn value_when_absent(ty: &Type) -> Value {
    match ty {
        Type::Named(_) => zero_value(ty),
        Type::Scalar(scalar) => match scalar {
            Scalar::Boolean => Value::Bool(false),
            Scalar::Int32 | Scalar::Int64 | Scalar::Double | Scalar::IntOrString => Value::from(0),
            Scalar::String => Value::from(""),
            Scalar::Quantity => Value::from("0"),
            Scalar::Bytes | Scalar::DateTime | Scalar::MicroTime | Scalar::Untyped => Value::Null,
        },
        Type::List(_) | Type::Map(_) | Type::Schema(_) | Type::Any | Type::Opaque => Value::Null,
    }
}

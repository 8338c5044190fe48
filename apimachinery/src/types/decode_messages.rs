//! Messages of kube-apiserver's decoder and converter about values of the wrong type, which name Go's types and where the value is.

use super::{Scalar, Type, json_kind, scalars};
use serde_json::Value;

/// The component of kube-apiserver that is emulated; it decides the error messages.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum EmulatedComponent {
    Decoder,
    Converter,
}

/// The location of a value: `path`, with indices and keys, for unknown fields; `fields`, without them, and the name of the enclosing
/// struct, for mismatches.
#[derive(Default)]
pub(super) struct ValueLocation {
    pub(super) path: String,
    pub(super) fields: String,
    pub(super) struct_name: String,
    /// Whether structs further down do not change the name: the value is decoded apart.
    pub(super) keeps_struct_name: bool,
}

#[derive(Clone, Copy, PartialEq)]
pub(super) enum PathStep<'a> {
    /// A struct field, with the embedded structs that contain it.
    Field(Option<&'a str>),
    Key,
    Item,
}

impl ValueLocation {
    /// Calls `visit` one level deeper: in a field of a struct, a key of a map or an item of a list.
    pub(super) fn descend<T>(
        &mut self,
        step: &str,
        kind: PathStep<'_>,
        visit: impl FnOnce(&mut Self) -> T,
    ) -> T {
        let (path, fields) = (self.path.len(), self.fields.len());
        if kind != PathStep::Item && !self.path.is_empty() {
            self.path.push('.');
        }
        self.path.push_str(step);
        if let PathStep::Field(inlined) = kind {
            for part in inlined.into_iter().chain([step]) {
                if !self.fields.is_empty() {
                    self.fields.push('.');
                }
                self.fields.push_str(part);
            }
        }
        let result = visit(self);
        self.path.truncate(path);
        self.fields.truncate(fields);
        result
    }
}

/// Returns the message of Go's decoder about a value of another kind than its type.
pub(super) fn cannot_unmarshal(found: &str, ty: &str, location: &ValueLocation) -> String {
    if location.fields.is_empty() {
        return format!("json: cannot unmarshal {found} into Go value of type {ty}");
    }
    format!(
        "json: cannot unmarshal {found} into Go struct field {}.{} of type {ty}",
        location.struct_name, location.fields
    )
}

impl EmulatedComponent {
    /// Returns the message about a value that does not decode as a scalar; None if it does.
    pub(super) fn mismatch(
        self,
        value: &Value,
        scalar: Scalar,
        go_type: Option<&str>,
        location: &ValueLocation,
    ) -> Option<String> {
        let plain = |ty: &str| {
            Some(cannot_unmarshal(
                json_kind(value),
                go_type.unwrap_or(ty),
                location,
            ))
        };
        match scalar {
            Scalar::Boolean if !value.is_boolean() => plain("bool"),
            Scalar::Double if !value.is_number() => plain("float64"),
            Scalar::String if !value.is_string() => plain("string"),
            Scalar::Int32 => self.integer_mismatch(value, go_type.unwrap_or("int32"), is_int32, location),
            Scalar::Int64 => self.integer_mismatch(value, go_type.unwrap_or("int64"), |_| true, location),
            Scalar::Bytes => match value.as_str() {
                // Each item of a list is decoded as a byte.
                None => match value.as_array() {
                    Some(items) => items.iter().filter(|item| !item.is_null()).find_map(|item| {
                        self.integer_mismatch(item, "uint8", |number| u8::try_from(number).is_ok(), location)
                    }),
                    None => plain("[]uint8"),
                },
                Some(text) => scalars::base64_error(text).map(|reason| match self {
                    Self::Decoder => reason,
                    Self::Converter => format!("error decoding from json: {reason}"),
                }),
            },
            Scalar::Quantity => {
                let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                scalars::quantity_error(&text)
            }
            Scalar::DateTime | Scalar::MicroTime => match value.as_str() {
                // The converter passes only the value to the type's own decoder, so the message lacks the field.
                None if self == Self::Converter => Some(cannot_unmarshal(
                    json_kind(value),
                    "string",
                    &ValueLocation::default(),
                )),
                None => plain("string"),
                Some(text) => scalars::time_error(text, scalar == Scalar::MicroTime),
            },
            Scalar::IntOrString if value.is_string() => None,
            Scalar::IntOrString => match self {
                Self::Decoder => self.integer_mismatch(value, "int32", is_int32, location),
                // As above: the message lacks the field.
                Self::Converter => {
                    Self::Decoder.integer_mismatch(value, "int32", is_int32, &ValueLocation::default())
                }
            },
            _ => None,
        }
    }

    fn integer_mismatch(
        self,
        value: &Value,
        ty: &str,
        fits: impl Fn(i64) -> bool,
        location: &ValueLocation,
    ) -> Option<String> {
        match value {
            Value::Number(number) if number.as_i64().is_some_and(fits) => None,
            Value::Number(_) if self == Self::Converter => Some(format!("cannot convert float64 to {ty}")),
            Value::Number(number) => Some(cannot_unmarshal(&format!("number {number}"), ty, location)),
            _ => Some(cannot_unmarshal(json_kind(value), ty, location)),
        }
    }
}

fn is_int32(number: i64) -> bool {
    i32::try_from(number).is_ok()
}

/// Derives the name of the Go type, for types that have no other name.
pub(super) fn derived_go_type(ty: &Type) -> String {
    match ty {
        Type::Named(named) => named
            .name
            .split_once('.')
            .map_or(&*named.name, |(_, name)| name)
            .to_owned(),
        Type::List(list) => format!("[]{}", derived_go_type(&list.items)),
        Type::Map(map) => format!(
            "map[string]{}",
            map.values.as_ref().map_or_else(String::new, derived_go_type)
        ),
        Type::Scalar(scalar) => match scalar {
            Scalar::Boolean => "bool",
            Scalar::Int32 => "int32",
            Scalar::Int64 => "int64",
            Scalar::Double => "float64",
            Scalar::String => "string",
            Scalar::Bytes => "[]uint8",
            Scalar::DateTime => "v1.Time",
            Scalar::MicroTime => "v1.MicroTime",
            Scalar::Quantity => "resource.Quantity",
            Scalar::IntOrString => "intstr.IntOrString",
            Scalar::Untyped => "interface {}",
        }
        .to_owned(),
        Type::Any | Type::Opaque | Type::Schema(_) => "interface {}".to_owned(),
    }
}

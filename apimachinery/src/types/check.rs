//! Checks whether a value decodes as a type: type mismatches and unknown fields, with the messages of kube-apiserver's decoder.

use super::decode_messages::{EmulatedComponent, PathStep, ValueLocation, cannot_unmarshal, derived_go_type};
use super::unstructured::wrap_int32;
use super::{Map, Scalar, SchemaOr, Type, json_kind};
use crate::quote::quoted;
use serde_json::Value;

/// A problem that kube-apiserver's decoder reports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DecodeError {
    /// A field that the type does not have: dropped, and an error under `fieldValidation=Strict`. The path has the form
    /// `spec.containers[0].x`.
    Unknown(String),
    /// A value of the wrong type, as the decoder's message: the request fails whatever `fieldValidation` says.
    Mismatch(String),
}

impl std::fmt::Display for DecodeError {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Unknown(path) => write!(formatter, "unknown field {}", quoted(path)),
            Self::Mismatch(message) => formatter.write_str(message),
        }
    }
}

/// Checks a value of a built-in kind against its type. Returns the mismatches, then the unknown fields, each in the order of the value; but
/// the first error of a Go type with its own decoder comes first, because decoding stops there. kube-apiserver reports only the first
/// mismatch. With `prune`, unknown fields are also removed, as decoding does.
pub fn check(value: &mut Value, ty: &Type, prune: bool) -> Vec<DecodeError> {
    let mut checker = Checker::new(EmulatedComponent::Decoder, prune);
    checker.visit(value, ty, None, &mut ValueLocation::default());
    let mut errors = checker.mismatches;
    errors.append(&mut checker.unknown);
    errors
}

/// Converts the result of a server-side apply as kube-apiserver does: integers that are too large for `int32` wrap around. Returns the first
/// error. Some messages of its converter differ from those of its decoder.
pub fn conversion_error(value: &mut Value, ty: &Type) -> Option<String> {
    let mut checker = Checker::new(EmulatedComponent::Converter, false);
    checker.visit(value, ty, None, &mut ValueLocation::default());
    checker.mismatches.first().map(ToString::to_string)
}

/// Whether a path, such as `spec.versions[0].name`, leads into a value whose Go type has its own JSON decoder. Strict decoding does not see
/// duplicate or unknown fields there.
pub fn is_within_custom_decoder(path: &str, ty: &Type) -> bool {
    let mut ty = ty;
    for step in path.split(['.', '[']) {
        let inner = match ty.resolve() {
            Type::Schema(_) | Type::Any | Type::Opaque => return true,
            Type::List(list) => Some(&list.items),
            Type::Map(map) => map.type_of(step),
            Type::Scalar(_) | Type::Named(_) => None,
        };
        match inner {
            Some(inner) => ty = inner,
            None => return false,
        }
    }
    false
}

struct Checker {
    component: EmulatedComponent,
    prune: bool,
    unknown: Vec<DecodeError>,
    mismatches: Vec<DecodeError>,
    /// Whether a Go type with its own decoder has rejected a value.
    stopped: bool,
}

impl Checker {
    fn new(component: EmulatedComponent, prune: bool) -> Self {
        Self {
            component,
            prune,
            unknown: Vec::new(),
            mismatches: Vec::new(),
            stopped: false,
        }
    }

    /// `go_type` is the name of the Go type, if it does not follow from `ty`.
    fn visit(&mut self, value: &mut Value, ty: &Type, go_type: Option<&str>, location: &mut ValueLocation) {
        if value.is_null() {
            return;
        }
        match ty.resolve() {
            Type::Scalar(scalar) => {
                if self.component == EmulatedComponent::Converter
                    && *scalar == Scalar::Int32
                    && let Some(number) = value.as_i64()
                {
                    *value = wrap_int32(number).into();
                }
                if let Some(message) = self.component.mismatch(value, *scalar, go_type, location) {
                    let error = DecodeError::Mismatch(message);
                    if scalar.has_custom_decoder() {
                        self.push_from_custom_decoder(error);
                    } else {
                        self.mismatches.push(error);
                    }
                }
            }
            Type::List(list) => match value {
                Value::Array(items) => {
                    for (index, item) in items.iter_mut().enumerate() {
                        location.descend(&format!("[{index}]"), PathStep::Item, |location| {
                            self.visit(item, &list.items, go_type.and_then(go_item_type), location);
                        });
                    }
                }
                other => self.push_mismatch(other, ty, go_type, location),
            },
            Type::Map(map) => match value {
                Value::Object(object) => {
                    let struct_name = match ty {
                        Type::Named(named) if !location.keeps_struct_name => {
                            named.name.rsplit('.').next().unwrap_or_default().to_owned()
                        }
                        _ => location.struct_name.clone(),
                    };
                    let outer = std::mem::replace(&mut location.struct_name, struct_name);
                    self.visit_fields(object, map, go_type.and_then(go_value_type), location);
                    location.struct_name = outer;
                }
                other => self.push_mismatch(other, ty, go_type, location),
            },
            Type::Schema(form) => self.visit_schema(value, *form, location),
            Type::Named(_) | Type::Any | Type::Opaque => {}
        }
    }

    fn visit_fields(
        &mut self,
        object: &mut serde_json::Map<String, Value>,
        map: &Map,
        go_type: Option<&str>,
        location: &mut ValueLocation,
    ) {
        object.retain(|name, value| {
            let (step, go_type) = match map.fields.get(name.as_str()) {
                Some(field) => (
                    PathStep::Field(field.inlined_from.as_deref()),
                    field.go_type.as_deref(),
                ),
                None => (PathStep::Key, go_type),
            };
            location.descend(name, step, |location| {
                let Some(ty) = map.type_of(name) else {
                    self.unknown.push(DecodeError::Unknown(location.path.clone()));
                    return !self.prune;
                };
                self.visit(value, ty, go_type, location);
                true
            })
        });
    }

    /// Visits the value of a field with a decoder of its own, which decodes a schema within it apart: that never reports unknown fields, and
    /// only its first mismatch. The decoder around it adds the path and names the struct that has the field; the converter does not.
    fn visit_schema(&mut self, value: &mut Value, form: SchemaOr, location: &mut ValueLocation) {
        let Some(ty) = form.type_of(value) else {
            if form == SchemaOr::Boolean {
                let message = "boolean or JSON schema expected".to_owned();
                self.push_from_custom_decoder(DecodeError::Mismatch(message));
            }
            return;
        };
        let mut decoder = Self::new(EmulatedComponent::Decoder, self.prune);
        if self.component == EmulatedComponent::Converter {
            decoder.visit(value, ty, None, &mut ValueLocation::default());
        } else {
            let outer = std::mem::replace(&mut location.keeps_struct_name, true);
            decoder.visit(value, ty, None, location);
            location.keeps_struct_name = outer;
        }
        if let Some(error) = decoder.mismatches.into_iter().next() {
            self.push_from_custom_decoder(error);
        }
    }

    /// Adds the error of a Go type's own decoder: the first one comes first, because decoding stops there.
    fn push_from_custom_decoder(&mut self, error: DecodeError) {
        let is_first = !std::mem::replace(&mut self.stopped, true);
        let at = if is_first { 0 } else { self.mismatches.len() };
        self.mismatches.insert(at, error);
    }

    fn push_mismatch(&mut self, value: &Value, ty: &Type, go_type: Option<&str>, location: &ValueLocation) {
        let ty = go_type.map_or_else(|| derived_go_type(ty), str::to_owned);
        self.mismatches.push(DecodeError::Mismatch(cannot_unmarshal(
            json_kind(value),
            &ty,
            location,
        )));
    }
}

/// Returns the Go type of the items of a list type.
fn go_item_type(go_type: &str) -> Option<&str> {
    go_type
        .strip_prefix("[]")
        .map(|item| item.trim_start_matches('*'))
}

/// Returns the Go type of the values of a map type.
fn go_value_type(go_type: &str) -> Option<&str> {
    let (_, value) = go_type.strip_prefix("map[")?.split_once(']')?;
    Some(value.trim_start_matches('*'))
}

#[cfg(test)]
#[path = "check_tests.rs"]
mod tests;

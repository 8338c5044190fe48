//! Checks whether a value decodes as a type: type mismatches and unknown fields, with the messages of kube-apiserver's decoder.

use super::{Map, Scalar, SchemaOr, Type, json_kind, scalars};
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
            Self::Unknown(path) => write!(formatter, "unknown field \"{path}\""),
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

/// Returns the first conversion error that kube-apiserver reports for the result of a server-side apply. Some messages of its converter
/// differ from those of its decoder.
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

/// The component of kube-apiserver that is emulated; it decides the error messages.
#[derive(Clone, Copy, PartialEq)]
enum EmulatedComponent {
    Decoder,
    Converter,
}

struct Checker {
    component: EmulatedComponent,
    prune: bool,
    unknown: Vec<DecodeError>,
    mismatches: Vec<DecodeError>,
    /// Whether a Go type with its own decoder has rejected a value.
    stopped: bool,
}

/// The location of a value: `path`, with indices and keys, for unknown fields; `fields`, without them, and the name of the enclosing
/// struct, for mismatches.
#[derive(Default)]
struct ValueLocation {
    path: String,
    fields: String,
    struct_name: String,
    /// Whether structs further down do not change the name: the value is decoded apart.
    keeps_struct_name: bool,
}

#[derive(Clone, Copy, PartialEq)]
enum PathStep<'a> {
    /// A struct field, with the embedded structs that contain it.
    Field(Option<&'a str>),
    Key,
    Item,
}

impl ValueLocation {
    /// Calls `visit` one level deeper: in a field of a struct, a key of a map or an item of a list.
    fn descend<T>(&mut self, step: &str, kind: PathStep<'_>, visit: impl FnOnce(&mut Self) -> T) -> T {
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

fn cannot_unmarshal(found: &str, ty: &str, location: &ValueLocation) -> String {
    if location.fields.is_empty() {
        return format!("json: cannot unmarshal {found} into Go value of type {ty}");
    }
    format!(
        "json: cannot unmarshal {found} into Go struct field {}.{} of type {ty}",
        location.struct_name, location.fields
    )
}

impl EmulatedComponent {
    fn mismatch(
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
fn derived_go_type(ty: &Type) -> String {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::builtin;
    use serde_json::json;

    fn errors(mut value: Value, prune: bool) -> (Vec<String>, Value) {
        let ty = builtin("apps/v1", "Deployment").unwrap();
        let errors = check(&mut value, ty, prune)
            .iter()
            .map(ToString::to_string)
            .collect();
        (errors, value)
    }

    #[test]
    fn unknown_fields_are_reported_with_indices_and_pruned_on_request() {
        let value = json!({"spec": {"x": 1, "template": {"spec": {"containers": [{"name": "a"}, {"name": "b", "y": {"z": 1}}]}}}});
        let (found, kept) = errors(value.clone(), false);
        assert_eq!(
            found,
            [
                "unknown field \"spec.template.spec.containers[1].y\"",
                "unknown field \"spec.x\""
            ]
        );
        assert_eq!(kept, value);
        let (_, pruned) = errors(value, true);
        assert_eq!(
            pruned,
            json!({"spec": {"template": {"spec": {"containers": [{"name": "a"}, {"name": "b"}]}}}})
        );
    }

    #[test]
    fn mismatches_have_the_decoders_messages() {
        let cases = [
            (
                json!({"spec": {"replicas": "three"}}),
                "json: cannot unmarshal string into Go struct field DeploymentSpec.spec.replicas of type int32",
            ),
            (
                json!({"spec": {"replicas": 1.5}}),
                "json: cannot unmarshal number 1.5 into Go struct field DeploymentSpec.spec.replicas of type int32",
            ),
            (
                json!({"spec": {"template": {"spec": {"containers": {}}}}}),
                "json: cannot unmarshal object into Go struct field PodSpec.spec.template.spec.containers of type []v1.Container",
            ),
            (
                json!({"spec": {"template": {"spec": {"restartPolicy": {}}}}}),
                "json: cannot unmarshal object into Go struct field PodSpec.spec.template.spec.restartPolicy of type v1.RestartPolicy",
            ),
            (
                json!({"spec": {"template": {"spec": {"containers": [{"securityContext": {"capabilities": {"add": [1]}}}]}}}}),
                "json: cannot unmarshal number into Go struct field Capabilities.spec.template.spec.containers.securityContext.capabilities.add of type v1.Capability",
            ),
            (
                json!({"spec": {"template": {"spec": {"overhead": "x"}}}}),
                "json: cannot unmarshal string into Go struct field PodSpec.spec.template.spec.overhead of type v1.ResourceList",
            ),
            (
                json!({"spec": {"template": {"spec": {"volumes": [{"emptyDir": 1}]}}}}),
                "json: cannot unmarshal number into Go struct field Volume.spec.template.spec.volumes.VolumeSource.emptyDir of type v1.EmptyDirVolumeSource",
            ),
            (
                json!({"metadata": {"labels": {"a": 1}}}),
                "json: cannot unmarshal number into Go struct field ObjectMeta.metadata.labels of type string",
            ),
            (
                json!({"spec": {"template": {"spec": {"containers": [{"resources": {"limits": {"cpu": "many"}}}]}}}}),
                "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
            ),
        ];
        for (value, message) in cases {
            let (found, _) = errors(value.clone(), false);
            assert_eq!(
                found.iter().map(String::as_str).collect::<Vec<_>>(),
                [message],
                "{value}"
            );
        }
    }
    #[test]
    fn metadata_alone_is_reported_relative_to_itself() {
        let into = |kind: &str, field: &str, ty: &str| {
            format!("json: cannot unmarshal {kind} into Go struct field ObjectMeta.{field} of type {ty}")
        };
        let time = r#"parsing time "x" as "2006-01-02T15:04:05Z07:00": cannot parse "x" as "2006""#;
        for (mut metadata, message) in [
            (
                json!([]),
                "json: cannot unmarshal array into Go value of type v1.ObjectMeta".to_owned(),
            ),
            (json!({ "name": 1 }), into("number", "name", "string")),
            (
                json!({ "labels": { "a": 1 } }),
                into("number", "labels", "string"),
            ),
            (
                json!({ "finalizers": "a" }),
                into("string", "finalizers", "[]string"),
            ),
            (
                json!({ "ownerReferences": [1] }),
                into("number", "ownerReferences", "v1.OwnerReference"),
            ),
            (json!({ "creationTimestamp": "x" }), time.to_owned()),
        ] {
            let errors = check(&mut metadata, &Type::named("meta.v1.ObjectMeta"), false);
            let errors: Vec<_> = errors.iter().map(ToString::to_string).collect();
            assert_eq!(errors, [message], "{metadata}");
        }
    }
}

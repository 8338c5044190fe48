//! Whether a value can be decoded as a type: what the real server's decoder refuses, and what it does not know.

use super::{Map, Scalar, Type, json_kind, scalars};
use serde_json::Value;

/// What the decoder of the real server says of a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// A field that its type does not have: dropped, and an error under `fieldValidation=Strict`. The path is written as
    /// `spec.containers[0].x`.
    Unknown(String),
    /// A value of another type, in the words of the decoder: the request fails whatever the field validation.
    Mismatch(String),
}

impl std::fmt::Display for Fault {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Unknown(path) => write!(formatter, "unknown field \"{path}\""),
            Self::Mismatch(message) => formatter.write_str(message),
        }
    }
}

/// Compares a value of a built-in kind with its type: first the mismatches, then the unknown fields, each in the order of the value, but
/// for the first that a type of its own refuses: that comes first, for there the decoder stops. The real server reports only the first
/// mismatch. With `prune`, unknown fields are also removed, as decoding does.
pub fn check(value: &mut Value, ty: &Type, prune: bool) -> Vec<Fault> {
    let mut checker = Checker::new(Reader::Decoder, prune);
    checker.visit(value, ty, None, &mut Place::default());
    let mut faults = checker.mismatches;
    faults.append(&mut checker.unknown);
    faults
}

/// What the converter of the real server, which reads what an apply made, says of the first value that it cannot read: it has other words
/// for some.
pub fn inconvertible(value: &mut Value, ty: &Type) -> Option<String> {
    let mut checker = Checker::new(Reader::Converter, false);
    checker.visit(value, ty, None, &mut Place::default());
    checker.mismatches.first().map(ToString::to_string)
}

/// Which code of the real server is imitated.
#[derive(Clone, Copy, PartialEq)]
enum Reader {
    Decoder,
    Converter,
}

struct Checker {
    reader: Reader,
    prune: bool,
    unknown: Vec<Fault>,
    mismatches: Vec<Fault>,
    /// A type refused a value that it reads by itself.
    stopped: bool,
}

/// Where a value stands: with indices and keys, as unknown fields are named; the fields alone, and the struct's name, as mismatches are.
#[derive(Default)]
struct Place {
    path: String,
    fields: String,
    holder: String,
}

#[derive(Clone, Copy, PartialEq)]
enum Step<'a> {
    /// And the structs that it is inlined from.
    Field(Option<&'a str>),
    Key,
    Item,
}

impl Place {
    /// A step into a field of a struct, a key of a map or an item.
    fn within<T>(&mut self, step: &str, kind: Step<'_>, visit: impl FnOnce(&mut Self) -> T) -> T {
        let (path, fields) = (self.path.len(), self.fields.len());
        if kind != Step::Item && !self.path.is_empty() {
            self.path.push('.');
        }
        self.path.push_str(step);
        if let Step::Field(inlined) = kind {
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
    fn new(reader: Reader, prune: bool) -> Self {
        Self {
            reader,
            prune,
            unknown: Vec::new(),
            mismatches: Vec::new(),
            stopped: false,
        }
    }

    /// `go` is what Go calls the type, if it has a name for it.
    fn visit(&mut self, value: &mut Value, ty: &Type, go: Option<&str>, place: &mut Place) {
        if value.is_null() {
            return;
        }
        match ty.resolve() {
            Type::Scalar(scalar) => {
                if let Some(message) = self.reader.mismatch(value, *scalar, go, place) {
                    let stops = scalar.reads_itself() && !std::mem::replace(&mut self.stopped, true);
                    let at = if stops { 0 } else { self.mismatches.len() };
                    self.mismatches.insert(at, Fault::Mismatch(message));
                }
            }
            Type::List(list) => match value {
                Value::Array(items) => {
                    for (index, item) in items.iter_mut().enumerate() {
                        place.within(&format!("[{index}]"), Step::Item, |place| {
                            self.visit(item, &list.items, go.and_then(item_of), place);
                        });
                    }
                }
                other => self.refuse(other, ty, go, place),
            },
            Type::Map(map) => match value {
                Value::Object(object) => {
                    let holder = match ty {
                        Type::Named(named) => named.name.rsplit('.').next().unwrap_or_default().to_owned(),
                        _ => place.holder.clone(),
                    };
                    let outer = std::mem::replace(&mut place.holder, holder);
                    self.visit_fields(object, map, go.and_then(value_of), place);
                    place.holder = outer;
                }
                other => self.refuse(other, ty, go, place),
            },
            Type::Named(_) | Type::Any | Type::Opaque => {}
        }
    }

    fn visit_fields(
        &mut self,
        object: &mut serde_json::Map<String, Value>,
        map: &Map,
        go: Option<&str>,
        place: &mut Place,
    ) {
        object.retain(|name, value| {
            let (step, go) = match map.fields.get(name.as_str()) {
                Some(field) => (Step::Field(field.within.as_deref()), field.go.as_deref()),
                None => (Step::Key, go),
            };
            place.within(name, step, |place| {
                let Some(ty) = map.type_of(name) else {
                    self.unknown.push(Fault::Unknown(place.path.clone()));
                    return !self.prune;
                };
                self.visit(value, ty, go, place);
                true
            })
        });
    }

    fn refuse(&mut self, value: &Value, ty: &Type, go: Option<&str>, place: &Place) {
        let ty = go.map_or_else(|| go_type(ty), str::to_owned);
        self.mismatches
            .push(Fault::Mismatch(cannot_unmarshal(json_kind(value), &ty, place)));
    }
}

/// What Go calls the items of a list of this name.
fn item_of(go: &str) -> Option<&str> {
    go.strip_prefix("[]").map(|item| item.trim_start_matches('*'))
}

/// What Go calls the values of a map of this name.
fn value_of(go: &str) -> Option<&str> {
    let (_, value) = go.strip_prefix("map[")?.split_once(']')?;
    Some(value.trim_start_matches('*'))
}

fn cannot_unmarshal(found: &str, ty: &str, place: &Place) -> String {
    if place.fields.is_empty() {
        return format!("json: cannot unmarshal {found} into Go value of type {ty}");
    }
    format!(
        "json: cannot unmarshal {found} into Go struct field {}.{} of type {ty}",
        place.holder, place.fields
    )
}

impl Reader {
    fn mismatch(self, value: &Value, scalar: Scalar, go: Option<&str>, place: &Place) -> Option<String> {
        let plain = |ty: &str| Some(cannot_unmarshal(json_kind(value), go.unwrap_or(ty), place));
        match scalar {
            Scalar::Boolean if !value.is_boolean() => plain("bool"),
            Scalar::Double if !value.is_number() => plain("float64"),
            Scalar::String if !value.is_string() => plain("string"),
            Scalar::Int32 => self.whole(value, go.unwrap_or("int32"), is_int32, place),
            Scalar::Int64 => self.whole(value, go.unwrap_or("int64"), |_| true, place),
            Scalar::Bytes => match value.as_str() {
                // Of a list, each item is read as a byte.
                None => match value.as_array() {
                    Some(items) => items.iter().filter(|item| !item.is_null()).find_map(|item| {
                        self.whole(item, "uint8", |number| u8::try_from(number).is_ok(), place)
                    }),
                    None => plain("[]uint8"),
                },
                Some(text) => scalars::base64_error(text).map(|why| match self {
                    Self::Decoder => why,
                    Self::Converter => format!("error decoding from json: {why}"),
                }),
            },
            Scalar::Quantity => {
                let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                scalars::quantity_error(&text)
            }
            Scalar::DateTime | Scalar::MicroTime => match value.as_str() {
                // It hands the value alone to the type's own decoder.
                None if self == Self::Converter => {
                    Some(cannot_unmarshal(json_kind(value), "string", &Place::default()))
                }
                None => plain("string"),
                Some(text) => scalars::time_error(text, scalar == Scalar::MicroTime),
            },
            Scalar::IntOrString if value.is_string() => None,
            Scalar::IntOrString => match self {
                Self::Decoder => self.whole(value, "int32", is_int32, place),
                // So here.
                Self::Converter => Self::Decoder.whole(value, "int32", is_int32, &Place::default()),
            },
            _ => None,
        }
    }

    fn whole(self, value: &Value, ty: &str, fits: impl Fn(i64) -> bool, place: &Place) -> Option<String> {
        match value {
            Value::Number(number) if number.as_i64().is_some_and(fits) => None,
            Value::Number(_) if self == Self::Converter => Some(format!("cannot convert float64 to {ty}")),
            Value::Number(number) => Some(cannot_unmarshal(&format!("number {number}"), ty, place)),
            _ => Some(cannot_unmarshal(json_kind(value), ty, place)),
        }
    }
}

fn is_int32(number: i64) -> bool {
    i32::try_from(number).is_ok()
}

/// How Go writes the type, where it has no other name for it.
fn go_type(ty: &Type) -> String {
    match ty {
        Type::Named(named) => named
            .name
            .split_once('.')
            .map_or(&*named.name, |(_, name)| name)
            .to_owned(),
        Type::List(list) => format!("[]{}", go_type(&list.items)),
        Type::Map(map) => format!(
            "map[string]{}",
            map.values.as_ref().map_or_else(String::new, go_type)
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
        Type::Any | Type::Opaque => "interface {}".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::builtin;
    use serde_json::json;

    fn faults(mut value: Value, prune: bool) -> (Vec<String>, Value) {
        let ty = builtin("apps/v1", "Deployment").unwrap();
        let faults = check(&mut value, ty, prune)
            .iter()
            .map(ToString::to_string)
            .collect();
        (faults, value)
    }

    #[test]
    fn unknown_fields_are_named_with_indices_and_pruned_on_demand() {
        let value = json!({"spec": {"x": 1, "template": {"spec": {"containers": [{"name": "a"}, {"name": "b", "y": {"z": 1}}]}}}});
        let (found, kept) = faults(value.clone(), false);
        assert_eq!(
            found,
            [
                "unknown field \"spec.template.spec.containers[1].y\"",
                "unknown field \"spec.x\""
            ]
        );
        assert_eq!(kept, value);
        let (_, pruned) = faults(value, true);
        assert_eq!(
            pruned,
            json!({"spec": {"template": {"spec": {"containers": [{"name": "a"}, {"name": "b"}]}}}})
        );
    }

    #[test]
    fn mismatches_are_told_in_the_decoders_words() {
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
            let (found, _) = faults(value.clone(), false);
            assert_eq!(
                found.iter().map(String::as_str).collect::<Vec<_>>(),
                [message],
                "{value}"
            );
        }
    }
    #[test]
    fn metadata_by_itself_is_named_from_its_own_top() {
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
            let faults = check(&mut metadata, &Type::named("meta.v1.ObjectMeta"), false);
            let faults: Vec<_> = faults.iter().map(ToString::to_string).collect();
            assert_eq!(faults, [message], "{metadata}");
        }
    }
}

//! Tests of the conversion, with two versions of one kind that differ in all ways that the derive has rules for.

mod kinds;
mod lossless;
mod partial;
mod restoring;
mod review;

use serde_json::{Map, Value, json};

use super::{Converters, RegisteredVersions};
use crate::{cache::RegisteredKind, client::OwnerVersions};
use kinds::{v1, v1alpha1, v1beta1};

/// Converts between the versions v1, which is the hub, v1alpha1 and v1beta1 of `Foo`.
fn converters() -> Converters {
    let mut registered = RegisteredVersions::of::<v1::Foo>();
    let mut kinds: Vec<RegisteredKind> = Vec::new();
    super::Versions::<v1::Foo>::new(&mut registered, &mut kinds, OwnerVersions::default())
        .other::<v1alpha1::Foo>()
        .other::<v1beta1::Foo>();
    assert_eq!(registered.errors().count(), 0);
    Converters::new([registered.converter])
}

fn convert(converters: &Converters, object: &Value, version: &str) -> Value {
    let converted = converters.convert(object.clone(), &format!("demo.dev/{version}"));
    Value::Object(converted.unwrap())
}

/// An object of the hub with all required fields and, as from the API server, the schema's defaults, and `spec` added to them.
fn hub(spec: Value) -> Value {
    let mut object = json!({
        "apiVersion": "demo.dev/v1", "kind": "Foo",
        "metadata": {"name": "first", "namespace": "default", "uid": "1", "finalizers": ["a.b/c"]},
        "spec": {
            "name": "a", "maxSize": 1, "color": "Red", "host": "h", "port": 80, "ratio": 1.5,
            "target": {"host": {"name": "x"}},
            "ports": [], "users": [], "rules": [], "colors": [], "limits": {},
        },
    });
    merge(&mut object["spec"], spec);
    object
}

/// Overwrites the fields of an object by those of another.
fn merge(object: &mut Value, other: Value) {
    if let (Value::Object(fields), Value::Object(other)) = (object, other) {
        fields.extend(other);
    }
}

/// The annotation with what the version `version` lost.
fn annotation(object: &Value, version: &str) -> Value {
    let text = &object["metadata"]["annotations"][format!("conversion.kubewright.dev/{version}")];
    text.as_str()
        .map_or(Value::Null, |text| serde_json::from_str(text).unwrap())
}

fn object_of(value: &Value) -> &Map<String, Value> {
    value.as_object().unwrap()
}

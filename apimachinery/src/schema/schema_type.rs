//! Conversion of a custom resource's schema to a type, for server-side apply.

use super::lists::key_names;
use crate::types::{EmptyEncoding, Field, List, ListKind, Map, Scalar, Type};
use serde_json::Value;

/// Returns the type of a custom resource with this `openAPIV3Schema`: fields, lists and maps of the schema, and object metadata. A null or
/// empty schema gives an open type.
pub fn type_of(schema: &Value) -> Type {
    with_object_fields(convert(schema, false))
}

fn with_object_fields(ty: Type) -> Type {
    let mut map = match ty {
        Type::Map(map) => *map,
        _ => Map {
            values: Some(Type::Any),
            ..Map::default()
        },
    };
    for name in ["apiVersion", "kind"] {
        map.fields
            .insert(name.into(), plain(Type::Scalar(Scalar::String), None));
    }
    map.fields
        .insert("metadata".into(), plain(Type::named("meta.v1.ObjectMeta"), None));
    Type::Map(Box::new(map))
}

fn plain(ty: Type, default: Option<Value>) -> Field {
    Field {
        default,
        empty: EmptyEncoding {
            pointer: true,
            omitempty: true,
            omitzero: false,
        },
        ..ty.into()
    }
}

/// `preserving`: an outer schema preserves unknown fields, which includes nested ones.
fn convert(schema: &Value, preserving: bool) -> Type {
    let preserving = preserving || schema["x-kubernetes-preserve-unknown-fields"] == true;
    let has_properties = schema["properties"]
        .as_object()
        .is_some_and(|properties| !properties.is_empty());
    let ty = match schema["type"].as_str() {
        Some("object") => map(schema, preserving),
        Some("array") => Type::List(Box::new(List {
            items: convert(&schema["items"], preserving),
            kind: list_kind(schema),
        })),
        Some("boolean") => Type::Scalar(Scalar::Boolean),
        Some("integer") => Type::Scalar(Scalar::Int64),
        Some("number") => Type::Scalar(Scalar::Double),
        Some("string") if matches!(schema["format"].as_str(), None | Some("" | "byte")) => {
            Type::Scalar(Scalar::String)
        }
        Some(_) => Type::Scalar(Scalar::Untyped),
        None if has_properties => map(schema, preserving),
        None => Type::Any,
    };
    if schema["x-kubernetes-embedded-resource"] == true {
        with_object_fields(ty)
    } else {
        ty
    }
}

fn map(schema: &Value, preserving: bool) -> Type {
    let mut map = Map {
        atomic: schema["x-kubernetes-map-type"] == "atomic",
        ..Map::default()
    };
    for (name, schema) in schema["properties"].as_object().into_iter().flatten() {
        let field = plain(convert(schema, preserving), schema.get("default").cloned());
        map.fields.insert(name.as_str().into(), field);
    }
    map.values = match &schema["additionalProperties"] {
        values @ Value::Object(_) => Some(convert(values, preserving)),
        Value::Bool(allowed) => allowed.then_some(Type::Any),
        _ => (preserving || map.fields.is_empty()).then_some(Type::Any),
    };
    Type::Map(Box::new(map))
}

fn list_kind(schema: &Value) -> ListKind {
    match schema["x-kubernetes-list-type"].as_str() {
        Some("set") => ListKind::Set,
        Some("map") => ListKind::Map(key_names(schema).map(Into::into).collect()),
        _ => ListKind::Atomic,
    }
}

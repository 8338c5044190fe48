//! The fields of a schema that contain a schema or another value: `items`, `additionalProperties`, `additionalItems`, `dependencies`.

use serde_json::Value;
use std::sync::LazyLock;

use crate::types::{List, ListKind, Scalar, SchemaOr, Type};

static BOOLEAN: Type = Type::Scalar(Scalar::Boolean);
static SCHEMA: LazyLock<Type> = LazyLock::new(|| Type::named("apiextensions.v1.JSONSchemaProps"));
static SCHEMAS: LazyLock<Type> = LazyLock::new(|| list_of(SCHEMA.clone()));
static STRINGS: LazyLock<Type> = LazyLock::new(|| list_of(Type::Scalar(Scalar::String)));

impl SchemaOr {
    /// Returns the type as which a value is decoded, or `None` for a value of another form: the decoder of a schema or boolean rejects it,
    /// the other decoders read it as null.
    pub fn type_of(self, value: &Value) -> Option<&'static Type> {
        match (self, value) {
            (_, Value::Object(_)) => Some(&SCHEMA),
            (Self::List, Value::Array(_)) => Some(&SCHEMAS),
            (Self::Strings, Value::Array(_)) => Some(&STRINGS),
            (Self::Boolean, Value::Bool(_)) => Some(&BOOLEAN),
            _ => None,
        }
    }
}

fn list_of(items: Type) -> Type {
    Type::List(Box::new(List {
        items,
        kind: ListKind::Atomic,
    }))
}

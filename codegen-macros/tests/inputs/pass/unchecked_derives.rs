//! Fields whose types lack derives, since nothing uses them.
#![deny(warnings, missing_docs, unused, unreachable_pub)]

use kubewright::CustomKind;
use kubewright::prelude::*;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A type without serde and schema.
#[derive(Clone, Debug, Default)]
pub struct Plain(String);

fn serialize<S: Serializer>(plain: &Plain, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&plain.0)
}

fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Plain, D::Error> {
    String::deserialize(deserializer).map(Plain)
}

/// Attributes of the fields replace the traits of their types.
#[derive(CustomResource, Informer, Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[kube(group = "demo.dev", version = "v1", kind = "Foo", namespaced)]
pub struct FooSpec {
    /// Neither read nor written.
    #[serde(skip)]
    pub skipped: Plain,
    /// Read and written by functions.
    #[serde(serialize_with = "serialize", deserialize_with = "deserialize")]
    #[schemars(with = "String")]
    pub converted: Plain,
    /// Not sized.
    pub text: Box<str>,
    /// Contains the struct itself, so that the kind has no definition.
    pub more: Option<Box<Self>>,
}

/// Implements the traits by hand.
#[derive(CustomResource, Informer, Clone, Debug)]
#[kube(group = "demo.dev", version = "v1", kind = "Bar", namespaced)]
#[informer(unchecked_fields)]
pub struct BarSpec {
    /// The only field.
    pub plain: Plain,
}

impl Serialize for BarSpec {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map([("plain", &self.plain.0)])
    }
}

impl<'de> Deserialize<'de> for BarSpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserialize(deserializer).map(|plain| Self { plain })
    }
}

impl JsonSchema for BarSpec {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "BarSpec".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        schemars::json_schema!({ "type": "object" })
    }
}

/// Has no schema.
#[derive(CustomResource, Informer, Clone, Debug, Deserialize, Serialize)]
#[kube(group = "demo.dev", version = "v1", kind = "Baz", plural = "bazs", namespaced, schema = "disabled")]
pub struct BazSpec {}

fn main() {
    assert_eq!(Foo::info().plural, "foos");
    assert_eq!(Bar::definition().metadata.name.as_deref(), Some("bars.demo.dev"));
    assert_eq!(Baz::definition().metadata.name.as_deref(), Some("bazs.demo.dev"));
}

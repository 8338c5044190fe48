//! Types of index values: inferred by JSON name, and given.
#![deny(warnings, missing_docs, unused, unreachable_pub)]

use kubewright::{CustomKind, cache::IndexType};
use kubewright::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A phase.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
pub enum Phase {
    /// Not yet.
    Pending,
    /// Now.
    Running,
}

/// All types.
#[derive(CustomResource, Informer, Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[kube(group = "demo.dev", version = "v1", kind = "Thing", namespaced)]
#[informer(
    index(by_text = "spec.plainText", by_renamed = "spec.other", by_read = "spec.readName", by_bool = "spec.isOn"),
    index(by_i8 = "spec.small", by_i32 = "spec.middle", by_i64 = "spec.large", by_u32 = "spec.unsigned"),
    index(by_optional = "spec.maybe", by_tag = "spec.tags[*]", by_port = "spec.ports[*]", by_cell = "spec.grid[*][*]"),
    index(by_phase: Phase = "spec.phase", by_module_phase: self::Phase = "spec.phase"),
    index(by_wide: i64 = "spec.wide", by_u8: u8 = "spec.any.deep", by_std: std::string::String = "spec.any.text"),
    index(by_deep_bool: bool = "spec.any.on"),
)]
#[serde(rename_all(serialize = "snake_case", deserialize = "camelCase"))]
pub struct ThingSpec {
    /// Text.
    pub plain_text: String,
    /// Text.
    #[serde(rename = "other", default)]
    pub renamed: std::string::String,
    /// Text.
    #[serde(rename(serialize = "written", deserialize = "readName"))]
    pub both: String,
    /// Boolean.
    pub is_on: bool,
    /// Integer.
    pub small: i8,
    /// Integer.
    pub middle: i32,
    /// Integer.
    pub large: i64,
    /// Integer.
    pub unsigned: u32,
    /// Too wide for an index, which needs an explicit type.
    pub wide: u64,
    /// Option.
    pub maybe: Option<i16>,
    /// List.
    pub tags: Vec<String>,
    /// Optional list.
    pub ports: Option<Vec<u16>>,
    /// List of lists.
    pub grid: Vec<Vec<u8>>,
    /// Enum.
    pub phase: Phase,
    /// A type that cannot be inferred.
    #[schemars(schema_with = "any")]
    pub any: serde_json::Value,
}

fn any(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::json_schema!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true })
}

/// Every method takes the type of its index.
pub fn uses(things: &ThingLister) -> usize {
    let integers = things.by_i8(-1_i8).chain(things.by_i32(1_i32)).chain(things.by_i64(1_i64)).chain(things.by_u32(1_u32));
    let optional = things.by_optional(1_i16).chain(things.by_tag("a")).chain(things.by_port(80_u16)).chain(things.by_cell(1_u8));
    let enums = things.by_phase(&Phase::Pending).chain(things.by_module_phase(&Phase::Running));
    let written = things.by_wide(1_i64).chain(things.by_u8(1_u8)).chain(things.by_std("")).chain(things.by_deep_bool(true));
    let strings = things.by_text("").chain(things.by_renamed("")).chain(things.by_read("")).chain(things.by_bool(true));
    integers.chain(optional).chain(enums).chain(written).chain(strings).count()
}

fn main() {
    let of_type = |wanted| Thing::indexes().iter().filter(move |index| index.value_type == wanted).map(|index| index.name);
    assert_eq!(of_type(IndexType::Bool).collect::<Vec<_>>(), ["by_bool", "by_deep_bool"]);
    assert_eq!(
        of_type(IndexType::Integer).collect::<Vec<_>>(),
        ["by_i8", "by_i32", "by_i64", "by_u32", "by_optional", "by_port", "by_cell", "by_wide", "by_u8"],
    );
    assert_eq!(
        of_type(IndexType::String).collect::<Vec<_>>(),
        ["by_text", "by_renamed", "by_read", "by_tag", "by_phase", "by_module_phase", "by_std"],
    );
}

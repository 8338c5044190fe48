//! The conversion between versions, as the operator's manifests have it.

use std::collections::BTreeMap;

use serde::Deserialize;

/// The conversion between the versions of a kind.
#[derive(Debug, Clone, Deserialize)]
pub struct VersionConversion {
    /// The version that controllers use.
    pub hub: String,
    /// The rules of each other version: fields without a rule are copied.
    pub rules: BTreeMap<String, Vec<FieldRule>>,
}

/// A field that is not just copied.
#[derive(Debug, Clone, Deserialize)]
pub struct FieldRule {
    /// The path in the other version, as in `spec.ports[].number`; none if it has no such field.
    #[serde(default)]
    pub field: Option<String>,
    /// The path in the hub; none if it has no such field.
    #[serde(default)]
    pub hub: Option<String>,
    /// Whether a function converts the value.
    #[serde(default)]
    pub function: bool,
}

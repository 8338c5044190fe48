//! [`RegisteredKind`]: a custom kind that an operator registers, with or without an informer.

use std::collections::BTreeMap;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;

use super::IndexSpec;
use crate::{ApiResource, CustomKind};

/// A custom kind that an operator registers.
#[derive(Clone, Debug)]
pub struct RegisteredKind {
    /// Its group, version, resource and scope.
    pub info: ApiResource,
    /// Returns its CustomResourceDefinition; see [`CustomKind::definition`].
    pub definition: fn() -> CustomResourceDefinition,
    /// Whether another project owns the definition.
    pub external: bool,
    /// Whether its objects contain sensitive data.
    pub sensitive: bool,
    /// The indexes that its derive declares.
    pub indexes: &'static [IndexSpec],
    /// The path of the Rust type. Several types can have the same `info`.
    pub rust_type: &'static str,
    /// Returns the Rust types in its schema; see [`CustomKind::rust_types`].
    pub rust_types: fn() -> BTreeMap<String, String>,
}

impl RegisteredKind {
    pub(crate) fn of<K: CustomKind>() -> Self {
        Self {
            info: K::info(),
            definition: K::definition,
            external: K::EXTERNAL,
            sensitive: K::SENSITIVE,
            indexes: K::indexes(),
            rust_type: std::any::type_name::<K>(),
            rust_types: K::rust_types,
        }
    }

    /// Adds the kind to a list, each Rust type once.
    pub(crate) fn add_to(self, kinds: &mut Vec<Self>) {
        if kinds.iter().all(|known| known.rust_type != self.rust_type) {
            kinds.push(self);
        }
    }
}

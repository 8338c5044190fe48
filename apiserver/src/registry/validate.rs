//! What is wrong with an object, beyond its metadata.

use super::Registry;
use crate::builtin;
use crate::kinds::Kind;
use crate::meta;
use crate::status::{ApiError, Cause};
use crate::strategy;
use serde_json::Value;

/// What is wrong with an object that is new, or replaces another.
pub(super) fn validate(kind: &Kind, object: &Value, old: Option<&Value>) -> Vec<Cause> {
    match &kind.definition {
        Some(definition) => {
            let metadata = builtin::validate_metadata(&object["metadata"], "metadata");
            let version = definition.version(&kind.version);
            let errors = version.map(|version| version.schema.validate(object, old));
            let errors = metadata.into_iter().chain(errors.into_iter().flatten());
            errors.map(Cause::from).collect()
        }
        None => strategy::check(kind, object, old),
    }
}

impl Registry {
    /// Gives an object what only one object can have, as addresses.
    pub(super) fn allocate(&self, kind: &Kind, object: &mut Value) -> Result<(), ApiError> {
        if kind.kind != "Service" || !kind.group.is_empty() {
            return Ok(());
        }
        let services = self.store.list(&kind.table(), "", "", None);
        let services = services.map(|page| page.objects).unwrap_or_default();
        let uid = meta::uid(object).to_owned();
        let others = services.iter().map(|service| service.value());
        if strategy::allocate(kind, object, others.filter(|other| meta::uid(other) != uid)) {
            return Ok(());
        }
        Err(ApiError::internal(
            "failed to allocate an address or a port: the range is full",
        ))
    }
}

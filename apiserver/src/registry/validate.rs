//! What is wrong with an object, beyond its metadata.

use super::Registry;
use crate::builtin;
use crate::kinds::Kind;
use crate::status::{ApiError, Cause};
use serde_json::Value;

impl Registry {
    /// What is wrong with an object that is new, or replaces another.
    pub(super) fn validate(&self, kind: &Kind, object: &Value, old: Option<&Value>) -> Vec<Cause> {
        match &kind.definition {
            Some(_) => vec![],
            None => builtin::check(kind, object, old),
        }
    }

    /// Gives an object what only one object can have, as addresses.
    pub(super) fn allocate(
        &self,
        kind: &Kind,
        object: &mut Value,
        old: Option<&Value>,
    ) -> Result<(), ApiError> {
        let _ = (kind, object, old);
        Ok(())
    }
}

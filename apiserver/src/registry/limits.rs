//! Limit ranges of a namespace, for what is created or changed in it.

use super::Registry;
use crate::builtin::{fill_limits, limit_faults};
use crate::kinds::Kind;
use crate::meta;
use crate::status::ApiError;
use crate::store::{Object, Store};
use serde_json::Value;
use std::sync::Arc;

impl Registry {
    /// Fills in what they say of the containers of a new pod.
    pub(super) fn fill_limits(&self, kind: &Kind, object: &mut Value) {
        if is_limited(kind, "Pod") {
            for range in self.ranges(object) {
                fill_limits(object, range.value());
            }
        }
    }

    /// Refuses a pod or a claim that asks for less or more than one of them allows.
    pub(super) fn admit_limits(&self, kind: &Kind, object: &Value) -> Result<(), ApiError> {
        if !is_limited(kind, "Pod") && !is_limited(kind, "PersistentVolumeClaim") {
            return Ok(());
        }
        for range in self.ranges(object) {
            let why = match limit_faults(&kind.kind, object, range.value()).as_slice() {
                [] => continue,
                [fault] => fault.clone(),
                faults => format!("[{}]", faults.join(", ")),
            };
            return Err(ApiError::forbidden(kind, meta::name(object), why));
        }
        Ok(())
    }

    /// The same for a change: of a claim, or of what a pod asks for.
    pub(super) fn admit_changed_limits(
        &self,
        kind: &Kind,
        part: &str,
        new: &Value,
        old: &Value,
    ) -> Result<(), ApiError> {
        let is_asked = match part {
            "" => is_limited(kind, "PersistentVolumeClaim"),
            "resize" => is_limited(kind, "Pod"),
            _ => false,
        };
        if !is_asked || meta::is_being_deleted(old) {
            return Ok(());
        }
        self.admit_limits(kind, new)
    }

    fn ranges(&self, object: &Value) -> Vec<Arc<Object>> {
        let listing = self.resource("", "limitranges").ok().and_then(|ranges| {
            let prefix = Store::key(meta::namespace(object), "");
            self.store.list(&ranges.table(), &prefix, "", None).ok()
        });
        listing.map(|listing| listing.objects).unwrap_or_default()
    }
}

fn is_limited(kind: &Kind, name: &str) -> bool {
    kind.group.is_empty() && kind.kind == name
}

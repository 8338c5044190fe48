//! The admission plugin LimitRanger.

use super::Registry;
use crate::builtin::{default_container_resources, limit_range_errors};
use crate::kinds::Kind;
use crate::meta;
use crate::status::ApiError;
use crate::store::{Object, Store};
use serde_json::Value;
use std::sync::Arc;

impl Registry {
    /// Sets the defaults of the namespace's limit ranges in the containers of a new pod.
    pub(super) fn set_limit_range_defaults(&self, kind: &Kind, object: &mut Value) {
        if is_limited(kind, "Pod") {
            for range in self.limit_ranges(object) {
                default_container_resources(object, range.value());
            }
        }
    }

    /// Refuses a pod or a claim with requests outside of a limit range.
    pub(super) fn check_limit_ranges(&self, kind: &Kind, object: &Value) -> Result<(), ApiError> {
        if !is_limited(kind, "Pod") && !is_limited(kind, "PersistentVolumeClaim") {
            return Ok(());
        }
        for range in self.limit_ranges(object) {
            let why = match limit_range_errors(&kind.kind, object, range.value()).as_slice() {
                [] => continue,
                [fault] => fault.clone(),
                faults => format!("[{}]", faults.join(", ")),
            };
            return Err(ApiError::forbidden(kind, meta::name(object), why));
        }
        Ok(())
    }

    /// Checks the limit ranges for an update of a claim or a resize of a pod.
    pub(super) fn check_limit_ranges_on_update(
        &self,
        kind: &Kind,
        subresource: &str,
        new: &Value,
        old: &Value,
    ) -> Result<(), ApiError> {
        let is_asked = match subresource {
            "" => is_limited(kind, "PersistentVolumeClaim"),
            "resize" => is_limited(kind, "Pod"),
            _ => false,
        };
        if !is_asked || meta::is_being_deleted(old) {
            return Ok(());
        }
        self.check_limit_ranges(kind, new)
    }

    fn limit_ranges(&self, object: &Value) -> Vec<Arc<Object>> {
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

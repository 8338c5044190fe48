//! Where bytes become types: the only place of the cache that decodes.

use std::sync::{Arc, atomic::Ordering};

use super::{DecodeError, object::StoredObject, stats::Counters};
use crate::{KindInfo, View};

/// Reads stored objects as whatever type is asked for. One per informer; what was read could stay decoded here.
#[derive(Debug)]
pub(super) struct Views {
    info: KindInfo,
    counters: Arc<Counters>,
}

impl Views {
    pub(super) fn new(info: KindInfo, counters: Arc<Counters>) -> Self {
        Self { info, counters }
    }

    pub(super) fn info(&self) -> &KindInfo {
        &self.info
    }

    pub(super) fn read<K: View>(&self, stored: &StoredObject) -> Result<Arc<K>, DecodeError> {
        if let Some(defect) = &stored.defect {
            return Err(self.report(stored, defect));
        }
        match serde_json::from_slice(&stored.json) {
            Ok(object) => Ok(Arc::new(object)),
            Err(error) => Err(self.report(stored, &error.to_string())),
        }
    }

    /// Logs and counts each version of an object once, however often it is read.
    pub(super) fn report(&self, stored: &StoredObject, message: &str) -> DecodeError {
        let error = DecodeError {
            kind: self.info.kind.to_string(),
            name: stored.metadata.name.clone(),
            resource_version: stored.metadata.resource_version.to_string(),
            message: message.to_owned(),
        };
        if !stored.reported.swap(true, Ordering::Relaxed) {
            self.counters.decode_errors.fetch_add(1, Ordering::Relaxed);
            tracing::error!(
                "{error}; every read of it fails until the object is mended, or its Rust type reads it"
            );
        }
        error
    }
}

//! The decoder: turns stored bytes into types. The only place of the cache that decodes objects.

use std::{
    any::type_name,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use parking_lot::Mutex;

use super::{
    DecodeError,
    decoded_cache::DecodedCacheHandle,
    log_once::LogOnce,
    object::StoredObject,
    scan,
    stats::{Counters, count},
};
use crate::{ApiResource, NamespacedName, View, panics::caught};

/// The type name under which errors are reported that affect every type.
pub(super) const ANY_TYPE: &str = "";

/// Decodes stored objects as any type, and logs and counts those that do not decode. One per informer.
#[derive(Debug)]
pub(super) struct Decoder {
    info: ApiResource,
    /// Errors must not quote values of the objects.
    sensitive: AtomicBool,
    counters: Arc<Counters>,
    decoded_cache: Arc<DecodedCacheHandle>,
    was_json_read: AtomicBool,
    /// The objects that did not decode when they were last read, and as which type.
    failing: Mutex<LogOnce<(NamespacedName, &'static str)>>,
    /// Whether `failing` has entries.
    has_failing: AtomicBool,
}

impl Decoder {
    pub(super) fn new(
        info: ApiResource,
        sensitive: bool,
        counters: Arc<Counters>,
        decoded_cache: Arc<DecodedCacheHandle>,
    ) -> Self {
        Self {
            info,
            sensitive: sensitive.into(),
            counters,
            decoded_cache,
            was_json_read: AtomicBool::new(false),
            failing: Mutex::default(),
            has_failing: AtomicBool::new(false),
        }
    }

    pub(super) fn info(&self) -> &ApiResource {
        &self.info
    }

    /// Records that the JSON of an object is read.
    pub(super) fn mark_json_read(&self) {
        self.was_json_read.store(true, Ordering::Relaxed);
    }

    /// Whether the JSON of an object was ever read.
    pub(super) fn was_json_read(&self) -> bool {
        self.was_json_read.load(Ordering::Relaxed)
    }

    /// From now on no error quotes values of an object.
    pub(super) fn mark_sensitive(&self) {
        self.sensitive.store(true, Ordering::Relaxed);
    }

    /// Decodes the object. The second call for a version puts the result into the decoded cache: most versions are read once, by one
    /// reconcile, which then replaces them by a write.
    pub(super) fn decode_and_cache<K: View>(
        &self,
        stored: &Arc<StoredObject>,
    ) -> Result<Arc<K>, DecodeError> {
        if let Some(decoded) = stored.decoded.get() {
            return Ok(decoded);
        }
        let decoded = self.decode_payload::<K>(stored)?;
        if stored.was_read.swap(true, Ordering::Relaxed) {
            self.decoded_cache.cache().insert(stored, decoded.clone());
        }
        Ok(decoded)
    }

    /// Returns the cached decoded object, or decodes it.
    pub(super) fn decode<K: View>(&self, stored: &StoredObject) -> Result<Arc<K>, DecodeError> {
        match stored.decoded.get() {
            Some(decoded) => Ok(decoded),
            None => self.decode_payload(stored),
        }
    }

    /// Decodes an object that arrives, and keeps it decoded until it is replaced ([`StorageMode::Decoded`](super::StorageMode::Decoded)).
    /// If it does not decode, or the type's `Deserialize` panics, the next read reports that.
    pub(super) fn decode_on_arrival<K: View>(&self, stored: &StoredObject) {
        if let Ok(Ok(decoded)) = caught(|| self.decode_payload::<K>(stored)) {
            self.decoded_cache.cache().insert_permanent(stored, decoded);
        }
    }

    fn decode_payload<K: View>(&self, stored: &StoredObject) -> Result<Arc<K>, DecodeError> {
        if let Some(defect) = &stored.defect {
            return Err(self.report(stored, ANY_TYPE, defect));
        }
        count(&self.counters.decodes);
        let decoded = stored.payload.with_json(|json| {
            // Checks UTF-8 once, not again for each string.
            let json = scan::text(json).map_err(|error| error.to_string())?;
            serde_json::from_str(json).map_err(|error| self.without_values(&error))
        });
        let problem = match decoded {
            Ok(Ok(object)) => {
                self.clear_failure(stored, type_name::<K>());
                return Ok(Arc::new(object));
            }
            Ok(Err(problem)) => problem,
            Err(damaged) => damaged.to_string(),
        };
        Err(self.report(stored, type_name::<K>(), &problem))
    }

    fn clear_failure(&self, stored: &StoredObject, type_name: &'static str) {
        if !self.has_failing.load(Ordering::Relaxed) {
            return;
        }
        let mut failing = self.failing.lock();
        for type_name in [type_name, ANY_TYPE] {
            failing.forget(&(stored.name().clone(), type_name));
        }
        self.has_failing.store(!failing.is_empty(), Ordering::Relaxed);
    }

    /// Returns an error message of the user's code, or a replacement if the kind is sensitive: the message may quote values.
    pub(super) fn quotable(&self, message: String) -> String {
        if self.sensitive.load(Ordering::Relaxed) {
            return "the message is hidden because the kind is sensitive".to_owned();
        }
        message
    }

    /// Returns serde's message, without quoted values if the kind is sensitive.
    fn without_values(&self, error: &serde_json::Error) -> String {
        if self.sensitive.load(Ordering::Relaxed) {
            return format!(
                "{:?} error at line {} column {}; the value is hidden because the kind is sensitive",
                error.classify(),
                error.line(),
                error.column()
            );
        }
        error.to_string()
    }

    /// Counts and logs an object that does not decode as a type, and returns the error.
    ///
    /// Each version is counted once. An object is logged once until it decodes again: a broken client may write it every second.
    pub(super) fn report(
        &self,
        stored: &StoredObject,
        type_name: &'static str,
        message: &str,
    ) -> DecodeError {
        let error = DecodeError {
            kind: self.info.kind.to_string(),
            name: stored.name().clone(),
            resource_version: stored.metadata.resource_version().to_owned(),
            message: message.to_owned(),
        };
        if !stored.reported.swap(true, Ordering::Relaxed) {
            count(&self.counters.decode_errors);
            let first = {
                let mut failing = self.failing.lock();
                // Set while the lock is held: otherwise a concurrent `clear_failure` could reset it.
                self.has_failing.store(true, Ordering::Relaxed);
                failing.first_time((stored.name().clone(), type_name))
            };
            if let Some(more) = first {
                tracing::error!(
                    "{error}; every read of it fails: correct the object, or make its Rust type accept it{more}"
                );
            }
        }
        error
    }
}

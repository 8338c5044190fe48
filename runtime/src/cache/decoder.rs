//! Where bytes become types: the only place of the cache that decodes.

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

/// Who reads what is read by no type in particular.
pub(super) const ANYBODY: &str = "";

/// Reads stored objects as whatever type is asked for. One per informer.
#[derive(Debug)]
pub(super) struct Decoder {
    info: ApiResource,
    /// What errors say must not hold what stands in the object.
    sensitive: AtomicBool,
    counters: Arc<Counters>,
    hot: Arc<DecodedCacheHandle>,
    json_was_read: AtomicBool,
    /// What did not decode when it was read last, and as which type.
    bad: Mutex<LogOnce<(NamespacedName, &'static str)>>,
    /// Whether there is any of that.
    has_bad: AtomicBool,
}

impl Decoder {
    pub(super) fn new(
        info: ApiResource,
        sensitive: bool,
        counters: Arc<Counters>,
        hot: Arc<DecodedCacheHandle>,
    ) -> Self {
        Self {
            info,
            sensitive: sensitive.into(),
            counters,
            hot,
            json_was_read: AtomicBool::new(false),
            bad: Mutex::default(),
            has_bad: AtomicBool::new(false),
        }
    }

    pub(super) fn info(&self) -> &ApiResource {
        &self.info
    }

    /// Somebody reads the JSON.
    pub(super) fn json_is_read(&self) {
        self.json_was_read.store(true, Ordering::Relaxed);
    }

    /// Whether anybody did.
    pub(super) fn was_json_read(&self) -> bool {
        self.json_was_read.load(Ordering::Relaxed)
    }

    /// From now on no error quotes an object.
    pub(super) fn mark_sensitive(&self) {
        self.sensitive.store(true, Ordering::Relaxed);
    }

    /// Reads the object, and keeps it decoded for the next who asks if it is asked for a second time: a reconcile reads most versions
    /// once, and what is written next makes another.
    pub(super) fn read_and_keep<K: View>(&self, stored: &Arc<StoredObject>) -> Result<Arc<K>, DecodeError> {
        if let Some(decoded) = stored.slot.get() {
            return Ok(decoded);
        }
        let decoded = self.decode::<K>(stored)?;
        if stored.was_got.swap(true, Ordering::Relaxed) {
            self.hot.set().admit(stored, decoded.clone());
        }
        Ok(decoded)
    }

    /// Reads the object.
    pub(super) fn read<K: View>(&self, stored: &StoredObject) -> Result<Arc<K>, DecodeError> {
        match stored.slot.get() {
            Some(decoded) => Ok(decoded),
            None => self.decode(stored),
        }
    }

    /// Decodes the object, and keeps it so as long as it lives. What does not decode is told at its next read, and so is what panics: it is
    /// the reader's type that does.
    pub(super) fn pin<K: View>(&self, stored: &StoredObject) {
        if let Ok(Ok(decoded)) = caught(|| self.decode::<K>(stored)) {
            self.hot.set().pin(stored, decoded);
        }
    }

    fn decode<K: View>(&self, stored: &StoredObject) -> Result<Arc<K>, DecodeError> {
        if let Some(defect) = &stored.defect {
            return Err(self.report(stored, ANYBODY, defect));
        }
        count(&self.counters.decodes);
        let decoded = stored.payload.with_json(|json| {
            // Checked once here, and not again for each text in it.
            let json = scan::text(json).map_err(|error| error.to_string())?;
            serde_json::from_str(json).map_err(|error| self.without_values(&error))
        });
        let problem = match decoded {
            Ok(Ok(object)) => {
                self.is_mended(stored, type_name::<K>());
                return Ok(Arc::new(object));
            }
            Ok(Err(problem)) => problem,
            Err(damaged) => damaged.to_string(),
        };
        Err(self.report(stored, type_name::<K>(), &problem))
    }

    fn is_mended(&self, stored: &StoredObject, reader: &'static str) {
        if !self.has_bad.load(Ordering::Relaxed) {
            return;
        }
        let mut bad = self.bad.lock();
        for reader in [reader, ANYBODY] {
            bad.forget(&(stored.name().clone(), reader));
        }
        self.has_bad.store(!bad.is_empty(), Ordering::Relaxed);
    }

    /// What code of users says of an object, unless that may quote what must not be.
    pub(super) fn quotable(&self, said: String) -> String {
        if self.sensitive.load(Ordering::Relaxed) {
            return "why is not shown, since the kind is sensitive".to_owned();
        }
        said
    }

    fn without_values(&self, error: &serde_json::Error) -> String {
        if self.sensitive.load(Ordering::Relaxed) {
            return format!(
                "{:?} error at line {} column {}; what stands there is not shown",
                error.classify(),
                error.line(),
                error.column()
            );
        }
        error.to_string()
    }

    /// Counts each version of an object once, however often it is read. Logs the object once until it was decoded again: who writes an
    /// object that does not decode may do so every second.
    pub(super) fn report(&self, stored: &StoredObject, reader: &'static str, message: &str) -> DecodeError {
        let error = DecodeError {
            kind: self.info.kind.to_string(),
            name: stored.name().clone(),
            resource_version: stored.metadata.resource_version().to_owned(),
            message: message.to_owned(),
        };
        if !stored.reported.swap(true, Ordering::Relaxed) {
            count(&self.counters.decode_errors);
            let first = {
                let mut bad = self.bad.lock();
                // Before it is unlocked: else who was just mended would say that there is none.
                self.has_bad.store(true, Ordering::Relaxed);
                bad.first_time((stored.name().clone(), reader))
            };
            if let Some(more) = first {
                tracing::error!(
                    "{error}; every read of it fails until the object is mended, or its Rust type reads it{more}"
                );
            }
        }
        error
    }
}

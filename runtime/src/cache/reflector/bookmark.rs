//! Bookmarks: up to which resource version everything was received, for the next watch and for the store.
//!
//! The API server sends a BOOKMARK event about once a minute: every event up to its version was sent. The next watch continues from there,
//! instead of from the last change, which may be long ago and compacted. The reflector also tells the store after each batch of events how
//! far it is ([`Delta::Bookmark`]), so that a controller knows when its own writes are in the cache.

use crate::{
    NamespacedName,
    cache::{failure_log::VersionFault, fifo::Delta, resource_version, stats::count},
};

use super::{Reflector, ReflectorStore};

impl<S: ReflectorStore> Reflector<S> {
    /// Sets the last version. A version that goes backwards is followed too, which may repeat events but loses none; then the version before
    /// is returned.
    pub(super) fn advance(&mut self, version: &str, object: Option<&NamespacedName>) -> Option<Box<str>> {
        let fault = match resource_version::compare(&self.version, version) {
            _ if !resource_version::is_number(version) => Some(VersionFault::NotANumber),
            Some(std::cmp::Ordering::Greater) => Some(VersionFault::Backwards),
            _ => None,
        };
        if let Some(fault) = fault {
            count(&self.store.counters().version_errors);
            if let Some(warning) = self
                .failure_log
                .version_warning(fault, &self.version, version, object)
            {
                tracing::warn!("{warning}");
            }
        }
        if version.is_empty() {
            return None;
        }
        let before = (fault == Some(VersionFault::Backwards)).then(|| self.version.as_str().into());
        self.version.clear();
        self.version.push_str(version);
        before
    }

    /// The delta that says that everything up to `version` was applied before.
    pub(super) fn bookmark(&self, version: Box<str>) -> Delta {
        Delta::Bookmark {
            namespace: self.namespace.clone(),
            version,
        }
    }
}

//! What the client knows of the informers' caches.

use bytes::Bytes;

use crate::{ApiResource, NamespacedName};

/// Read access to the informers' caches, without their types.
///
/// The client sees the cache through this trait only. The informer factory implements it.
pub(crate) trait CachedObjects: Send + Sync {
    /// Returns the object's JSON, without `metadata.managedFields`, if the cache holds the version that `is_version` accepts, given uid and
    /// resource version.
    ///
    /// Returns `None` if no informer of this kind and API version keeps whole objects and holds the object, if an informer of the kind
    /// holds another version of it, and if the cached JSON cannot be read.
    fn object_at(
        &self,
        kind: &ApiResource,
        name: &NamespacedName,
        is_version: &dyn Fn(&str, &str) -> bool,
    ) -> Option<Bytes>;
}

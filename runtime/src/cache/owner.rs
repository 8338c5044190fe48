//! Owners of objects, for [`Lister::owned_by`](super::Lister::owned_by).

use kube::Resource;

use super::{Metadata, Object};
use crate::{NamespacedName, View};

/// An object that can own others, for [`Lister::owned_by`](super::Lister::owned_by).
///
/// Implemented for every resource of kube-rs (custom resources, k8s-openapi's types, `DynamicObject`, `PartialObjectMeta`), and for what a
/// cache returns without decoding it: [`Object`] and [`Metadata`]. A [projection](crate::Projection) has no uid: pass its [`Object`].
pub trait Owner {
    /// The owner's uid; none, or empty, unless the API server has stored the object.
    fn owner_uid(&self) -> Option<&str>;

    /// The owner's namespace and name; without a namespace if it is cluster-scoped.
    fn owner_name(&self) -> NamespacedName;
}

impl<K: Resource> Owner for K {
    fn owner_uid(&self) -> Option<&str> {
        self.meta().uid.as_deref()
    }

    fn owner_name(&self) -> NamespacedName {
        let name = self.meta().name.clone().unwrap_or_default();
        NamespacedName::in_scope(self.meta().namespace.as_deref(), &name)
    }
}

impl<K: View> Owner for Object<K> {
    fn owner_uid(&self) -> Option<&str> {
        Some(self.metadata().uid())
    }

    fn owner_name(&self) -> NamespacedName {
        self.name().clone()
    }
}

impl Owner for Metadata {
    fn owner_uid(&self) -> Option<&str> {
        Some(self.uid())
    }

    fn owner_name(&self) -> NamespacedName {
        self.name().clone()
    }
}

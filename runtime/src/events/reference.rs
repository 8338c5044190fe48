//! What an event is about.

use k8s_openapi::api::core::v1::ObjectReference;

use crate::{ApiResource, Kind, NamespacedName, cache::Object};

/// Says which object an event is about.
///
/// Without a resource version, so that an event about the next version of an object counts as a repeat.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ObjectRef {
    /// The kind.
    pub info: ApiResource,
    /// Namespace and name.
    pub name: NamespacedName,
    /// The uid. `kubectl describe` finds events by it.
    pub uid: String,
}

/// What an event can be about: typed objects, objects of the cache (nothing is decoded), references.
///
/// An `Arc` of an object is handed over as `foo.as_ref()`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no object that an event can be about",
    note = "hand over the object behind an `Arc` as `object.as_ref()`, or make an `ObjectRef`"
)]
pub trait Regarding {
    /// The reference to the object.
    fn object_ref(&self) -> ObjectRef;
}

impl Regarding for ObjectRef {
    fn object_ref(&self) -> ObjectRef {
        self.clone()
    }
}

impl<K: Kind + kube::Resource> Regarding for K {
    fn object_ref(&self) -> ObjectRef {
        let meta = self.meta();
        ObjectRef {
            info: K::info(),
            name: NamespacedName::of(meta).unwrap_or_else(|| NamespacedName::cluster("")),
            uid: meta.uid.clone().unwrap_or_default(),
        }
    }
}

impl<K: Kind> Regarding for Object<K> {
    fn object_ref(&self) -> ObjectRef {
        ObjectRef {
            info: K::info(),
            name: self.name().clone(),
            uid: self.metadata().uid().to_owned(),
        }
    }
}

impl From<&ObjectRef> for ObjectReference {
    fn from(reference: &ObjectRef) -> Self {
        Self {
            api_version: Some(reference.info.api_version()),
            kind: Some(reference.info.kind.to_string()),
            namespace: reference.name.namespace().map(str::to_owned),
            name: Some(reference.name.name().to_owned()),
            uid: (!reference.uid.is_empty()).then(|| reference.uid.clone()),
            ..Self::default()
        }
    }
}

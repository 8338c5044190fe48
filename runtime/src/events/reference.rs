//! References to the object of an event.

use k8s_openapi::api::core::v1::ObjectReference;

use crate::{ApiResource, Kind, NamespacedName, cache::Object};

/// A reference to the object of an event.
///
/// It has no resource version, so that an event about another version of the object counts as a repeat.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ObjectRef {
    /// The kind.
    pub info: ApiResource,
    /// Namespace and name.
    pub name: NamespacedName,
    /// The uid, by which `kubectl describe` finds events.
    pub uid: String,
}

/// An object of an event: typed objects, cached objects (without decoding them), references.
///
/// Pass an `Arc` of an object as `foo.as_ref()`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the object of an event",
    note = "pass the object behind an `Arc` as `object.as_ref()`, or create an `ObjectRef`"
)]
pub trait Regarding {
    /// Returns the reference to the object.
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

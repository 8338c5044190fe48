//! A cached object: its metadata, extracted by a scan, and its bytes, decoded when they are read.

use std::{marker::PhantomData, sync::Arc};

use crate::{ObjectName, View};

/// What the scan extracts of every object; reading it decodes nothing.
#[derive(Debug, Clone)]
pub struct Metadata {}

/// A reference of `metadata.ownerReferences`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnerRef {
    /// The owner's `apiVersion`.
    pub api_version: Arc<str>,
    /// The owner's kind.
    pub kind: Arc<str>,
    /// The owner's name; its namespace is that of the owned object, or none.
    pub name: Arc<str>,
    /// The owner's uid.
    pub uid: Arc<str>,
    /// Whether the owner is the managing controller.
    pub controller: bool,
}

impl Metadata {
    /// Namespace and name.
    pub fn name(&self) -> &ObjectName {
        unimplemented!()
    }
    /// The uid; empty only for what no API server made.
    pub fn uid(&self) -> &str {
        unimplemented!()
    }
    /// The version, opaque; empty only for what no API server made.
    pub fn resource_version(&self) -> &str {
        unimplemented!()
    }
    /// The generation, where the kind counts it.
    pub fn generation(&self) -> Option<i64> {
        unimplemented!()
    }
    /// Whether a deletion timestamp is set.
    pub fn is_deleting(&self) -> bool {
        unimplemented!()
    }
    /// The value of a label.
    pub fn label(&self, _key: &str) -> Option<&str> {
        unimplemented!()
    }
    /// The finalizers, in their order.
    pub fn finalizers(&self) -> impl Iterator<Item = &str> {
        std::iter::empty()
    }
    /// All owners.
    pub fn owner_references(&self) -> &[OwnerRef] {
        unimplemented!()
    }
    /// The owner that is the managing controller.
    pub fn controller(&self) -> Option<&OwnerRef> {
        unimplemented!()
    }
}

/// An object of the cache, read as a `K`. Cloning copies a pointer.
pub struct Object<K> {
    _stored: Arc<Metadata>,
    _kind: PhantomData<fn() -> K>,
}

/// The cached bytes of an object are no `K`.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{kind} {name} (resource version {resource_version}) does not decode: {message}")]
pub struct DecodeError {
    /// The kind that was asked for.
    pub kind: String,
    /// The object.
    pub name: ObjectName,
    /// The version of the object that does not decode.
    pub resource_version: String,
    /// What the decoder said, with the place.
    pub message: String,
}

impl<K> Clone for Object<K> {
    fn clone(&self) -> Self {
        unimplemented!()
    }
}

impl<K: View> Object<K> {
    /// Namespace and name.
    pub fn name(&self) -> &ObjectName {
        unimplemented!()
    }
    /// The extracted metadata.
    pub fn metadata(&self) -> &Metadata {
        unimplemented!()
    }
    /// The object's JSON without `metadata.managedFields`.
    pub fn json(&self) -> bytes::Bytes {
        unimplemented!()
    }
    /// Decodes the object.
    pub fn decode(&self) -> Result<Arc<K>, DecodeError> {
        unimplemented!()
    }
}

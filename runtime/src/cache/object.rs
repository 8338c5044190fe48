//! A cached object: its metadata, extracted by a scan, and its bytes, decoded when they are read.

use std::{
    fmt,
    marker::PhantomData,
    sync::{Arc, atomic::AtomicBool},
};

use bytes::Bytes;

use super::{index::IndexValues, views::Views};
use crate::{ObjectName, View};

/// What the scan extracts of every object; reading it decodes nothing.
#[derive(Debug, Clone)]
pub struct Metadata {
    pub(super) name: ObjectName,
    pub(super) uid: Box<str>,
    pub(super) resource_version: Box<str>,
    pub(super) generation: Option<i64>,
    pub(super) is_deleting: bool,
    pub(super) labels: Box<[(Box<str>, Box<str>)]>,
    pub(super) finalizers: Box<[Box<str>]>,
    pub(super) owner_references: Box<[OwnerRef]>,
}

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
        &self.name
    }

    /// The uid; empty only for what no API server made.
    pub fn uid(&self) -> &str {
        &self.uid
    }

    /// The version, opaque; empty only for what no API server made.
    pub fn resource_version(&self) -> &str {
        &self.resource_version
    }

    /// The generation, where the kind counts it.
    pub fn generation(&self) -> Option<i64> {
        self.generation
    }

    /// Whether a deletion timestamp is set.
    pub fn is_deleting(&self) -> bool {
        self.is_deleting
    }

    /// The value of a label.
    pub fn label(&self, key: &str) -> Option<&str> {
        self.labels().find_map(|(k, value)| (k == key).then_some(value))
    }

    /// The labels, in the order of the object's JSON.
    pub fn labels(&self) -> impl Iterator<Item = (&str, &str)> {
        self.labels.iter().map(|(key, value)| (&**key, &**value))
    }

    /// The finalizers, in their order.
    pub fn finalizers(&self) -> impl Iterator<Item = &str> {
        self.finalizers.iter().map(|finalizer| &**finalizer)
    }

    /// All owners.
    pub fn owner_references(&self) -> &[OwnerRef] {
        &self.owner_references
    }

    /// The owner that is the managing controller.
    pub fn controller(&self) -> Option<&OwnerRef> {
        self.owner_references.iter().find(|owner| owner.controller)
    }
}

/// One version of an object, as the store keeps it: whatever type it is read as.
#[derive(Debug)]
pub(super) struct StoredObject {
    pub(super) metadata: Metadata,
    /// The JSON without `metadata.managedFields`, in an allocation of its own.
    pub(super) json: Bytes,
    /// Why the object does not decode whatever the type, when the scan found that out.
    pub(super) defect: Option<Box<str>>,
    /// The values of the indexes that were known when the object was scanned, in their order.
    pub(super) indexed: Box<[IndexValues]>,
    /// Whether it was logged that this version does not decode.
    pub(super) reported: AtomicBool,
}

/// An object of the cache, read as a `K`. Cloning copies pointers.
///
/// It is the object as it was when it was handed out; it never changes.
pub struct Object<K> {
    stored: Arc<StoredObject>,
    views: Arc<Views>,
    kind: PhantomData<fn() -> K>,
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
        Self::new(self.stored.clone(), self.views.clone())
    }
}

impl<K> fmt::Debug for Object<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Object").field(&self.stored.metadata).finish()
    }
}

impl<K> Object<K> {
    pub(super) fn new(stored: Arc<StoredObject>, views: Arc<Views>) -> Self {
        Self {
            stored,
            views,
            kind: PhantomData,
        }
    }
}

impl<K: View> Object<K> {
    /// Namespace and name.
    pub fn name(&self) -> &ObjectName {
        &self.stored.metadata.name
    }

    /// The extracted metadata.
    pub fn metadata(&self) -> &Metadata {
        &self.stored.metadata
    }

    /// The object's JSON without `metadata.managedFields`; `apiVersion` and `kind` always stand in it.
    /// What is nested so deep that it cannot decode is kept cut.
    pub fn json(&self) -> Bytes {
        self.stored.json.clone()
    }

    /// Decodes the object.
    pub fn decode(&self) -> Result<Arc<K>, DecodeError> {
        self.views.read(&self.stored)
    }
}

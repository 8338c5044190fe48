//! A cached object: its metadata and its JSON bytes, which are decoded when they are read.

use std::{
    fmt,
    marker::PhantomData,
    sync::{Arc, atomic::AtomicBool},
};

use bytes::Bytes;
use parking_lot::Mutex;

use super::{
    IndexKey, Metadata,
    compression::Payload,
    decoded_cache::DecodedEntry,
    decoder::{ANY_TYPE, Decoder},
    index::{Index, text_at},
    prefetch,
};
use crate::{NamespacedName, View};

/// One version of an object, as the store keeps it, independent of the type that it is read as.
#[derive(Debug)]
pub(super) struct StoredObject {
    /// The decoder. Here and not in the returned [`Object`], so that concurrent lists do not contend for its reference count.
    pub(super) decoder: Arc<Decoder>,
    pub(super) metadata: Metadata,
    /// The JSON without `metadata.managedFields`.
    pub(super) payload: Payload,
    /// Why the object does not decode as any type, if the scan found a reason.
    pub(super) defect: Option<Box<str>>,
    /// The values in each index of the store; none for an index in which it was not indexed yet.
    pub(super) indexed: Mutex<Vec<Option<Box<[IndexKey]>>>>,
    /// Whether the decode error of this version was counted.
    pub(super) reported: AtomicBool,
    /// Whether `get` has returned this version before.
    pub(super) was_read: AtomicBool,
    /// The decoded object, while it is in the decoded cache.
    pub(super) decoded: DecodedEntry,
}

impl StoredObject {
    pub(super) fn new(
        decoder: Arc<Decoder>,
        metadata: Metadata,
        payload: Payload,
        defect: Option<Box<str>>,
    ) -> Self {
        Self {
            decoder,
            metadata,
            payload,
            defect,
            indexed: Mutex::default(),
            reported: AtomicBool::new(false),
            was_read: AtomicBool::new(false),
            decoded: DecodedEntry::default(),
        }
    }

    pub(super) fn name(&self) -> &NamespacedName {
        &self.metadata.name
    }

    /// Starts loading into the CPU's cache the memory that replacing or deleting the object reads.
    pub(super) fn prefetch(&self) {
        prefetch::start(&self.decoder);
        prefetch::start(&self.metadata.name);
        prefetch::start(&self.metadata.identity);
        prefetch::start(&self.metadata.labels);
        prefetch::start(&self.payload);
        prefetch::start(&self.indexed);
        prefetch::start(&self.decoded);
    }

    /// Computes the values of indexes in which the object was not indexed yet. Calls functions of users: hold no lock.
    pub(super) fn index(self: &Arc<Self>, indexes: &[Arc<Index>]) {
        for (position, index) in indexes.iter().enumerate() {
            if !self.is_indexed(position) {
                self.set_keys(position, index.keys(self));
            }
        }
    }

    fn is_indexed(&self, position: usize) -> bool {
        matches!(self.indexed.lock().get(position), Some(Some(_)))
    }

    /// Returns the values that the object has in an index; none if it was not indexed yet.
    pub(super) fn keys(&self, position: usize) -> Option<Box<[IndexKey]>> {
        self.indexed.lock().get(position)?.clone()
    }

    pub(super) fn set_keys(&self, position: usize, keys: Box<[IndexKey]>) {
        let mut indexed = self.indexed.lock();
        if indexed.len() <= position {
            indexed.resize(position + 1, None);
        }
        indexed[position] = Some(keys);
    }
}

/// A cached object of type `K` that is not decoded yet. Cloning copies a pointer. It is one version of the object and never changes.
pub struct Object<K> {
    stored: Arc<StoredObject>,
    kind: PhantomData<fn() -> K>,
}

/// The cached bytes of an object do not decode. The object stays in the cache, and its next version may decode. For a sensitive kind the
/// message quotes no values.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{kind} {name} (resource version {resource_version}) does not decode: {message}")]
pub struct DecodeError {
    /// The kind of the object.
    pub kind: String,
    /// The namespace and name of the object.
    pub name: NamespacedName,
    /// The version of the object that does not decode.
    pub resource_version: String,
    /// The decoder's error, with its position.
    pub message: String,
}

impl<K> Clone for Object<K> {
    fn clone(&self) -> Self {
        Self::new(self.stored.clone())
    }
}

impl<K> fmt::Debug for Object<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Object").field(&self.stored.metadata).finish()
    }
}

impl<K> Object<K> {
    pub(super) fn new(stored: Arc<StoredObject>) -> Self {
        Self {
            stored,
            kind: PhantomData,
        }
    }
}

impl<K: View> Object<K> {
    /// Returns the namespace and name.
    pub fn name(&self) -> &NamespacedName {
        &self.stored.metadata.name
    }

    /// Returns the extracted metadata.
    pub fn metadata(&self) -> &Metadata {
        &self.stored.metadata
    }

    /// Returns the object's JSON without `metadata.managedFields`, always with `apiVersion` and `kind`.
    /// Of a projected or transformed informer it is what the informer keeps.
    pub fn json(&self) -> Bytes {
        self.stored.decoder.mark_json_read();
        self.stored.payload.json().unwrap_or_else(|damaged| {
            let decoder = &self.stored.decoder;
            decoder.report(&self.stored, ANY_TYPE, &damaged.to_string());
            Bytes::new()
        })
    }

    /// Returns the value of an annotation. Each call scans the object's JSON: to read many, [`decode`](Self::decode) it. None also if the
    /// informer keeps no annotations, as a projected one may.
    pub fn annotation(&self, key: &str) -> Option<String> {
        let annotations = ["metadata", "annotations", key];
        self.stored
            .payload
            .with_json(|json| text_at(json, &annotations))
            .ok()?
    }

    /// Returns the decoded object, from the decoded cache if it is there. The result is not cached: only [`Lister::get`](super::Lister::get)
    /// caches.
    pub fn decode(&self) -> Result<Arc<K>, DecodeError> {
        self.stored.decoder.decode(&self.stored)
    }
}

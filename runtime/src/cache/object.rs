//! A cached object: its metadata, and its bytes, decoded when they are read.

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
    decoder::{ANYBODY, Decoder},
    index::{Index, text_at},
    prefetch,
};
use crate::{NamespacedName, View};

/// One version of an object, as the store keeps it: whatever type it is read as.
#[derive(Debug)]
pub(super) struct StoredObject {
    /// Who reads it. Here, and not in what is handed out: many who list at once would all count references of one thing.
    pub(super) views: Arc<Decoder>,
    pub(super) metadata: Metadata,
    /// The JSON without `metadata.managedFields`.
    pub(super) payload: Payload,
    /// Why the object does not decode whatever the type, when the scan found that out.
    pub(super) defect: Option<Box<str>>,
    /// The values of the store's indexes, in their order; none where they were not looked for yet.
    pub(super) indexed: Mutex<Vec<Option<Box<[IndexKey]>>>>,
    /// Whether it was counted that this version does not decode.
    pub(super) reported: AtomicBool,
    /// Whether somebody got this version before.
    pub(super) was_got: AtomicBool,
    /// The decoded object, while it is hot.
    pub(super) slot: DecodedEntry,
}

impl StoredObject {
    pub(super) fn new(
        views: Arc<Decoder>,
        metadata: Metadata,
        payload: Payload,
        defect: Option<Box<str>>,
    ) -> Self {
        Self {
            views,
            metadata,
            payload,
            defect,
            indexed: Mutex::default(),
            reported: AtomicBool::new(false),
            was_got: AtomicBool::new(false),
            slot: DecodedEntry::default(),
        }
    }

    pub(super) fn name(&self) -> &NamespacedName {
        &self.metadata.name
    }

    /// Has the processor read all of it that is looked at when it goes.
    pub(super) fn prefetch(&self) {
        prefetch::start(&self.views);
        prefetch::start(&self.metadata.name);
        prefetch::start(&self.metadata.identity);
        prefetch::start(&self.metadata.labels);
        prefetch::start(&self.payload);
        prefetch::start(&self.indexed);
        prefetch::start(&self.slot);
    }

    /// Looks for the values of indexes that were not looked for yet. Calls functions of users: without a lock.
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

    /// The values that the object has in an index.
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

/// An object of the cache, read as a `K`. Cloning copies a pointer.
///
/// It is the object as it was when it was handed out; it never changes.
pub struct Object<K> {
    stored: Arc<StoredObject>,
    kind: PhantomData<fn() -> K>,
}

/// The cached bytes of an object are no `K`. The object stays in the cache, and the next version may decode. Of a sensitive kind the
/// message quotes nothing.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{kind} {name} (resource version {resource_version}) does not decode: {message}")]
pub struct DecodeError {
    /// The kind that was asked for.
    pub kind: String,
    /// The object.
    pub name: NamespacedName,
    /// The version of the object that does not decode.
    pub resource_version: String,
    /// What the decoder said, with the place.
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
    /// Namespace and name.
    pub fn name(&self) -> &NamespacedName {
        &self.stored.metadata.name
    }

    /// The extracted metadata.
    pub fn metadata(&self) -> &Metadata {
        &self.stored.metadata
    }

    /// The object's JSON without `metadata.managedFields`; `apiVersion` and `kind` always stand in it.
    /// Of a projected or transformed informer it is what that keeps.
    pub fn json(&self) -> Bytes {
        self.stored.views.json_is_read();
        self.stored.payload.json().unwrap_or_else(|damaged| {
            let views = &self.stored.views;
            views.report(&self.stored, ANYBODY, &damaged.to_string());
            Bytes::new()
        })
    }

    /// The value of an annotation. Looked for in the object's JSON: read many at once from [`decode`](Self::decode). None, too, where the
    /// informer keeps no annotations, as one of a projection may.
    pub fn annotation(&self, key: &str) -> Option<String> {
        let annotations = ["metadata", "annotations", key];
        self.stored
            .payload
            .with_json(|json| text_at(json, &annotations))
            .ok()?
    }

    /// The object, decoded; as it is, where it is decoded already. It is not kept: [`Lister::get`](super::Lister::get) does that.
    pub fn decode(&self) -> Result<Arc<K>, DecodeError> {
        self.stored.views.read(&self.stored)
    }
}

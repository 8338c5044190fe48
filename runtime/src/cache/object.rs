//! A cached object: its metadata, extracted by a scan, and its bytes, decoded when they are read.

use std::{
    fmt,
    marker::PhantomData,
    sync::{Arc, atomic::AtomicBool},
};

use bytes::Bytes;
use parking_lot::Mutex;
use smallvec::SmallVec;

use super::{
    IndexKey,
    compression::Payload,
    hot::Slot,
    index::{Index, text_at},
    views::{ANYBODY, Views},
};
use crate::{ObjectName, View};

/// What the scan extracts of every object; reading it decodes nothing. It is what the API server sent, whatever a projection or a
/// transform keeps of the object; what stands there and cannot be read, such as labels that are no texts, is left out, and the object does
/// not decode.
#[derive(Debug, Clone)]
pub struct Metadata {
    pub(super) name: ObjectName,
    pub(super) identity: Identity,
    pub(super) generation: Option<i64>,
    pub(super) is_deleting: bool,
    /// Whether a watch brought it that had told of everything before; false for what a list brought, be it streamed.
    pub(super) from_watch: bool,
    /// A digest of the annotations as they stand in the JSON; as many bytes as cost nothing here.
    pub(super) annotations: [u8; 6],
    /// These are shared among objects that arrived one after the other and have the same; none: empty.
    pub(super) labels: Option<Arc<Labels>>,
    pub(super) finalizers: Option<Arc<[Box<str>]>>,
    pub(super) owner_references: Option<Arc<[OwnerRef]>>,
}

/// A uid, and behind it a resource version. As a rule they need no memory of their own: the uid has 36 bytes.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Identity {
    text: SmallVec<[u8; 48]>,
    /// Bytes of the uid.
    uid_length: usize,
}

impl Identity {
    pub(super) fn new(uid: &str, version: &str) -> Self {
        let mut text = SmallVec::from_slice(uid.as_bytes());
        text.extend_from_slice(version.as_bytes());
        Self {
            text,
            uid_length: uid.len(),
        }
    }

    fn uid(&self) -> &str {
        std::str::from_utf8(&self.text[..self.uid_length]).unwrap_or_default()
    }

    fn version(&self) -> &str {
        std::str::from_utf8(&self.text[self.uid_length..]).unwrap_or_default()
    }
}

impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{}", self.uid(), self.version())
    }
}

/// Keys and values in one text.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Labels {
    text: Box<str>,
    /// Where each key, and each value, ends.
    ends: Box<[(usize, usize)]>,
}

impl Labels {
    /// Of two labels with one key, the later one counts.
    pub(super) fn new<T: AsRef<str>>(pairs: &[(T, T)]) -> Self {
        let (mut text, mut ends) = (String::new(), Vec::new());
        for (position, (key, value)) in pairs.iter().enumerate() {
            if pairs[position + 1..]
                .iter()
                .any(|(later, _)| later.as_ref() == key.as_ref())
            {
                continue;
            }
            text.push_str(key.as_ref());
            let end_of_key = text.len();
            text.push_str(value.as_ref());
            ends.push((end_of_key, text.len()));
        }
        Self {
            text: text.into(),
            ends: ends.into(),
        }
    }

    fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        let starts = std::iter::once(0).chain(self.ends.iter().map(|(_, end)| *end));
        let pairs = starts.zip(&self.ends);
        pairs.map(|(start, &(key, value))| (&self.text[start..key], &self.text[key..value]))
    }
}

/// A reference of `metadata.ownerReferences`, as it stands there: the owner may be gone, or be another one of that name.
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
        self.identity.uid()
    }

    /// The version, opaque; empty only for what no API server made.
    pub fn resource_version(&self) -> &str {
        self.identity.version()
    }

    /// Reads what else is looked at when another version comes, and when this one goes.
    pub(super) fn fetch(&self) -> usize {
        let first = |text: &str| usize::from(text.as_bytes().first().copied().unwrap_or_default());
        let mut sum = first(self.name.name());
        sum += self.labels.as_ref().map_or(0, Arc::strong_count);
        sum + self.owner_references.as_ref().map_or(0, Arc::strong_count)
    }

    /// Whether the other is of the same version of the same object.
    pub(super) fn is_version_of(&self, other: &Self) -> bool {
        !self.resource_version().is_empty() && self.identity == other.identity
    }

    /// The generation, where the kind counts it.
    pub fn generation(&self) -> Option<i64> {
        self.generation
    }

    /// Whether a deletion timestamp is set.
    pub fn is_deleting(&self) -> bool {
        self.is_deleting
    }

    pub(crate) fn annotations_digest(&self) -> [u8; 6] {
        self.annotations
    }

    /// The value of a label.
    pub fn label(&self, key: &str) -> Option<&str> {
        self.labels().find_map(|(k, value)| (k == key).then_some(value))
    }

    /// The labels, in the order of the object's JSON.
    pub fn labels(&self) -> impl Iterator<Item = (&str, &str)> {
        self.labels.iter().flat_map(|labels| labels.iter())
    }

    /// The finalizers, in their order.
    pub fn finalizers(&self) -> impl Iterator<Item = &str> {
        self.finalizers
            .iter()
            .flat_map(|finalizers| finalizers.iter())
            .map(|finalizer| &**finalizer)
    }

    /// All owners.
    pub fn owner_references(&self) -> &[OwnerRef] {
        self.owner_references.as_deref().unwrap_or_default()
    }

    /// The owner that is the managing controller.
    pub fn controller(&self) -> Option<&OwnerRef> {
        controller(self.owner_references())
    }
}

/// The one that is the managing controller.
pub(super) fn controller(owners: &[OwnerRef]) -> Option<&OwnerRef> {
    owners.iter().find(|owner| owner.controller)
}

/// One version of an object, as the store keeps it: whatever type it is read as.
#[derive(Debug)]
pub(super) struct StoredObject {
    /// Who reads it. Here, and not in what is handed out: many who list at once would all count references of one thing.
    pub(super) views: Arc<Views>,
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
    pub(super) slot: Slot,
}

impl StoredObject {
    pub(super) fn new(
        views: Arc<Views>,
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
            slot: Slot::default(),
        }
    }

    pub(super) fn name(&self) -> &ObjectName {
        &self.metadata.name
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
    pub name: ObjectName,
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
    pub fn name(&self) -> &ObjectName {
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

    /// The value of an annotation. Looked for in the object's JSON: read many at once from [`decode`](Self::decode).
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

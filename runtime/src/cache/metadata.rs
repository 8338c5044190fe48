//! The metadata that the cache extracts from each object, readable without decoding.

use std::{fmt, sync::Arc};

use smallvec::SmallVec;

use crate::NamespacedName;

/// Metadata that is extracted from every object; reading it decodes nothing.
///
/// It is what the API server sent, whatever a projection or a transform keeps of the object. Malformed parts, such as labels that are not
/// strings, are left out, and the object does not decode.
#[derive(Debug, Clone)]
pub struct Metadata {
    pub(super) name: NamespacedName,
    pub(super) identity: Identity,
    pub(super) generation: Option<i64>,
    pub(super) is_deleting: bool,
    /// Whether a watch without a gap delivered it; false for objects of a list, streaming or not.
    pub(super) from_watch: bool,
    /// A digest of the annotations' JSON. Six bytes fit into the struct's padding.
    pub(super) annotations: [u8; 6],
    /// These three are shared by consecutive objects with equal values; none if empty.
    pub(super) labels: Option<Arc<PackedLabels>>,
    pub(super) finalizers: Option<Arc<[Box<str>]>>,
    pub(super) owner_references: Option<Arc<[OwnerRef]>>,
}

/// An owner reference, as in `metadata.ownerReferences`. The owner may be deleted, or recreated under another uid.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnerRef {
    /// The owner's `apiVersion`.
    pub api_version: Arc<str>,
    /// The owner's kind.
    pub kind: Arc<str>,
    /// The owner's name. It is in the namespace of the dependent object, or cluster-scoped.
    pub name: Arc<str>,
    /// The owner's uid.
    pub uid: Arc<str>,
    /// Whether the owner is the managing controller.
    pub controller: bool,
    /// Whether a foreground deletion of the owner waits until this object is deleted.
    pub block_owner_deletion: bool,
}

impl Metadata {
    /// Returns the namespace and name.
    pub fn name(&self) -> &NamespacedName {
        &self.name
    }

    /// Returns the uid; empty only for objects that no API server stored, such as seeded ones.
    pub fn uid(&self) -> &str {
        self.identity.uid()
    }

    /// Returns the opaque resource version; empty only for objects that no API server stored, such as seeded ones.
    pub fn resource_version(&self) -> &str {
        self.identity.version()
    }

    /// Reads the memory that is accessed when the object is replaced or deleted, so that it is in the CPU's cache then.
    pub(super) fn touch(&self) -> u64 {
        let first = self.name.name().as_bytes().first().copied().unwrap_or_default();
        let labels = self.labels.as_ref().map_or(0, Arc::strong_count);
        let owners = self.owner_references.as_ref().map_or(0, Arc::strong_count);
        u64::from(first) + (labels + owners) as u64
    }

    /// Whether both have the same uid and resource version. False without a resource version.
    pub(super) fn is_version_of(&self, other: &Self) -> bool {
        !self.resource_version().is_empty() && self.identity == other.identity
    }

    /// Returns the generation, if the kind has one.
    pub fn generation(&self) -> Option<i64> {
        self.generation
    }

    /// Whether a deletion timestamp is set.
    pub fn is_deleting(&self) -> bool {
        self.is_deleting
    }

    /// Returns a digest of the annotations: equal annotations have equal digests.
    pub(crate) fn annotations_digest(&self) -> [u8; 6] {
        self.annotations
    }

    /// Returns the value of a label.
    pub fn label(&self, key: &str) -> Option<&str> {
        self.labels().find_map(|(k, value)| (k == key).then_some(value))
    }

    /// Returns the labels, in the order of the object's JSON.
    pub fn labels(&self) -> impl Iterator<Item = (&str, &str)> {
        self.labels.iter().flat_map(|labels| labels.iter())
    }

    /// Returns the finalizers, in their order.
    pub fn finalizers(&self) -> impl Iterator<Item = &str> {
        self.finalizers
            .iter()
            .flat_map(|finalizers| finalizers.iter())
            .map(|finalizer| &**finalizer)
    }

    /// Returns all owner references.
    pub fn owner_references(&self) -> &[OwnerRef] {
        self.owner_references.as_deref().unwrap_or_default()
    }

    /// Returns the controller owner reference (`controller: true`).
    pub fn controller(&self) -> Option<&OwnerRef> {
        controller(self.owner_references())
    }
}

/// Returns the controller owner reference (`controller: true`).
pub(super) fn controller(owners: &[OwnerRef]) -> Option<&OwnerRef> {
    owners.iter().find(|owner| owner.controller)
}

/// A uid followed by a resource version, inline without an allocation in the usual case: a uid has 36 bytes.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Identity {
    text: SmallVec<[u8; 48]>,
    /// The length of the uid in bytes.
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

/// PackedLabels in one allocation: all keys and values in one string.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct PackedLabels {
    text: Box<str>,
    /// The end positions of each key and its value.
    ends: Box<[(usize, usize)]>,
}

impl PackedLabels {
    /// Builds labels from pairs. If a key occurs twice, the later pair counts.
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

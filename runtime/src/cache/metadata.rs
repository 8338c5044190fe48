//! What is known of an object without decoding it.

use std::{fmt, sync::Arc};

use smallvec::SmallVec;

use crate::NamespacedName;

/// What the scan extracts of every object; reading it decodes nothing. It is what the API server sent, whatever a projection or a
/// transform keeps of the object; what stands there and cannot be read, such as labels that are no texts, is left out, and the object does
/// not decode.
#[derive(Debug, Clone)]
pub struct Metadata {
    pub(super) name: NamespacedName,
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
    pub fn name(&self) -> &NamespacedName {
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

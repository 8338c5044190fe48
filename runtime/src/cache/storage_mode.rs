//! Storage modes: what an informer stores of each object, and in which form.

use std::{
    fmt,
    hash::{Hash, Hasher},
    sync::Arc,
};

use serde_json::Value;

use super::index::{IndexPath, IndexPathError, PathSegment};
use crate::panics::caught;

/// What an informer stores of each object, and in which form. All but the last three store the whole object without
/// `metadata.managedFields`.
///
/// Informers of one kind with different storage modes have a list, a watch and a store each.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum StorageMode {
    /// Compressed JSON, decoded when it is read: replicas are delta-encoded against one of them; of the others, recent objects are stored
    /// uncompressed and the rest is compressed with a dictionary that is trained on the kind.
    /// Secrets and other [sensitive](super::InformerOptions::sensitive) kinds are never compressed, nor part of a dictionary.
    #[default]
    Compressed,
    /// Uncompressed JSON: a little less CPU, several times the memory.
    Raw,
    /// As `Compressed`, and each object is also decoded when it arrives: reads never decode, at the memory and CPU cost of client-go.
    Decoded,
    /// Metadata only: requests PartialObjectMetadata from the API server. Read it as `PartialObjectMeta<K>`.
    Metadata,
    /// Only the values at some paths; see [`Projection`](crate::Projection).
    Projection(&'static [&'static str]),
    /// The result of a function, which parses each object that arrives (client-go's TransformFunc).
    Transformed(Transform),
}

impl StorageMode {
    /// Reports whether objects are stored with all fields except `metadata.managedFields`.
    pub(super) fn keeps_whole_objects(&self) -> bool {
        matches!(self, Self::Compressed | Self::Raw | Self::Decoded)
    }

    /// Returns the variant's name in lower case.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Compressed => "compressed",
            Self::Raw => "raw",
            Self::Decoded => "decoded",
            Self::Metadata => "metadata",
            Self::Projection(_) => "projection",
            Self::Transformed(_) => "transformed",
        }
    }
}

/// A function that changes objects before they are stored (client-go's TransformFunc). Indexes by path read its result.
///
/// It must be deterministic. Name, namespace, labels and the rest of [`Metadata`](super::Metadata) remain those that the API server sent.
/// If it panics, the panic is logged and the object is stored unchanged. Clones are equal; two transforms of the same function are not.
#[derive(Clone)]
pub struct Transform(Arc<dyn Fn(&mut Value) + Send + Sync>);

impl Transform {
    /// A transform that calls `function` with each object.
    pub fn new(function: impl Fn(&mut Value) + Send + Sync + 'static) -> Self {
        Self(Arc::new(function))
    }

    /// Applies the function to an object. Fails if it panics, or if the object is not JSON.
    pub(super) fn apply(&self, json: &[u8]) -> Result<Vec<u8>, String> {
        let mut value = serde_json::from_slice(json).map_err(|error| error.to_string())?;
        caught(|| (self.0)(&mut value))?;
        serde_json::to_vec(&value).map_err(|error| error.to_string())
    }
}

impl fmt::Debug for Transform {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Transform").finish_non_exhaustive()
    }
}

impl PartialEq for Transform {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Transform {}

impl Hash for Transform {
    fn hash<H: Hasher>(&self, state: &mut H) {
        Arc::as_ptr(&self.0).cast::<()>().hash(state);
    }
}

/// The paths of a projection as a tree.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) enum Paths {
    /// The whole value is stored.
    #[default]
    Whole,
    /// Only these fields of an object are stored.
    Fields(Vec<(String, Paths)>),
    /// Only this part of each element of a list is stored.
    Elements(Box<Paths>),
}

impl Paths {
    /// Builds the tree. Contradicting paths, such as `a.b` and `a[*]`, store their common prefix (`a`) as a whole.
    pub(super) fn new(paths: &[&str]) -> Result<Self, IndexPathError> {
        let mut tree = Self::Fields(Vec::new());
        for path in paths {
            let path: IndexPath = path.parse()?;
            tree.add(path.segments());
        }
        Ok(tree)
    }

    fn add(&mut self, path: &[PathSegment]) {
        let [segment, rest @ ..] = path else {
            *self = Self::Whole;
            return;
        };
        match (&mut *self, segment) {
            (Self::Fields(fields), PathSegment::Field(name)) => {
                match fields.iter_mut().find(|(field, _)| field == name) {
                    Some((_, tree)) => tree.add(rest),
                    None => fields.push((name.clone(), Self::of(rest))),
                }
            }
            (Self::Elements(tree), PathSegment::Elements) => tree.add(rest),
            _ => *self = Self::Whole,
        }
    }

    fn of(path: &[PathSegment]) -> Self {
        match path {
            [] => Self::Whole,
            [PathSegment::Field(name), rest @ ..] => Self::Fields(vec![(name.clone(), Self::of(rest))]),
            [PathSegment::Elements, rest @ ..] => Self::Elements(Box::new(Self::of(rest))),
        }
    }

    /// Whether the whole value at a path is stored.
    pub(super) fn contain(&self, path: &[PathSegment]) -> bool {
        match (self, path) {
            (Self::Whole, _) => true,
            (Self::Fields(_), [PathSegment::Field(name), rest @ ..]) => {
                self.field(name).is_some_and(|tree| tree.contain(rest))
            }
            (Self::Elements(tree), [PathSegment::Elements, rest @ ..]) => tree.contain(rest),
            _ => false,
        }
    }

    /// Returns the stored part of a field; none if it is not stored.
    pub(super) fn field(&self, name: &str) -> Option<&Self> {
        match self {
            Self::Whole => Some(self),
            Self::Fields(fields) => fields
                .iter()
                .find_map(|(field, tree)| (field == name).then_some(tree)),
            Self::Elements(_) => None,
        }
    }
}

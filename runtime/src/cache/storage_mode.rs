//! What an informer keeps of each object.

use std::{
    fmt,
    hash::{Hash, Hasher},
    sync::Arc,
};

use serde_json::Value;

use super::{IndexPath, IndexPathError, index::PathSegment};
use crate::panics::caught;

/// What an informer keeps of each object. All but the last three keep the whole object, without `metadata.managedFields`.
///
/// Two informers that keep different things are two lists and two watches.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum StorageMode {
    /// The JSON: replicas as their difference to one of them, of the others what arrived last as it is, the rest compressed with a dictionary
    /// of the kind's own objects; decoded when it is read.
    /// Secrets and other [sensitive](super::InformerOptions::sensitive) kinds are never compressed, nor part of a dictionary.
    #[default]
    Compressed,
    /// The JSON as it is: a little less CPU, several times the memory.
    Raw,
    /// As `Compressed`, and each object decoded when it arrives: reads never decode, at the price of the memory and the CPU of client-go.
    Decoded,
    /// What the API server sends as PartialObjectMetadata: nothing else is sent. Read it as `PartialObjectMeta<K>`.
    Metadata,
    /// The values at some paths; see [`Projection`](crate::Projection).
    Projection(&'static [&'static str]),
    /// What a function makes of the object; it parses each that arrives.
    Transformed(Transform),
}

impl StorageMode {
    /// Whether objects are kept with all their fields, but for `metadata.managedFields`.
    pub(super) fn keeps_whole_objects(&self) -> bool {
        matches!(self, Self::Compressed | Self::Raw | Self::Decoded)
    }

    /// The variant's name, in small letters.
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

/// A function that changes objects before they are kept. Indexes by path find what it leaves.
///
/// It must give the same whenever it is given the same. Name, namespace, labels and all else that [`Metadata`](super::Metadata) shows
/// are those that the API server sent. A panic is contained: that object is kept as it came. Two clones are equal, two made of the same
/// function are not.
#[derive(Clone)]
pub struct Transform(Arc<dyn Fn(&mut Value) + Send + Sync>);

impl Transform {
    /// A transform that calls `function` with each object.
    pub fn new(function: impl Fn(&mut Value) + Send + Sync + 'static) -> Self {
        Self(Arc::new(function))
    }

    /// What the function makes of an object; none when it panicked, or the object is no JSON.
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

/// The paths of a projection, as a tree.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) enum Paths {
    /// The value is kept whole.
    #[default]
    Whole,
    /// Of an object these fields are kept.
    Fields(Vec<(String, Paths)>),
    /// Of each element of an array this is kept.
    Elements(Box<Paths>),
}

impl Paths {
    /// Paths that cannot both be kept, such as `a.b` and `a[*]`, keep what they have in common whole.
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

    /// Whether the value at a path is kept whole.
    pub(super) fn hold(&self, path: &[PathSegment]) -> bool {
        match (self, path) {
            (Self::Whole, _) => true,
            (Self::Fields(_), [PathSegment::Field(name), rest @ ..]) => {
                self.field(name).is_some_and(|tree| tree.hold(rest))
            }
            (Self::Elements(tree), [PathSegment::Elements, rest @ ..]) => tree.hold(rest),
            _ => false,
        }
    }

    /// What is kept of a field; none: nothing.
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

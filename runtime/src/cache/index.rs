//! Indexes (client-go's IndexFunc): by JSON path or by a function, and the values that an object has in them.

use std::{
    borrow::Cow,
    fmt,
    str::FromStr,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use super::{
    interner::Interner,
    object::StoredObject,
    scan::{Cursor, ScanError, unquoted},
};
use crate::{
    NamespacedName,
    index_spec::{IndexSpec, IndexType},
};

/// The name of the index over the uids of controller owner references.
pub(super) const CONTROLLER_UID_INDEX: &str = "metadata.ownerReferences[controller].uid";

/// A value of an index. Values of different types are never equal: `"1"` does not find `1`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum IndexKey {
    /// A string.
    String(Arc<str>),
    /// A boolean.
    Bool(bool),
    /// An integer.
    Integer(i64),
}

/// A parsed path of an [`IndexSpec`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexPath(Vec<PathSegment>);

/// A segment of an [`IndexPath`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PathSegment {
    /// A field of an object.
    Field(String),
    /// All elements of a list.
    Elements,
}

/// The path of an index does not parse.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "index path {path:?}: {problem} at byte {at}; write fields as `spec.nodeName`, other names as `['a.b/c']`, all elements as `[*]`"
)]
pub struct IndexPathError {
    path: String,
    problem: &'static str,
    at: usize,
}

/// An index could not be added; the informer has the indexes that it had before.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("index {index} of {kind} was not added: {problem}")]
pub struct AddIndexError {
    pub(super) kind: String,
    pub(super) index: String,
    pub(super) problem: String,
}

impl IndexPath {
    /// Returns the segments, from the object's root.
    pub fn segments(&self) -> &[PathSegment] {
        &self.0
    }
}

impl FromStr for IndexPath {
    type Err = IndexPathError;

    fn from_str(path: &str) -> Result<Self, IndexPathError> {
        let mut segments = Vec::new();
        let mut rest = path;
        let fail = |rest: &str, problem| IndexPathError {
            path: path.to_owned(),
            problem,
            at: path.len() - rest.len(),
        };
        while !rest.is_empty() {
            if let Some(after) = rest.strip_prefix("[*]") {
                segments.push(PathSegment::Elements);
                rest = after;
            } else if let Some(after) = rest.strip_prefix("['") {
                let (name, after) = after
                    .split_once("']")
                    .ok_or_else(|| fail(rest, "`['` without `']`"))?;
                segments.push(PathSegment::Field(name.to_owned()));
                rest = after;
            } else {
                if !segments.is_empty() {
                    rest = rest
                        .strip_prefix('.')
                        .ok_or_else(|| fail(rest, "expected `.` or `[`"))?;
                }
                let end = rest.find(['.', '[']).unwrap_or(rest.len());
                let (name, after) = rest.split_at(end);
                if name.is_empty()
                    || !name
                        .bytes()
                        .all(|b| b.is_ascii_alphanumeric() || b"_-$".contains(&b))
                {
                    return Err(fail(rest, "expected the name of a field"));
                }
                segments.push(PathSegment::Field(name.to_owned()));
                rest = after;
            }
        }
        match segments.first() {
            Some(PathSegment::Field(_)) => Ok(Self(segments)),
            _ => Err(fail(path, "expected the name of a field")),
        }
    }
}

/// An index of a store: computes the values of an object.
pub(super) struct Index {
    pub(super) name: Box<str>,
    source: IndexSource,
    /// The number of objects that were left out: for a value of another type, or because the function failed.
    pub(super) errors: AtomicU64,
}

/// Computes the values of an object; does not panic.
pub(super) type IndexFunction =
    Box<dyn Fn(&Arc<StoredObject>) -> Result<Vec<IndexKey>, String> + Send + Sync>;

enum IndexSource {
    Path(IndexPath, IndexType),
    Function(IndexFunction),
    /// The uid of the controller owner reference, from the metadata.
    ControllerUid,
}

impl Index {
    pub(super) fn by_path(spec: &IndexSpec) -> Result<Self, IndexPathError> {
        Ok(Self::new(
            spec.name,
            IndexSource::Path(spec.path.parse()?, spec.value_type),
        ))
    }

    pub(super) fn by_function(name: &str, function: IndexFunction) -> Self {
        Self::new(name, IndexSource::Function(function))
    }

    /// The index that backs [`Lister::owned_by`](super::Lister::owned_by).
    pub(super) fn by_controller_uid() -> Self {
        Self::new(CONTROLLER_UID_INDEX, IndexSource::ControllerUid)
    }

    /// Whether both indexes hold the same values. Never true for two functions, which cannot be compared.
    pub(super) fn is_equivalent(&self, other: &Self) -> bool {
        match (&self.source, &other.source) {
            (IndexSource::Path(path, value_type), IndexSource::Path(other_path, other_type)) => {
                path == other_path && value_type == other_type
            }
            (IndexSource::ControllerUid, IndexSource::ControllerUid) => true,
            _ => false,
        }
    }

    fn new(name: &str, source: IndexSource) -> Self {
        Self {
            name: name.into(),
            source,
            errors: AtomicU64::new(0),
        }
    }

    /// Returns the path of the values; none for an index by function or by metadata.
    pub(super) fn path(&self) -> Option<&[PathSegment]> {
        match &self.source {
            IndexSource::Path(path, _) => Some(&path.0),
            IndexSource::Function(_) | IndexSource::ControllerUid => None,
        }
    }

    /// Whether its values are outside of `metadata`. False for a function: its reads are counted when it is called.
    pub(super) fn needs_body(&self) -> bool {
        let first = self.path().and_then(<[PathSegment]>::first);
        first.is_some_and(|first| first.field() != Some("metadata"))
    }

    /// Returns the values of an object, each once, without absent ones and `null`. Calls the user's function: hold no lock.
    pub(super) fn keys(&self, object: &Arc<StoredObject>) -> Box<[IndexKey]> {
        let function = match &self.source {
            IndexSource::Path(..) => {
                let keys = object
                    .payload
                    .with_json(|json| self.path_keys(json, object.name(), &mut Interner::default()));
                return keys.ok().flatten().unwrap_or_default();
            }
            IndexSource::ControllerUid => {
                let controller = object.metadata.controller().into_iter();
                return controller
                    .map(|owner| IndexKey::String(owner.uid.clone()))
                    .collect();
            }
            IndexSource::Function(function) => function,
        };
        let problem = match function(object) {
            Ok(mut keys) => {
                keys.sort_unstable();
                keys.dedup();
                return keys.into();
            }
            Err(problem) => problem,
        };
        self.failed(object.name(), &problem);
        Box::default()
    }

    #[cold]
    fn failed(&self, name: &NamespacedName, problem: &str) {
        if self.errors.fetch_add(1, Ordering::Relaxed) == 0 {
            let index = &self.name;
            tracing::error!("index {index} leaves out {name}: {problem}; further failures are only counted");
        }
    }

    /// Returns the values that the path has in the JSON; none unless the index is by path.
    pub(super) fn path_keys(
        &self,
        json: &[u8],
        name: &NamespacedName,
        interner: &mut Interner<str>,
    ) -> Option<Box<[IndexKey]>> {
        let IndexSource::Path(path, value_type) = &self.source else {
            return None;
        };
        let mut collector = KeyCollector {
            value_type: *value_type,
            keys: Vec::new(),
            interner,
        };
        let Ok(json) = std::str::from_utf8(json) else {
            return Some(Box::default());
        };
        Some(match collector.visit(json, &path.0) {
            Ok(()) => collector.keys.into_boxed_slice(),
            Err(problem) => {
                self.failed(name, &problem);
                Box::default()
            }
        })
    }
}

impl fmt::Debug for Index {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Index")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

/// Returns the string at a path of field names in the JSON of an object.
pub(super) fn text_at(json: &[u8], fields: &[&str]) -> Option<String> {
    let value = descend(std::str::from_utf8(json).ok()?, fields.iter().copied()).ok()??;
    unquoted(value).map(Cow::into_owned)
}

/// Collects the values at a path.
struct KeyCollector<'t> {
    value_type: IndexType,
    keys: Vec<IndexKey>,
    interner: &'t mut Interner<str>,
}

impl KeyCollector<'_> {
    fn visit(&mut self, json: &str, path: &[PathSegment]) -> Result<(), String> {
        let elements = path.iter().position(|segment| *segment == PathSegment::Elements);
        let (fields, rest) = path.split_at(elements.unwrap_or(path.len()));
        let fields = fields.iter().map_while(PathSegment::field);
        let value = descend(json, fields).map_err(|error| error.to_string())?;
        let Some(value) = value.filter(|value| *value != "null") else {
            return Ok(());
        };
        let [PathSegment::Elements, rest @ ..] = rest else {
            return self.add(value);
        };
        let (mut elements, mut first) = (Cursor::new(value), true);
        while elements
            .element(&mut first)
            .map_err(|_| "the value at [*] is not a list")?
        {
            let element = elements.value().map_err(|error| error.to_string())?;
            self.visit(element, rest)?;
        }
        Ok(())
    }

    fn add(&mut self, value: &str) -> Result<(), String> {
        let key = match self.value_type {
            IndexType::String => unquoted(value).map(|text| IndexKey::String(self.interner.intern(&text))),
            IndexType::Bool => value.parse().ok().map(IndexKey::Bool),
            IndexType::Integer => value.parse().ok().map(IndexKey::Integer),
        };
        let key = key.ok_or_else(|| format!("a value is not of type {:?}", self.value_type))?;
        if !self.keys.contains(&key) {
            self.keys.push(key);
        }
        Ok(())
    }
}

/// Returns the value at a path of field names, if it exists, without reading beyond it. Fails at a value that is neither an object nor null.
fn descend<'a, 'f>(
    json: &'a str,
    fields: impl Iterator<Item = &'f str>,
) -> Result<Option<&'a str>, ScanError> {
    let mut cursor = Cursor::new(json);
    for field in fields {
        let mut first = true;
        loop {
            match cursor.entry(&mut first) {
                Ok(Some(key)) if key == *field => break,
                Ok(Some(_)) => drop(cursor.value()?),
                Ok(None) => return Ok(None),
                // The cursor has not moved.
                Err(_) if cursor.value() == Ok("null") => return Ok(None),
                Err(error) => return Err(error),
            }
        }
    }
    cursor.value().map(Some)
}

impl PathSegment {
    fn field(&self) -> Option<&str> {
        match self {
            Self::Field(name) => Some(name),
            Self::Elements => None,
        }
    }
}

impl fmt::Display for IndexKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::String(value) => f.write_str(value),
            Self::Bool(value) => value.fmt(f),
            Self::Integer(value) => value.fmt(f),
        }
    }
}

macro_rules! index_keys {
    ($($from:ty => |$value:ident| $key:expr;)*) => {$(
        impl From<$from> for IndexKey {
            fn from($value: $from) -> Self {
                $key
            }
        }
    )*};
}

index_keys! {
    &IndexKey => |value| value.clone();
    &str => |value| Self::String(value.into());
    String => |value| Self::String(value.into());
    &String => |value| Self::String(value.as_str().into());
    Arc<str> => |value| Self::String(value);
    bool => |value| Self::Bool(value);
    i64 => |value| Self::Integer(value);
    i32 => |value| Self::Integer(value.into());
    u32 => |value| Self::Integer(value.into());
}

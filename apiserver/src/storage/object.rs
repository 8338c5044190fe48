//! One version of an object.

use crate::{go_json, types};
use bytes::Bytes;
use serde_json::Value;
use std::borrow::Cow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

/// The JSON of most objects fits into this many bytes.
const TYPICAL_JSON_BYTES: usize = 4096;

/// One version of an object. It is immutable.
///
/// It is held as a tree, which is serialized on first use of the JSON, or as JSON, which is parsed on first use of the tree. A tree takes
/// about six times as much memory.
#[derive(Debug)]
pub struct Object {
    /// The resource version.
    pub revision: u64,
    value: OnceLock<Value>,
    json: OnceLock<Bytes>,
    /// Kind and apiVersion, which the JSON does not contain.
    ty: Option<Arc<TypeMeta>>,
    is_incomplete: AtomicBool,
}

/// Kind and apiVersion, shared by many objects.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct TypeMeta {
    kind: String,
    api_version: String,
}

impl Object {
    /// Creates an object, with the revision as its resourceVersion.
    pub fn new(mut value: Value, revision: u64) -> Self {
        if let Some(metadata) = value.get_mut("metadata").and_then(Value::as_object_mut) {
            metadata.insert("resourceVersion".into(), revision.to_string().into());
        }
        Self::from_tree(value, revision)
    }

    /// Creates an object that was never stored and keeps its resourceVersion.
    pub fn never_stored(value: Value) -> Self {
        let revision = value["metadata"]["resourceVersion"].as_str();
        let revision = revision.and_then(|text| text.parse().ok()).unwrap_or(0);
        Self::from_tree(value, revision)
    }

    fn from_tree(value: Value, revision: u64) -> Self {
        Self {
            revision,
            value: value.into(),
            json: OnceLock::new(),
            ty: None,
            is_incomplete: AtomicBool::new(false),
        }
    }

    /// Remembers that kube-apiserver would store this version without defaults that reading it adds.
    pub(crate) fn mark_incomplete(&self) {
        self.is_incomplete.store(true, Ordering::Relaxed);
    }

    /// Whether a write that changes nothing stores the object anew, because this version lacks defaults in kube-apiserver's storage.
    pub(crate) fn is_incomplete(&self) -> bool {
        self.is_incomplete.load(Ordering::Relaxed)
    }

    /// Returns the object as a tree.
    pub fn value(&self) -> &Value {
        self.value.get_or_init(|| self.parsed())
    }

    /// Returns [`value`](Self::value), which the object does not keep if it had to be parsed.
    pub(crate) fn value_once(&self) -> Cow<'_, Value> {
        let kept = self.value.get().map(Cow::Borrowed);
        kept.unwrap_or_else(|| Cow::Owned(self.parsed()))
    }

    fn parsed(&self) -> Value {
        // The JSON was written by this server, so it can be parsed.
        let value = self.json.get().and_then(|json| types::decode_stored(json).ok());
        let mut value = value.unwrap_or_default();
        if let (Value::Object(fields), Some(ty)) = (&mut value, &self.ty) {
            fields.insert("kind".into(), ty.kind.clone().into());
            fields.insert("apiVersion".into(), ty.api_version.clone().into());
        }
        value
    }

    /// Returns the object as a JSON object without kind and apiVersion, because these depend on the version in which it is shown.
    pub fn json(&self) -> &Bytes {
        self.json.get_or_init(|| {
            let mut json = Vec::with_capacity(TYPICAL_JSON_BYTES);
            go_json::write_without_kind(&mut json, self.value());
            json.shrink_to_fit();
            json.into()
        })
    }

    /// True if the object is held as a tree.
    pub(super) fn is_tree(&self) -> bool {
        self.value.get().is_some()
    }

    /// Returns a copy that holds only JSON. `last` is the type of the previously converted object, and is shared with equal ones.
    pub(super) fn to_json_only(&self, last: &mut Option<Arc<TypeMeta>>) -> Self {
        Self {
            revision: self.revision,
            value: OnceLock::new(),
            json: self.json().clone().into(),
            ty: self.ty.clone().or_else(|| {
                let text = |key: &str| self.value()[key].as_str().unwrap_or_default();
                let same =
                    |ty: &&mut Arc<TypeMeta>| ty.kind == text("kind") && ty.api_version == text("apiVersion");
                if let Some(ty) = last.as_mut().filter(same) {
                    return Some(ty.clone());
                }
                let (kind, api_version) = (text("kind").to_owned(), text("apiVersion").to_owned());
                *last = Some(Arc::new(TypeMeta { kind, api_version }));
                last.clone()
            }),
            is_incomplete: self.is_incomplete().into(),
        }
    }

    /// Returns the object for a reader: a copy that holds only JSON, so that a tree parsed by the reader is not retained.
    pub(super) fn reader_copy(self: &Arc<Self>) -> Arc<Self> {
        if self.is_tree() {
            return self.clone();
        }
        Arc::new(Self {
            revision: self.revision,
            value: OnceLock::new(),
            json: self.json.clone(),
            ty: self.ty.clone(),
            is_incomplete: self.is_incomplete().into(),
        })
    }
}

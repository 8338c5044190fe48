//! One version of one object.

use crate::types;
use bytes::Bytes;
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

/// As much as the JSON of most objects takes.
const ROOM: usize = 4096;

/// One version of one object. It never changes.
///
/// It is a tree, which is written as JSON when that is first asked for, or JSON, which is read when the tree is first asked for. The tree
/// takes about six times as much memory.
#[derive(Debug)]
pub struct Object {
    /// The resource version.
    pub revision: u64,
    value: OnceLock<Value>,
    json: OnceLock<Bytes>,
    /// What the JSON does not say.
    ty: Option<Arc<Type>>,
}

/// The kind and version of many objects.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Type {
    kind: String,
    api_version: String,
}

impl Object {
    /// With the version written into the metadata.
    pub fn new(mut value: Value, revision: u64) -> Self {
        if let Some(metadata) = value.get_mut("metadata").and_then(Value::as_object_mut) {
            metadata.insert("resourceVersion".into(), revision.to_string().into());
        }
        Self::tree(value, revision)
    }

    /// What was never kept, and keeps the version that it has.
    pub fn unsaved(value: Value) -> Self {
        let revision = value["metadata"]["resourceVersion"].as_str();
        let revision = revision.and_then(|text| text.parse().ok()).unwrap_or(0);
        Self::tree(value, revision)
    }

    fn tree(value: Value, revision: u64) -> Self {
        Self {
            revision,
            value: value.into(),
            json: OnceLock::new(),
            ty: None,
        }
    }

    /// The object.
    pub fn value(&self) -> &Value {
        self.value.get_or_init(|| {
            // What was written can be read.
            let value = self.json.get().and_then(|json| types::decode_stored(json).ok());
            let mut value = value.unwrap_or_default();
            if let (Value::Object(fields), Some(ty)) = (&mut value, &self.ty) {
                fields.insert("kind".into(), ty.kind.clone().into());
                fields.insert("apiVersion".into(), ty.api_version.clone().into());
            }
            value
        })
    }

    /// The object as JSON, without its kind and version, which differ from one place to another: `{` and the other fields and `}`.
    pub fn json(&self) -> &Bytes {
        self.json.get_or_init(|| {
            let fields = self.value().as_object().into_iter().flatten();
            let fields: BTreeMap<&String, &Value> = fields
                .filter(|(key, _)| !matches!(key.as_str(), "kind" | "apiVersion"))
                .collect();
            // A map of strings to values always becomes JSON.
            let mut json = Vec::with_capacity(ROOM);
            let _ = serde_json::to_writer(&mut json, &fields);
            json.shrink_to_fit();
            json.into()
        })
    }

    /// Whether it is there as a tree.
    pub(super) fn is_tree(&self) -> bool {
        self.value.get().is_some()
    }

    /// The same as JSON alone. Objects of one type share `last`, which is that of the one before.
    pub(super) fn as_json(&self, last: &mut Option<Arc<Type>>) -> Self {
        Self {
            revision: self.revision,
            value: OnceLock::new(),
            json: self.json().clone().into(),
            ty: self.ty.clone().or_else(|| {
                let text = |key: &str| self.value()[key].as_str().unwrap_or_default();
                let same =
                    |ty: &&mut Arc<Type>| ty.kind == text("kind") && ty.api_version == text("apiVersion");
                if let Some(ty) = last.as_mut().filter(same) {
                    return Some(ty.clone());
                }
                let (kind, api_version) = (text("kind").to_owned(), text("apiVersion").to_owned());
                *last = Some(Arc::new(Type { kind, api_version }));
                last.clone()
            }),
        }
    }

    /// The same for somebody who may ask for the tree, which is not to stay.
    pub(super) fn lend(self: &Arc<Self>) -> Arc<Self> {
        if self.is_tree() {
            return self.clone();
        }
        Arc::new(Self {
            revision: self.revision,
            value: OnceLock::new(),
            json: self.json.clone(),
            ty: self.ty.clone(),
        })
    }
}

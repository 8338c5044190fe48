//! One version of one object.

use bytes::Bytes;
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::OnceLock;

/// One version of one object. It never changes; its JSON is written once, when first asked for.
#[derive(Debug)]
pub struct Object {
    value: Value,
    /// The resource version.
    pub revision: u64,
    json: OnceLock<Bytes>,
}

impl Object {
    /// With the version written into the metadata.
    pub fn new(mut value: Value, revision: u64) -> Self {
        if let Some(metadata) = value.get_mut("metadata").and_then(Value::as_object_mut) {
            metadata.insert("resourceVersion".into(), revision.to_string().into());
        }
        Self {
            value,
            revision,
            json: OnceLock::new(),
        }
    }

    /// The object.
    pub fn value(&self) -> &Value {
        &self.value
    }

    /// What was never kept, and keeps the version that it has.
    pub fn unsaved(value: Value) -> Self {
        let revision = value["metadata"]["resourceVersion"].as_str();
        Self {
            revision: revision.and_then(|text| text.parse().ok()).unwrap_or(0),
            value,
            json: OnceLock::new(),
        }
    }

    /// The object as JSON, without its kind and version, which differ from one place to another: `{` and the other fields and `}`.
    pub fn json(&self) -> &Bytes {
        self.json.get_or_init(|| {
            let fields = self.value.as_object().into_iter().flatten();
            let fields: BTreeMap<&String, &Value> = fields
                .filter(|(key, _)| !matches!(key.as_str(), "kind" | "apiVersion"))
                .collect();
            // A map of strings to values always becomes JSON.
            serde_json::to_vec(&fields).unwrap_or_default().into()
        })
    }
}

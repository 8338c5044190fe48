//! Scans one object: cuts its bytes out and extracts its metadata.

use std::{borrow::Cow, sync::Arc};

use super::{
    cursor::{Cursor, unquoted},
    metadata::{Interners, RawMetadata},
    prune::prune,
    scan_failure::ScanFailure,
};
use crate::{
    ApiResource, Scope,
    cache::{
        IndexKey, StorageMode, index::Index, interner::Interner, metadata::Metadata, storage_mode::Paths,
    },
};

/// Bytes that are no object of the requested kind.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(in crate::cache) struct ScanError(pub(super) String);

/// An object that was scanned. It borrows the scanner's buffer until the next is scanned.
#[derive(Debug)]
pub(in crate::cache) struct ScannedObject<'s> {
    pub(in crate::cache) metadata: Metadata,
    /// Why the object does not decode as any type, if the scan found a reason.
    pub(in crate::cache) defect: Option<Box<str>>,
    /// A digest of the owner references; zero without any.
    pub(in crate::cache) owners: u64,
    /// The JSON: it has `apiVersion` and `kind` but no `managedFields`, and of a projection only the wanted paths.
    pub(in crate::cache) json: &'s [u8],
    /// The whole object as it was sent, if `json` is a projection.
    whole: Option<&'s str>,
    interned_texts: &'s mut Interner<str>,
}

impl ScannedObject<'_> {
    /// The object's keys in `indexes`; none where a function finds them. They are read from the whole object of a projection, else from
    /// `json`.
    pub(in crate::cache) fn index_keys(
        &mut self,
        indexes: &[Arc<Index>],
        json: &[u8],
    ) -> Vec<Option<Box<[IndexKey]>>> {
        let json = self.whole.map_or(json, str::as_bytes);
        let keys = indexes
            .iter()
            .map(|index| index.path_keys(json, self.metadata.name(), self.interned_texts));
        keys.collect()
    }
}

/// Scans objects of one kind. Reuses its buffer.
#[derive(Debug)]
pub(in crate::cache) struct Scanner {
    api_version: String,
    kind: String,
    scope: Scope,
    /// The paths of a projection.
    paths: Option<Paths>,
    /// The JSON of the object that is being scanned.
    json: Vec<u8>,
    interners: Interners,
}

impl Scanner {
    /// A scanner of whole objects.
    #[cfg(any(test, fuzzing))]
    pub(in crate::cache) fn new(info: &ApiResource) -> Self {
        Self::for_mode(info, &StorageMode::Raw)
    }

    /// A scanner that cuts out what an informer with this storage mode keeps.
    pub(in crate::cache) fn for_mode(info: &ApiResource, mode: &StorageMode) -> Self {
        let (api_version, kind) = match mode {
            StorageMode::Metadata => ("meta.k8s.io/v1".into(), "PartialObjectMetadata".into()),
            _ => (info.api_version(), info.kind.to_string()),
        };
        let paths = match mode {
            StorageMode::Projection(paths) => Paths::new(paths)
                .inspect_err(|error| {
                    tracing::error!(
                        "the informer of {kind} keeps whole objects: {error}; correct the projection's paths"
                    );
                })
                .ok(),
            _ => None,
        };
        Self {
            api_version,
            kind,
            scope: info.scope,
            paths,
            json: Vec::new(),
            interners: Interners::default(),
        }
    }

    /// Scans an item of a list, or an object by itself.
    ///
    /// `on_owners` is called with the digest of the owner references as soon as those were read, before the rest is: for prefetching.
    pub(in crate::cache) fn item<'s>(
        &'s mut self,
        json: &'s [u8],
        on_owners: impl FnOnce(u64),
    ) -> Result<ScannedObject<'s>, ScanFailure> {
        self.try_item(json, on_owners)
            .map_err(|error| ScanFailure::item(error, json))
    }

    fn try_item<'s>(
        &'s mut self,
        json: &'s [u8],
        on_owners: impl FnOnce(u64),
    ) -> Result<ScannedObject<'s>, ScanError> {
        let mut cursor = Cursor::new(text(json)?);
        let found = self.scan(&mut cursor, on_owners)?;
        cursor.end()?;
        self.finish(found)
    }

    /// Scans the object on which the cursor stands; [`Self::finish`] must follow.
    pub(super) fn scan<'a>(
        &mut self,
        cursor: &mut Cursor<'a>,
        on_owners: impl FnOnce(u64),
    ) -> Result<RawMetadata<'a>, ScanError> {
        let mut found = RawMetadata::default();
        let mut on_owners = Some(on_owners);
        let (mut first, mut has_metadata) = (true, false);
        let start = cursor.position();
        self.json.clear();
        self.json.push(b'{');
        // Items of lists lack them, and an object's JSON must not depend on how it arrived.
        for (key, text) in [("apiVersion", &self.api_version), ("kind", &self.kind)] {
            write_key(&mut self.json, key);
            write_text(&mut self.json, text);
        }
        while let Some(key) = cursor.entry(&mut first)? {
            if key == "metadata" {
                if std::mem::replace(&mut has_metadata, true) {
                    found.set_duplicate_key("metadata");
                }
                self.scan_metadata(cursor, &mut found, &mut on_owners)?;
                continue;
            }
            let value = cursor.value()?;
            match &*key {
                "apiVersion" => self.check_type(&mut found, value, &self.api_version),
                "kind" => self.check_type(&mut found, value, &self.kind),
                _ => append_field(&mut self.json, self.paths.as_ref(), &key, value)?,
            }
        }
        if !has_metadata {
            return Err(ScanError("metadata is missing".into()));
        }
        self.json.push(b'}');
        found.text = cursor.since(start);
        Ok(found)
    }

    /// Makes the scanned object.
    pub(super) fn finish<'s>(&'s mut self, found: RawMetadata<'s>) -> Result<ScannedObject<'s>, ScanError> {
        let (text, owners) = (found.text, found.owners().unwrap_or_default());
        let (metadata, defect) = found.into_metadata(self.scope, &mut self.interners)?;
        Ok(ScannedObject {
            metadata,
            defect,
            owners,
            json: &self.json,
            whole: self.paths.is_some().then_some(text),
            interned_texts: &mut self.interners.texts,
        })
    }

    fn scan_metadata<'a>(
        &mut self,
        cursor: &mut Cursor<'a>,
        found: &mut RawMetadata<'a>,
        on_owners: &mut Option<impl FnOnce(u64)>,
    ) -> Result<(), ScanError> {
        let mut seen = SeenKeys::default();
        let mut first = true;
        let wanted = self.paths.as_ref().map(|paths| paths.field("metadata"));
        // None: all of it is wanted. None within: nothing is.
        let is_wanted = wanted != Some(None);
        let paths = wanted.flatten();
        if is_wanted {
            write_key(&mut self.json, "metadata");
            self.json.push(b'{');
        }
        while let Some(key) = cursor.entry(&mut first)? {
            let value = cursor.value()?;
            if key != "managedFields" {
                found.set(&key, value, &self.interners);
                if key == "ownerReferences"
                    && let Some(on_owners) = on_owners.take()
                {
                    on_owners(found.owners().unwrap_or_default());
                }
                if is_wanted {
                    append_field(&mut self.json, paths, &key, value)?;
                }
            }
            if !seen.insert(key.clone()) {
                found.set_duplicate_key(&format!("metadata.{key}"));
            }
        }
        if let Some(on_owners) = on_owners.take() {
            on_owners(0);
        }
        if is_wanted {
            self.json.push(b'}');
        }
        Ok(())
    }

    fn check_type(&self, found: &mut RawMetadata<'_>, value: &str, expected: &str) {
        if unquoted(value).as_deref() != Some(expected) {
            let value: String = value.chars().take(100).collect();
            found.set_other_type(format!(
                "it is no {} of {}: found {value}",
                self.kind, self.api_version
            ));
        }
    }
}

/// Objects as tests and the fuzzer make them: raw, without an informer.
#[cfg(any(test, fuzzing))]
mod raw_objects {
    use super::*;
    use crate::cache::{compression::Payload, decoder::Decoder, object::StoredObject, scan::ScannedEvent};

    impl Scanner {
        pub(in crate::cache) fn object(
            &mut self,
            json: &[u8],
            indexes: &[Arc<Index>],
        ) -> Result<StoredObject, ScanFailure> {
            Ok(self.item(json, |_| {})?.into_raw(indexes))
        }

        pub(in crate::cache) fn watch_line(
            &mut self,
            line: &[u8],
            indexes: &[Arc<Index>],
        ) -> Result<ScannedEvent<StoredObject>, ScanFailure> {
            Ok(match self.watch_event(line, |_| {})? {
                ScannedEvent::Added(object) => ScannedEvent::Added(object.into_raw(indexes)),
                ScannedEvent::Modified(object) => ScannedEvent::Modified(object.into_raw(indexes)),
                ScannedEvent::Deleted(object) => ScannedEvent::Deleted(object.into_raw(indexes)),
                ScannedEvent::Bookmark {
                    version,
                    ends_initial_events,
                } => ScannedEvent::Bookmark {
                    version,
                    ends_initial_events,
                },
                ScannedEvent::Error(status) => ScannedEvent::Error(status),
            })
        }
    }

    impl ScannedObject<'_> {
        pub(in crate::cache) fn into_raw(mut self, indexes: &[Arc<Index>]) -> StoredObject {
            let keys = self.index_keys(indexes, self.json);
            let kind = <k8s_openapi::api::core::v1::ConfigMap as crate::Kind>::info();
            let decoder = Decoder::new(kind, false, Arc::default(), Arc::default());
            let payload = Payload::new(self.json);
            let mut object = StoredObject::new(Arc::new(decoder), self.metadata, payload, self.defect);
            *object.indexed.get_mut() = keys;
            object
        }
    }
}

/// The keys of `metadata` that were read.
#[derive(Default)]
struct SeenKeys<'a> {
    /// A bit for each of `USUAL_KEYS`.
    usual: u32,
    others: Vec<Cow<'a, str>>,
}

const USUAL_KEYS: [&str; 15] = [
    "name",
    "generateName",
    "namespace",
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "labels",
    "annotations",
    "ownerReferences",
    "finalizers",
    "managedFields",
    "selfLink",
];

impl<'a> SeenKeys<'a> {
    /// Whether the key is new.
    fn insert(&mut self, key: Cow<'a, str>) -> bool {
        if let Some(position) = USUAL_KEYS.iter().position(|usual| *usual == key) {
            let bit = 1 << position;
            let is_new = self.usual & bit == 0;
            self.usual |= bit;
            return is_new;
        }
        let is_new = !self.others.contains(&key);
        if is_new {
            self.others.push(key);
        }
        is_new
    }
}

/// Appends a field, pruned to the paths.
fn append_field(json: &mut Vec<u8>, paths: Option<&Paths>, key: &str, value: &str) -> Result<(), ScanError> {
    let Some(paths) = paths else {
        write_key(json, key);
        json.extend_from_slice(value.as_bytes());
        return Ok(());
    };
    let Some(paths) = paths.field(key) else {
        return Ok(());
    };
    write_key(json, key);
    prune(&mut Cursor::new(value), paths, json)
}

/// The bytes as text. Fails if they are no UTF-8.
pub(in crate::cache) fn text(json: &[u8]) -> Result<&str, ScanError> {
    // The fast check does not say where the error is.
    simdutf8::basic::from_utf8(json)
        .or_else(|_| str::from_utf8(json))
        .map_err(|error| ScanError(format!("it is no UTF-8: {error}")))
}

/// Writes `"key":`, after a comma unless an object was just opened.
pub(super) fn write_key(json: &mut Vec<u8>, key: &str) {
    if json.last() != Some(&b'{') {
        json.push(b',');
    }
    write_text(json, key);
    json.push(b':');
}

fn write_text(json: &mut Vec<u8>, text: &str) {
    if text.bytes().any(|byte| matches!(byte, b'"' | b'\\' | 0..=0x1f)) {
        // Writing a text to memory does not fail.
        let _ = serde_json::to_writer(json, text);
    } else {
        json.push(b'"');
        json.extend_from_slice(text.as_bytes());
        json.push(b'"');
    }
}

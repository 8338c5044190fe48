//! What the scan makes of one object.

use std::{borrow::Cow, sync::Arc};

use super::{
    cursor::{Cursor, unquoted},
    metadata::{Found, Shared},
    prune::prune,
    scan_failure::ScanFailure,
};
use crate::{
    Scope,
    cache::{
        StorageMode, Transform,
        compression::{Encoder, Payload},
        decoder::Decoder,
        index::Index,
        metadata::Metadata,
        object::StoredObject,
        storage_mode::Paths,
        store::Store,
    },
};

/// Bytes that stand for no object of the kind that was asked for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(in crate::cache) struct ScanError(pub(super) String);

/// What a list brings.
#[derive(Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "there is one at a time, which goes into an Arc"
)]
pub(in crate::cache) enum Listed {
    New(StoredObject),
    /// It is in the store in this version.
    Known(Arc<StoredObject>),
}

impl Listed {
    pub(in crate::cache) fn metadata(&self) -> &Metadata {
        match self {
            Self::New(object) => &object.metadata,
            Self::Known(object) => &object.metadata,
        }
    }
}

/// Scans objects of one kind. Keeps a buffer from one to the next.
#[derive(Debug)]
pub(in crate::cache) struct Scanner {
    api_version: String,
    kind: String,
    scope: Scope,
    /// Only these paths are kept.
    paths: Option<Paths>,
    transform: Option<Transform>,
    transform_failed: bool,
    /// Who reads the objects, and knows whether what is said of one may quote it.
    decoder: Arc<Decoder>,
    /// What is kept of the object that is being scanned.
    kept: Vec<u8>,
    /// What becomes of objects that may be compressed.
    fresh: Option<Encoder>,
    shared: Shared,
}

impl Scanner {
    /// A scanner that keeps everything.
    #[cfg(any(test, fuzzing))]
    pub(in crate::cache) fn new(info: &crate::ApiResource) -> Self {
        let decoder = Decoder::new(info.clone(), false, Arc::default(), Arc::default());
        Self::keeping(Arc::new(decoder), &StorageMode::Raw)
    }

    pub(in crate::cache) fn keeping(decoder: Arc<Decoder>, keep: &StorageMode) -> Self {
        let info = decoder.info();
        let (api_version, kind) = match keep {
            StorageMode::Metadata => ("meta.k8s.io/v1".into(), "PartialObjectMetadata".into()),
            _ => (info.api_version(), info.kind.to_string()),
        };
        let paths = match keep {
            StorageMode::Projection(paths) => Paths::new(paths)
                .inspect_err(|error| tracing::error!("an informer of {kind} keeps whole objects: {error}"))
                .ok(),
            _ => None,
        };
        let transform = match keep {
            StorageMode::Transformed(transform) => Some(transform.clone()),
            _ => None,
        };
        Self {
            api_version,
            kind,
            scope: info.scope,
            paths,
            transform,
            transform_failed: false,
            decoder,
            kept: Vec::new(),
            fresh: None,
            shared: Shared::default(),
        }
    }

    /// Lets `fresh` decide how the bytes are kept at first.
    pub(in crate::cache) fn into_fresh(self, fresh: Option<Encoder>) -> Self {
        Self { fresh, ..self }
    }

    /// An item of a list. What is in the store is not made again.
    pub(in crate::cache) fn listed(
        &mut self,
        json: &[u8],
        indexes: &[Arc<Index>],
        store: &Store,
    ) -> Result<Listed, ScanFailure> {
        self.item(json, |scanner, found| {
            scanner.finish_unless_known(found, indexes, store)
        })
    }

    /// An object from its JSON, whether the store has it or not.
    pub(in crate::cache) fn object(
        &mut self,
        json: &[u8],
        indexes: &[Arc<Index>],
    ) -> Result<StoredObject, ScanFailure> {
        self.item(json, |scanner, found| scanner.finish(found, indexes))
    }

    fn item<T>(
        &mut self,
        json: &[u8],
        finish: impl FnOnce(&mut Self, Found<'_>) -> Result<T, ScanError>,
    ) -> Result<T, ScanFailure> {
        let scanned = || {
            let mut cursor = Cursor::new(text(json)?);
            let found = self.scan(&mut cursor)?;
            cursor.end()?;
            finish(self, found)
        };
        scanned().map_err(|error| ScanFailure::item(error, json))
    }

    /// Scans the object on which the cursor stands; [`Self::finish`] must follow.
    pub(super) fn scan<'a>(&mut self, cursor: &mut Cursor<'a>) -> Result<Found<'a>, ScanError> {
        let mut found = Found::default();
        let (mut first, mut has_metadata) = (true, false);
        let start = cursor.position();
        self.kept.clear();
        self.kept.push(b'{');
        // Items of lists leave them out, and objects are to be alike whatever brought them.
        for (key, text) in [("apiVersion", &self.api_version), ("kind", &self.kind)] {
            write_key(&mut self.kept, key);
            write_text(&mut self.kept, text);
        }
        while let Some(key) = cursor.entry(&mut first)? {
            if key == "metadata" {
                if std::mem::replace(&mut has_metadata, true) {
                    found.stands_twice("metadata");
                }
                self.scan_metadata(cursor, &mut found)?;
                if let (None, Some(fresh)) = (found.owners(), &mut self.fresh) {
                    fresh.fetch(None);
                }
                continue;
            }
            let value = cursor.value()?;
            match &*key {
                "apiVersion" => self.check(&mut found, value, &self.api_version),
                "kind" => self.check(&mut found, value, &self.kind),
                _ => keep(&mut self.kept, self.paths.as_ref(), &key, value)?,
            }
        }
        if !has_metadata {
            return Err(ScanError("metadata is missing".into()));
        }
        self.kept.push(b'}');
        found.text = cursor.since(start);
        Ok(found)
    }

    /// Makes the object of what was scanned.
    pub(super) fn finish(
        &mut self,
        found: Found<'_>,
        indexes: &[Arc<Index>],
    ) -> Result<StoredObject, ScanError> {
        let text = found.text;
        let described = found.metadata(self.scope, &mut self.shared)?;
        Ok(self.keep(text, described, indexes))
    }

    /// The same, but for what is in the store: most of what a list brings again, which would take the place of what is fresh.
    pub(super) fn finish_unless_known(
        &mut self,
        found: Found<'_>,
        indexes: &[Arc<Index>],
        store: &Store,
    ) -> Result<Listed, ScanError> {
        let text = found.text;
        let described = found.metadata(self.scope, &mut self.shared)?;
        Ok(match store.get_same_version(&described.0) {
            Some(known) => Listed::Known(known),
            None => Listed::New(self.keep(text, described, indexes)),
        })
    }

    fn keep(
        &mut self,
        text: &str,
        (metadata, defect): (Metadata, Option<Box<str>>),
        indexes: &[Arc<Index>],
    ) -> StoredObject {
        // What a projection leaves out may be indexed nevertheless.
        let whole = self.paths.is_some().then_some(text);
        if let Some(transform) = &self.transform {
            match transform.apply(&self.kept) {
                Ok(json) => self.kept = json,
                Err(problem) if !self.transform_failed => {
                    self.transform_failed = true;
                    let (kind, name) = (&self.kind, metadata.name());
                    let problem = self.decoder.quotable(problem);
                    tracing::error!(
                        "the transform of {kind} failed for {name}, which is kept as it came: {problem}"
                    );
                }
                Err(_) => {}
            }
        }
        let payload = match &mut self.fresh {
            Some(fresh) => fresh.payload(&metadata, &self.kept),
            None => Payload::new(&self.kept),
        };
        let mut object = StoredObject::new(self.decoder.clone(), metadata, payload, defect);
        let json = whole.map_or(&*self.kept, str::as_bytes);
        let keys = indexes
            .iter()
            .map(|index| index.path_keys(json, &object.metadata.name, &mut self.shared.texts));
        *object.indexed.get_mut() = keys.collect();
        object
    }

    fn scan_metadata<'a>(&mut self, cursor: &mut Cursor<'a>, found: &mut Found<'a>) -> Result<(), ScanError> {
        let mut seen = Seen::default();
        let mut first = true;
        let wanted = self.paths.as_ref().map(|paths| paths.field("metadata"));
        // None: all of it is. None within: nothing is.
        let is_wanted = wanted != Some(None);
        let paths = wanted.flatten();
        if is_wanted {
            write_key(&mut self.kept, "metadata");
            self.kept.push(b'{');
        }
        while let Some(key) = cursor.entry(&mut first)? {
            let value = cursor.value()?;
            if key != "managedFields" {
                found.take(&key, value, &self.shared);
                if let ("ownerReferences", Some(fresh)) = (&*key, &mut self.fresh) {
                    fresh.fetch(found.owners());
                }
                if is_wanted {
                    keep(&mut self.kept, paths, &key, value)?;
                }
            }
            if seen.again(key.clone()) {
                found.stands_twice(&format!("metadata.{key}"));
            }
        }
        if is_wanted {
            self.kept.push(b'}');
        }
        Ok(())
    }

    fn check(&self, found: &mut Found<'_>, value: &str, expected: &str) {
        if unquoted(value).as_deref() != Some(expected) {
            let value: String = value.chars().take(100).collect();
            found.is_stranger(format!(
                "it is no {} of {}: found {value}",
                self.kind, self.api_version
            ));
        }
    }
}

/// The keys of `metadata` that came.
#[derive(Default)]
struct Seen<'a> {
    /// A bit for each of `USUAL`.
    usual: u32,
    others: Vec<Cow<'a, str>>,
}

const USUAL: [&str; 15] = [
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

impl<'a> Seen<'a> {
    /// Whether the key came before.
    fn again(&mut self, key: Cow<'a, str>) -> bool {
        if let Some(position) = USUAL.iter().position(|usual| *usual == key) {
            let bit = 1 << position;
            let again = self.usual & bit != 0;
            self.usual |= bit;
            return again;
        }
        let again = self.others.contains(&key);
        if !again {
            self.others.push(key);
        }
        again
    }
}

/// Writes a field, or what is wanted of it.
fn keep(kept: &mut Vec<u8>, paths: Option<&Paths>, key: &str, value: &str) -> Result<(), ScanError> {
    let Some(paths) = paths else {
        write_key(kept, key);
        kept.extend_from_slice(value.as_bytes());
        return Ok(());
    };
    let Some(paths) = paths.field(key) else {
        return Ok(());
    };
    write_key(kept, key);
    prune(&mut Cursor::new(value), paths, kept)
}

/// The bytes as text, if they are one.
pub(in crate::cache) fn text(json: &[u8]) -> Result<&str, ScanError> {
    // The fast one does not say where.
    simdutf8::basic::from_utf8(json)
        .or_else(|_| str::from_utf8(json))
        .map_err(|error| ScanError(format!("it is no UTF-8: {error}")))
}

/// Writes `"key":`, after a comma unless an object was just opened.
pub(super) fn write_key(kept: &mut Vec<u8>, key: &str) {
    if kept.last() != Some(&b'{') {
        kept.push(b',');
    }
    write_text(kept, key);
    kept.push(b':');
}

fn write_text(kept: &mut Vec<u8>, text: &str) {
    if text.bytes().any(|byte| matches!(byte, b'"' | b'\\' | 0..=0x1f)) {
        // Writing a text to memory does not fail.
        let _ = serde_json::to_writer(kept, text);
    } else {
        kept.push(b'"');
        kept.extend_from_slice(text.as_bytes());
        kept.push(b'"');
    }
}

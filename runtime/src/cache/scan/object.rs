//! What the scan makes of one object.

use std::{borrow::Cow, sync::Arc};

use super::{
    cursor::{Cursor, unquoted},
    metadata::{Found, Shared},
};
use crate::{
    KindInfo, Scope,
    cache::{index::Index, object::StoredObject},
};

/// Bytes that stand for no object of the kind that was asked for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(in crate::cache) struct ScanError(pub(super) String);

/// Scans objects of one kind. Keeps a buffer from one to the next.
#[derive(Debug)]
pub(in crate::cache) struct Scanner {
    api_version: String,
    kind: String,
    scope: Scope,
    /// What is kept of the object that is being scanned.
    kept: Vec<u8>,
    shared: Shared,
}

impl Scanner {
    pub(in crate::cache) fn new(info: &KindInfo) -> Self {
        Self {
            api_version: info.api_version(),
            kind: info.kind.to_string(),
            scope: info.scope,
            kept: Vec::new(),
            shared: Shared::default(),
        }
    }

    /// An object from its JSON: an item of a list, or what a test puts into a store.
    pub(in crate::cache) fn object(
        &mut self,
        json: &[u8],
        indexes: &[Arc<Index>],
    ) -> Result<StoredObject, ScanError> {
        let mut cursor = Cursor::new(text(json)?);
        let found = self.scan(&mut cursor)?;
        cursor.end()?;
        self.finish(found, indexes)
    }

    /// Scans the object on which the cursor stands; [`Self::finish`] must follow.
    pub(super) fn scan<'a>(&mut self, cursor: &mut Cursor<'a>) -> Result<Found<'a>, ScanError> {
        let mut found = Found::default();
        let (mut first, mut has_metadata, mut has_api_version, mut has_kind) = (true, false, false, false);
        self.kept.clear();
        self.kept.push(b'{');
        while let Some(key) = cursor.entry(&mut first)? {
            write_key(&mut self.kept, &key);
            if key == "metadata" {
                if std::mem::replace(&mut has_metadata, true) {
                    found.stands_twice("metadata");
                }
                self.scan_metadata(cursor, &mut found)?;
                continue;
            }
            let value = cursor.value()?;
            self.kept.extend_from_slice(value.as_bytes());
            match &*key {
                "apiVersion" => {
                    has_api_version = true;
                    self.check(&mut found, value, &self.api_version);
                }
                "kind" => {
                    has_kind = true;
                    self.check(&mut found, value, &self.kind);
                }
                _ => {}
            }
        }
        if !has_metadata {
            return Err(ScanError("metadata is missing".into()));
        }
        // Items of lists leave them out.
        for (missing, key, text) in [
            (!has_api_version, "apiVersion", &self.api_version),
            (!has_kind, "kind", &self.kind),
        ] {
            if missing {
                write_key(&mut self.kept, key);
                write_text(&mut self.kept, text);
            }
        }
        self.kept.push(b'}');
        Ok(found)
    }

    /// Makes the object of what was scanned.
    pub(super) fn finish(
        &mut self,
        found: Found<'_>,
        indexes: &[Arc<Index>],
    ) -> Result<StoredObject, ScanError> {
        let (metadata, defect) = found.metadata(self.scope, &mut self.shared)?;
        let mut object = StoredObject::new(metadata, &self.kept, defect);
        let keys = indexes
            .iter()
            .map(|index| index.path_keys(&self.kept, &mut self.shared.texts));
        *object.indexed.get_mut() = keys.collect();
        Ok(object)
    }

    fn scan_metadata<'a>(&mut self, cursor: &mut Cursor<'a>, found: &mut Found<'a>) -> Result<(), ScanError> {
        let mut seen: Vec<Cow<'a, str>> = Vec::with_capacity(16);
        let mut first = true;
        self.kept.push(b'{');
        while let Some(key) = cursor.entry(&mut first)? {
            let value = cursor.value()?;
            if key != "managedFields" {
                write_key(&mut self.kept, &key);
                self.kept.extend_from_slice(value.as_bytes());
                found.take(&key, value);
            }
            if seen.contains(&key) {
                found.stands_twice(&format!("metadata.{key}"));
            } else {
                seen.push(key);
            }
        }
        self.kept.push(b'}');
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

pub(super) fn text(json: &[u8]) -> Result<&str, ScanError> {
    std::str::from_utf8(json).map_err(|error| ScanError(format!("it is no UTF-8: {error}")))
}

/// Writes `"key":`, after a comma unless an object was just opened.
fn write_key(kept: &mut Vec<u8>, key: &str) {
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

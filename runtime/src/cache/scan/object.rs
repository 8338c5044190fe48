//! What the scan makes of one object.

use std::{borrow::Cow, fmt, sync::Arc};

use bytes::Bytes;
use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, Visitor};
use sonic_rs::{JsonValueTrait as _, LazyValue};

use super::{depth, owners::Owners};
use crate::{
    KindInfo, ObjectName, Scope,
    cache::{
        index::Index,
        object::{Metadata, OwnerRef, StoredObject},
    },
};

/// Bytes that stand for no object of the kind that was asked for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(in crate::cache) struct ScanError(pub(super) String);

/// Scans objects of one kind. Keeps a buffer from one to the next.
#[derive(Debug)]
pub(in crate::cache) struct Scanner {
    pub(super) expected: Expected,
    scratch: Vec<u8>,
}

/// Which objects are expected.
#[derive(Debug)]
pub(super) struct Expected {
    api_version: String,
    kind: String,
    scope: Scope,
}

impl Scanner {
    pub(in crate::cache) fn new(info: &KindInfo) -> Self {
        Self {
            expected: Expected {
                api_version: info.api_version(),
                kind: info.kind.to_string(),
                scope: info.scope,
            },
            scratch: Vec::new(),
        }
    }

    /// An object from its JSON: an item of a list, or what a test puts into a store.
    pub(in crate::cache) fn object(
        &mut self,
        json: &[u8],
        indexes: &[Arc<Index>],
    ) -> Result<StoredObject, ScanError> {
        let text = text(json)?;
        let limited = depth::limited(text);
        self.scratch.clear();
        let mut deserializer = sonic_rs::Deserializer::from_str(&limited);
        let seed = ObjectSeed {
            out: &mut self.scratch,
            expected: &self.expected,
        };
        let scanned = seed
            .deserialize(&mut deserializer)
            .map_err(|error| ScanError::syntax(&error))?;
        deserializer.end().map_err(|error| ScanError::syntax(&error))?;
        self.finish(scanned, matches!(limited, Cow::Owned(_)), indexes)
    }

    /// Makes the object of what was scanned into [`Self::scratch`].
    pub(super) fn finish(
        &self,
        scanned: Scanned,
        cut: bool,
        indexes: &[Arc<Index>],
    ) -> Result<StoredObject, ScanError> {
        let defect = if cut {
            Some("it is nested too deeply".into())
        } else {
            scanned.defect.clone()
        };
        let metadata = scanned.metadata(self.expected.scope)?;
        let json = Bytes::copy_from_slice(&self.scratch);
        let values = indexes.iter().map(|index| index.values(&json)).collect();
        Ok(StoredObject {
            metadata,
            json,
            defect,
            indexed: values,
            reported: false.into(),
        })
    }

    /// Clears and lends the buffer into which the next object is scanned.
    pub(super) fn parts(&mut self) -> (&mut Vec<u8>, &Expected) {
        self.scratch.clear();
        (&mut self.scratch, &self.expected)
    }
}

impl ScanError {
    /// Keeps the first line of the parser's message: the others quote the input, which may be secret.
    pub(super) fn syntax(error: &sonic_rs::Error) -> Self {
        let message = error.to_string();
        Self(
            message
                .lines()
                .next()
                .unwrap_or("it is no JSON")
                .trim()
                .to_owned(),
        )
    }
}

pub(super) fn text(json: &[u8]) -> Result<&str, ScanError> {
    std::str::from_utf8(json).map_err(|error| ScanError(format!("it is no UTF-8: {error}")))
}

/// What was extracted of one object.
#[derive(Debug, Default)]
pub(super) struct Scanned {
    name: Option<Box<str>>,
    namespace: Option<Box<str>>,
    uid: Option<Box<str>>,
    pub(super) resource_version: Option<Box<str>>,
    generation: Option<i64>,
    is_deleting: bool,
    labels: Vec<(Box<str>, Box<str>)>,
    finalizers: Vec<Box<str>>,
    owner_references: Vec<OwnerRef>,
    /// Another kind than expected.
    stranger: Option<String>,
    /// What makes the object undecodable as whatever type.
    defect: Option<Box<str>>,
    /// The key that identifies the object and has two values.
    ambiguous: Option<&'static str>,
}

impl Scanned {
    fn metadata(self, scope: Scope) -> Result<Metadata, ScanError> {
        if let Some(stranger) = self.stranger {
            return Err(ScanError(stranger));
        }
        if let Some(key) = self.ambiguous {
            return Err(ScanError(format!("metadata.{key} stands twice, with two values")));
        }
        let missing = |key| ScanError(format!("metadata.{key} is missing or no text"));
        let name = self
            .name
            .filter(|name| !name.is_empty())
            .ok_or_else(|| missing("name"))?;
        let name = match scope {
            Scope::Cluster => ObjectName::cluster(name),
            Scope::Namespaced => {
                let namespace = self.namespace.filter(|namespace| !namespace.is_empty());
                ObjectName::namespaced(namespace.ok_or_else(|| missing("namespace"))?, name)
            }
        };
        Ok(Metadata {
            name,
            uid: self.uid.unwrap_or_default(),
            resource_version: self.resource_version.unwrap_or_default(),
            generation: self.generation,
            is_deleting: self.is_deleting,
            labels: self.labels.into_boxed_slice(),
            finalizers: self.finalizers.into_boxed_slice(),
            owner_references: self.owner_references.into_boxed_slice(),
        })
    }

    /// Takes one entry of `metadata`.
    fn take(&mut self, key: &str, value: &LazyValue<'_>) {
        match key {
            "name" => set("name", &mut self.name, value, &mut self.ambiguous),
            "namespace" => set("namespace", &mut self.namespace, value, &mut self.ambiguous),
            "uid" => set("uid", &mut self.uid, value, &mut self.ambiguous),
            "resourceVersion" => set(
                "resourceVersion",
                &mut self.resource_version,
                value,
                &mut self.ambiguous,
            ),
            "generation" => self.generation = value.as_i64(),
            "deletionTimestamp" => self.is_deleting = !value.is_null(),
            "labels" if !value.is_null() => match sonic_rs::from_str::<Labels>(value.as_raw_str()) {
                Ok(Labels(labels)) => self.labels = labels,
                Err(_) => self.defect("metadata.labels is no map of texts"),
            },
            "finalizers" if !value.is_null() => match sonic_rs::from_str(value.as_raw_str()) {
                Ok(finalizers) => self.finalizers = finalizers,
                Err(_) => self.defect("metadata.finalizers is no list of texts"),
            },
            "ownerReferences" if !value.is_null() => match sonic_rs::from_str::<Owners>(value.as_raw_str()) {
                Ok(Owners(owners)) => self.owner_references = owners,
                Err(_) => self.defect("metadata.ownerReferences is no list of references"),
            },
            _ => {}
        }
    }

    fn defect(&mut self, defect: &str) {
        self.defect.get_or_insert_with(|| defect.into());
    }

    fn duplicate(&mut self, key: &str) {
        self.defect
            .get_or_insert_with(|| format!("the key {key} stands twice").into());
    }
}

fn set(
    key: &'static str,
    place: &mut Option<Box<str>>,
    value: &LazyValue<'_>,
    ambiguous: &mut Option<&'static str>,
) {
    let Some(text) = value.as_str() else { return };
    match place {
        Some(known) if **known != *text => *ambiguous = Some(key),
        _ => *place = Some(text.into()),
    }
}

/// Scans one object, writing what is kept of it to `out`.
pub(super) struct ObjectSeed<'s> {
    pub(super) out: &'s mut Vec<u8>,
    pub(super) expected: &'s Expected,
}

impl<'de> DeserializeSeed<'de> for ObjectSeed<'_> {
    type Value = Scanned;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Scanned, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for ObjectSeed<'_> {
    type Value = Scanned;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a {}", self.expected.kind)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Scanned, A::Error> {
        let Self { out, expected } = self;
        let mut scanned = Scanned::default();
        let (mut has_metadata, mut has_api_version, mut has_kind) = (false, false, false);
        out.push(b'{');
        while let Some(Key(key)) = map.next_key()? {
            if key == "metadata" {
                if std::mem::replace(&mut has_metadata, true) {
                    scanned.duplicate("metadata");
                }
                write_key(out, &key);
                map.next_value_seed(MetadataSeed {
                    out,
                    scanned: &mut scanned,
                })?;
                continue;
            }
            let value: LazyValue<'de> = map.next_value()?;
            match &*key {
                "apiVersion" => has_api_version = expected.check(&mut scanned, &value, &expected.api_version),
                "kind" => has_kind = expected.check(&mut scanned, &value, &expected.kind),
                _ => {}
            }
            write_key(out, &key);
            out.extend_from_slice(value.as_raw_str().as_bytes());
        }
        if !has_metadata {
            return Err(A::Error::custom("metadata is missing"));
        }
        // Items of lists leave them out.
        for (missing, key, text) in [
            (!has_api_version, "apiVersion", &expected.api_version),
            (!has_kind, "kind", &expected.kind),
        ] {
            if missing {
                write_key(out, key);
                write_text(out, text);
            }
        }
        out.push(b'}');
        Ok(scanned)
    }
}

impl Expected {
    fn check(&self, scanned: &mut Scanned, value: &LazyValue<'_>, expected: &str) -> bool {
        if value.as_str() != Some(expected) {
            let found = value.as_raw_str().chars().take(100).collect::<String>();
            scanned.stranger.get_or_insert_with(|| {
                format!("it is no {} of {}: found {found}", self.kind, self.api_version)
            });
        }
        true
    }
}

struct MetadataSeed<'s> {
    out: &'s mut Vec<u8>,
    scanned: &'s mut Scanned,
}

impl<'de> DeserializeSeed<'de> for MetadataSeed<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for MetadataSeed<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("metadata")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let Self { out, scanned } = self;
        let mut seen: Vec<Cow<'de, str>> = Vec::with_capacity(16);
        out.push(b'{');
        while let Some(Key(key)) = map.next_key()? {
            let value: LazyValue<'de> = map.next_value()?;
            if key != "managedFields" {
                write_key(out, &key);
                out.extend_from_slice(value.as_raw_str().as_bytes());
                scanned.take(&key, &value);
            }
            if seen.contains(&key) {
                scanned.duplicate(&format!("metadata.{key}"));
            } else {
                seen.push(key);
            }
        }
        out.push(b'}');
        Ok(())
    }
}

/// Writes `"key":`, after a comma unless an object was just opened.
fn write_key(out: &mut Vec<u8>, key: &str) {
    if out.last() != Some(&b'{') {
        out.push(b',');
    }
    write_text(out, key);
    out.push(b':');
}

fn write_text(out: &mut Vec<u8>, text: &str) {
    if text.bytes().any(|b| matches!(b, b'"' | b'\\' | 0..=0x1f)) {
        // Writing a text to memory does not fail.
        let _ = serde_json::to_writer(out, text);
    } else {
        out.push(b'"');
        out.extend_from_slice(text.as_bytes());
        out.push(b'"');
    }
}

/// A key, borrowed from the input unless it is written with escapes.
pub(super) struct Key<'de>(pub(super) Cow<'de, str>);

impl<'de> serde::Deserialize<'de> for Key<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct KeyVisitor;
        impl<'de> Visitor<'de> for KeyVisitor {
            type Value = Key<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a key")
            }
            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
                Ok(Key(text.into()))
            }
            fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
                Ok(Key(text.to_owned().into()))
            }
        }
        deserializer.deserialize_str(KeyVisitor)
    }
}

struct Labels(Vec<(Box<str>, Box<str>)>);

impl<'de> serde::Deserialize<'de> for Labels {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct LabelsVisitor;
        impl<'de> Visitor<'de> for LabelsVisitor {
            type Value = Labels;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("labels")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Labels, A::Error> {
                let mut labels = Vec::new();
                while let Some(label) = map.next_entry()? {
                    labels.push(label);
                }
                Ok(Labels(labels))
            }
        }
        deserializer.deserialize_map(LabelsVisitor)
    }
}

//! What the scan extracts of `metadata`.

use std::{
    borrow::Cow,
    hash::BuildHasher as _,
    sync::{Arc, LazyLock},
};

use hashbrown::DefaultHashBuilder;
use serde::Deserialize;

use super::{
    ScanError,
    cursor::{Cursor, unquoted},
};
use crate::{
    NamespacedName, Scope,
    cache::{
        interner::{HashedText, Interner},
        metadata::{Identity, Labels, Metadata, OwnerRef},
    },
};

/// What was found of one object so far.
#[derive(Debug, Default)]
pub(in crate::cache) struct Found<'a> {
    /// The whole object as it came.
    pub(super) text: &'a str,
    name: Option<Cow<'a, str>>,
    namespace: Option<Cow<'a, str>>,
    uid: Option<Cow<'a, str>>,
    resource_version: Option<Cow<'a, str>>,
    /// As they stand in the JSON.
    annotations: Option<&'a str>,
    generation: Option<i64>,
    is_deleting: bool,
    labels: Option<HashedText<'a>>,
    finalizers: Option<HashedText<'a>>,
    owner_references: Option<HashedText<'a>>,
    /// Which other kind it is than expected.
    stranger: Option<String>,
    /// What makes the object undecodable as whatever type.
    defect: Option<Box<str>>,
    /// The key that identifies the object and has two values.
    ambiguous: Option<&'static str>,
}

/// What objects have in common, kept from one to the next.
#[derive(Debug, Default)]
pub(super) struct Shared {
    /// Namespaces, kinds, values of indexes.
    pub(super) texts: Interner<str>,
    labels: Interner<Labels>,
    finalizers: Interner<[Box<str>]>,
    owner_references: Interner<[OwnerRef]>,
    /// Where names are put together.
    name: String,
}

impl<'a> Found<'a> {
    /// Takes one entry of `metadata`.
    pub(super) fn take(&mut self, key: &str, value: &'a str, shared: &Shared) {
        match key {
            "name" => set(&mut self.name, "name", value, &mut self.ambiguous),
            "namespace" => set(&mut self.namespace, "namespace", value, &mut self.ambiguous),
            "uid" => set(&mut self.uid, "uid", value, &mut self.ambiguous),
            "resourceVersion" => set(
                &mut self.resource_version,
                "resourceVersion",
                value,
                &mut self.ambiguous,
            ),
            "generation" => self.generation = value.parse().ok(),
            "deletionTimestamp" => self.is_deleting = value != "null",
            _ if value == "null" => {}
            "annotations" => self.annotations = Some(value),
            "labels" => self.labels = Some(shared.labels.hash_text(value)),
            "finalizers" => self.finalizers = Some(shared.finalizers.hash_text(value)),
            "ownerReferences" => self.owner_references = Some(shared.owner_references.hash_text(value)),
            _ => {}
        }
    }

    pub(super) fn stands_twice(&mut self, key: &str) {
        self.defect
            .get_or_insert_with(|| format!("the key {key} stands twice").into());
    }

    pub(super) fn is_stranger(&mut self, what: String) {
        self.stranger.get_or_insert(what);
    }

    /// A digest of the owner references, as far as they came.
    pub(super) fn owners(&self) -> Option<u64> {
        self.owner_references.map(HashedText::digest)
    }

    /// A bookmark's version and annotations. Fails where a parser may read something else.
    pub(super) fn bookmark(self) -> Result<(Box<str>, Option<&'a str>), ScanError> {
        if let Some(defect) = self.defect {
            return Err(ScanError(format!("of a bookmark, {defect}")));
        }
        if let Some(key) = self.ambiguous {
            return Err(two_values(key));
        }
        let version = self
            .resource_version
            .ok_or_else(|| ScanError("a bookmark has no resource version".into()))?;
        Ok((version.into(), self.annotations))
    }

    /// The metadata, and what makes the object undecodable. Fails when the object cannot be identified.
    pub(super) fn metadata(
        mut self,
        scope: Scope,
        shared: &mut Shared,
    ) -> Result<(Metadata, Option<Box<str>>), ScanError> {
        if let Some(stranger) = self.stranger {
            return Err(ScanError(stranger));
        }
        if let Some(key) = self.ambiguous {
            return Err(two_values(key));
        }
        let name = present("name", self.name)?;
        let name = match scope {
            Scope::Cluster => NamespacedName::cluster(name),
            Scope::Namespaced => {
                let namespace = present("namespace", self.namespace)?;
                NamespacedName::written(&namespace, &name, &mut shared.name)
            }
        };
        let (uid, version) = (
            self.uid.unwrap_or_default(),
            self.resource_version.unwrap_or_default(),
        );
        let defect = &mut self.defect;
        Ok((
            Metadata {
                name,
                identity: Identity::new(&uid, &version),
                generation: self.generation,
                is_deleting: self.is_deleting,
                from_watch: false,
                annotations: digest(self.annotations.unwrap_or("{}")),
                labels: part(self.labels, &mut shared.labels, labels, defect),
                finalizers: part(self.finalizers, &mut shared.finalizers, finalizers, defect),
                owner_references: part(
                    self.owner_references,
                    &mut shared.owner_references,
                    |text| owner_references(text, &mut shared.texts),
                    defect,
                ),
            },
            self.defect,
        ))
    }
}

fn two_values(key: &str) -> ScanError {
    ScanError(format!("metadata.{key} stands twice, with two values"))
}

/// Equal texts have equal digests, and others hardly ever.
fn digest(text: &str) -> [u8; 6] {
    static HASHER: LazyLock<DefaultHashBuilder> = LazyLock::new(DefaultHashBuilder::default);
    let hash = HASHER.hash_one(text).to_le_bytes();
    std::array::from_fn(|position| hash[position])
}

/// A part of the metadata, read once for all objects that have the same text. What cannot be read is a defect.
fn part<T: ?Sized>(
    asked: Option<HashedText<'_>>,
    recent: &mut Interner<T>,
    read: impl FnOnce(&str) -> Result<Arc<T>, &'static str>,
    defect: &mut Option<Box<str>>,
) -> Option<Arc<T>> {
    let asked = asked.filter(|asked| !["{}", "[]"].contains(&asked.text()))?;
    match recent.get_or_make(asked, read) {
        Ok(read) => Some(read),
        Err(problem) => {
            defect.get_or_insert_with(|| problem.into());
            None
        }
    }
}

fn labels(text: &str) -> Result<Arc<Labels>, &'static str> {
    let read = || {
        let (mut cursor, mut first, mut pairs) = (Cursor::new(text), true, Vec::new());
        while let Some(key) = cursor.entry(&mut first)? {
            pairs.push((key, cursor.string()?));
        }
        cursor.end()?;
        Ok::<_, ScanError>(pairs)
    };
    let pairs = read().map_err(|_| "metadata.labels is no map of texts")?;
    Ok(Arc::new(Labels::new(&pairs)))
}

fn finalizers(text: &str) -> Result<Arc<[Box<str>]>, &'static str> {
    let finalizers: Vec<Box<str>> =
        serde_json::from_str(text).map_err(|_| "metadata.finalizers is no list of texts")?;
    Ok(finalizers.into())
}

fn owner_references(text: &str, texts: &mut Interner<str>) -> Result<Arc<[OwnerRef]>, &'static str> {
    let references: Vec<Reference<'_>> =
        serde_json::from_str(text).map_err(|_| "metadata.ownerReferences is no list of references")?;
    let shared = references.into_iter().map(|reference| OwnerRef {
        api_version: texts.intern(&reference.api_version),
        kind: texts.intern(&reference.kind),
        name: reference.name.into(),
        uid: reference.uid.into(),
        controller: reference.controller == Some(true),
    });
    Ok(shared.collect())
}

fn set<'a>(
    place: &mut Option<Cow<'a, str>>,
    key: &'static str,
    value: &'a str,
    ambiguous: &mut Option<&'static str>,
) {
    let value = unquoted(value);
    if place.is_some() && *place != value {
        *ambiguous = Some(key);
    }
    *place = value;
}

fn present<'a>(key: &str, value: Option<Cow<'a, str>>) -> Result<Cow<'a, str>, ScanError> {
    let value = value.filter(|value| !value.is_empty());
    value.ok_or_else(|| ScanError(format!("metadata.{key} is missing or no text")))
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Reference<'a> {
    #[serde(borrow)]
    api_version: Cow<'a, str>,
    #[serde(borrow)]
    kind: Cow<'a, str>,
    #[serde(borrow)]
    name: Cow<'a, str>,
    #[serde(borrow)]
    uid: Cow<'a, str>,
    controller: Option<bool>,
}

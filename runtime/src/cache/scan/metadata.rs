//! Extracts the metadata of an object while it is scanned.

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
        metadata::{Identity, Metadata, OwnerRef, PackedLabels},
    },
};

/// The values of `metadata` that were found so far, as they are in the JSON.
#[derive(Debug, Default)]
pub(in crate::cache) struct RawMetadata<'a> {
    /// The whole object as it came.
    pub(super) text: &'a str,
    name: Option<Cow<'a, str>>,
    namespace: Option<Cow<'a, str>>,
    uid: Option<Cow<'a, str>>,
    resource_version: Option<Cow<'a, str>>,
    /// The JSON of the map.
    annotations: Option<&'a str>,
    generation: Option<i64>,
    is_deleting: bool,
    labels: Option<HashedText<'a>>,
    finalizers: Option<HashedText<'a>>,
    owner_references: Option<HashedText<'a>>,
    /// Which other type it is than the requested one.
    other_type: Option<String>,
    /// Why the object does not decode as any type.
    defect: Option<Box<str>>,
    /// An identifying key that has two values.
    ambiguous_key: Option<&'static str>,
}

/// Shares equal values among objects.
#[derive(Debug, Default)]
pub(super) struct Interners {
    /// Namespaces, kinds, index values.
    pub(super) texts: Interner<str>,
    labels: Interner<PackedLabels>,
    finalizers: Interner<[Box<str>]>,
    owner_references: Interner<[OwnerRef]>,
    /// A buffer for names.
    name: String,
}

impl<'a> RawMetadata<'a> {
    /// Sets one entry of `metadata`.
    pub(super) fn set(&mut self, key: &str, value: &'a str, interners: &Interners) {
        match key {
            "name" => set_once(&mut self.name, "name", value, &mut self.ambiguous_key),
            "namespace" => set_once(&mut self.namespace, "namespace", value, &mut self.ambiguous_key),
            "uid" => set_once(&mut self.uid, "uid", value, &mut self.ambiguous_key),
            "resourceVersion" => set_once(
                &mut self.resource_version,
                "resourceVersion",
                value,
                &mut self.ambiguous_key,
            ),
            "generation" => self.generation = value.parse().ok(),
            "deletionTimestamp" => self.is_deleting = value != "null",
            _ if value == "null" => {}
            "annotations" => self.annotations = Some(value),
            "labels" => self.labels = Some(interners.labels.hash_text(value)),
            "finalizers" => self.finalizers = Some(interners.finalizers.hash_text(value)),
            "ownerReferences" => self.owner_references = Some(interners.owner_references.hash_text(value)),
            _ => {}
        }
    }

    pub(super) fn set_duplicate_key(&mut self, key: &str) {
        self.defect
            .get_or_insert_with(|| format!("the key {key} stands twice").into());
    }

    pub(super) fn set_other_type(&mut self, problem: String) {
        self.other_type.get_or_insert(problem);
    }

    /// A digest of the owner references, if they were read.
    pub(super) fn owners(&self) -> Option<u64> {
        self.owner_references.map(HashedText::digest)
    }

    /// The resource version and the annotations of a bookmark. Fails where a JSON parser may read something else.
    pub(super) fn into_bookmark(self) -> Result<(Box<str>, Option<&'a str>), ScanError> {
        if let Some(defect) = self.defect {
            return Err(ScanError(format!("of a bookmark, {defect}")));
        }
        if let Some(key) = self.ambiguous_key {
            return Err(two_values(key));
        }
        let version = self
            .resource_version
            .ok_or_else(|| ScanError("a bookmark has no resource version".into()))?;
        Ok((version.into(), self.annotations))
    }

    /// The metadata, and why the object does not decode, if so. Fails if the object cannot be identified.
    pub(super) fn into_metadata(
        mut self,
        scope: Scope,
        interners: &mut Interners,
    ) -> Result<(Metadata, Option<Box<str>>), ScanError> {
        if let Some(problem) = self.other_type {
            return Err(ScanError(problem));
        }
        if let Some(key) = self.ambiguous_key {
            return Err(two_values(key));
        }
        let name = required("name", self.name)?;
        let name = match scope {
            Scope::Cluster => NamespacedName::cluster(name),
            Scope::Namespaced => {
                let namespace = required("namespace", self.namespace)?;
                NamespacedName::written(&namespace, &name, &mut interners.name)
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
                labels: intern(self.labels, &mut interners.labels, labels, defect),
                finalizers: intern(self.finalizers, &mut interners.finalizers, finalizers, defect),
                owner_references: intern(
                    self.owner_references,
                    &mut interners.owner_references,
                    |text| owner_references(text, &mut interners.texts),
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

/// A digest: equal for equal texts, different for almost all others.
fn digest(text: &str) -> [u8; 6] {
    static HASHER: LazyLock<DefaultHashBuilder> = LazyLock::new(DefaultHashBuilder::default);
    let hash = HASHER.hash_one(text).to_le_bytes();
    std::array::from_fn(|position| hash[position])
}

/// A part of the metadata, parsed once for all objects with the same text. Text that does not parse is a defect.
fn intern<T: ?Sized>(
    asked: Option<HashedText<'_>>,
    interner: &mut Interner<T>,
    parse: impl FnOnce(&str) -> Result<Arc<T>, &'static str>,
    defect: &mut Option<Box<str>>,
) -> Option<Arc<T>> {
    let asked = asked.filter(|asked| !["{}", "[]"].contains(&asked.text()))?;
    match interner.get_or_make(asked, parse) {
        Ok(parsed) => Some(parsed),
        Err(problem) => {
            defect.get_or_insert_with(|| problem.into());
            None
        }
    }
}

fn labels(text: &str) -> Result<Arc<PackedLabels>, &'static str> {
    let read = || {
        let (mut cursor, mut first, mut pairs) = (Cursor::new(text), true, Vec::new());
        while let Some(key) = cursor.entry(&mut first)? {
            pairs.push((key, cursor.string()?));
        }
        cursor.end()?;
        Ok::<_, ScanError>(pairs)
    };
    let pairs = read().map_err(|_| "metadata.labels is no map of texts")?;
    Ok(Arc::new(PackedLabels::new(&pairs)))
}

fn finalizers(text: &str) -> Result<Arc<[Box<str>]>, &'static str> {
    let finalizers: Vec<Box<str>> =
        serde_json::from_str(text).map_err(|_| "metadata.finalizers is no list of texts")?;
    Ok(finalizers.into())
}

fn owner_references(text: &str, texts: &mut Interner<str>) -> Result<Arc<[OwnerRef]>, &'static str> {
    let references: Vec<RawOwnerReference<'_>> =
        serde_json::from_str(text).map_err(|_| "metadata.ownerReferences is no list of references")?;
    let shared = references.into_iter().map(|reference| OwnerRef {
        api_version: texts.intern(&reference.api_version),
        kind: texts.intern(&reference.kind),
        name: reference.name.into(),
        uid: reference.uid.into(),
        controller: reference.controller == Some(true),
        block_owner_deletion: reference.block_owner_deletion == Some(true),
    });
    Ok(shared.collect())
}

/// Sets an identifying value; a second, different value is ambiguous.
fn set_once<'a>(
    place: &mut Option<Cow<'a, str>>,
    key: &'static str,
    value: &'a str,
    ambiguous_key: &mut Option<&'static str>,
) {
    let value = unquoted(value);
    if place.is_some() && *place != value {
        *ambiguous_key = Some(key);
    }
    *place = value;
}

fn required<'a>(key: &str, value: Option<Cow<'a, str>>) -> Result<Cow<'a, str>, ScanError> {
    let value = value.filter(|value| !value.is_empty());
    value.ok_or_else(|| ScanError(format!("metadata.{key} is missing or no text")))
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawOwnerReference<'a> {
    #[serde(borrow)]
    api_version: Cow<'a, str>,
    #[serde(borrow)]
    kind: Cow<'a, str>,
    #[serde(borrow)]
    name: Cow<'a, str>,
    #[serde(borrow)]
    uid: Cow<'a, str>,
    controller: Option<bool>,
    block_owner_deletion: Option<bool>,
}

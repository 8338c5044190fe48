//! What the scan extracts of `metadata`.

use std::{borrow::Cow, collections::BTreeMap};

use serde::Deserialize;

use super::{ScanError, cursor::unquoted};
use crate::{
    ObjectName, Scope,
    cache::object::{Metadata, OwnerRef},
};

/// What was found of one object so far.
#[derive(Debug, Default)]
pub(in crate::cache) struct Found<'a> {
    name: Option<Cow<'a, str>>,
    namespace: Option<Cow<'a, str>>,
    uid: Option<Cow<'a, str>>,
    pub(super) resource_version: Option<Cow<'a, str>>,
    generation: Option<i64>,
    is_deleting: bool,
    labels: Labels,
    finalizers: Vec<Box<str>>,
    owner_references: Vec<OwnerRef>,
    /// Which other kind it is than expected.
    stranger: Option<String>,
    /// What makes the object undecodable as whatever type.
    pub(super) defect: Option<Box<str>>,
    /// The key that identifies the object and has two values.
    ambiguous: Option<&'static str>,
}

impl<'a> Found<'a> {
    /// Takes one entry of `metadata`.
    pub(super) fn take(&mut self, key: &str, value: &'a str) {
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
            "labels" => self.labels = self.parse(value, "metadata.labels is no map of texts"),
            "finalizers" => self.finalizers = self.parse(value, "metadata.finalizers is no list of texts"),
            "ownerReferences" => {
                let references: Vec<Reference<'_>> =
                    self.parse(value, "metadata.ownerReferences is no list of references");
                self.owner_references = references.into_iter().map(OwnerRef::from).collect();
            }
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

    /// Fails when the object cannot be identified.
    pub(super) fn metadata(self, scope: Scope) -> Result<Metadata, ScanError> {
        if let Some(stranger) = self.stranger {
            return Err(ScanError(stranger));
        }
        if let Some(key) = self.ambiguous {
            return Err(ScanError(format!("metadata.{key} stands twice, with two values")));
        }
        let name = present("name", self.name)?;
        let name = match scope {
            Scope::Cluster => ObjectName::cluster(name),
            Scope::Namespaced => ObjectName::namespaced(present("namespace", self.namespace)?, name),
        };
        let text = |text: Option<Cow<'_, str>>| text.unwrap_or_default().into();
        Ok(Metadata {
            name,
            uid: text(self.uid),
            resource_version: text(self.resource_version),
            generation: self.generation,
            is_deleting: self.is_deleting,
            labels: self.labels.into_iter().collect(),
            finalizers: self.finalizers.into_boxed_slice(),
            owner_references: self.owner_references.into_boxed_slice(),
        })
    }

    fn parse<T: Deserialize<'a> + Default>(&mut self, value: &'a str, defect: &str) -> T {
        serde_json::from_str(value).unwrap_or_else(|_| {
            self.defect.get_or_insert_with(|| defect.into());
            T::default()
        })
    }
}

type Labels = BTreeMap<Box<str>, Box<str>>;

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

impl From<Reference<'_>> for OwnerRef {
    fn from(reference: Reference<'_>) -> Self {
        Self {
            api_version: reference.api_version.into(),
            kind: reference.kind.into(),
            name: reference.name.into(),
            uid: reference.uid.into(),
            controller: reference.controller == Some(true),
        }
    }
}

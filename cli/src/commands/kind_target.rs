//! The kind that webhooks or a controller are added to: one of the project, or one of Kubernetes.

use std::{collections::BTreeSet, path::Path, sync::Arc};

use kube::core::Version;
use kubewright_apiserver::kinds::{Catalog, Kind};
use serde_json::Value;

use super::built_in_examples;
use crate::{
    error::KindError,
    imports,
    names::{KindReference, snake_case},
    plan::{IoError, slashed},
    project::Project,
    samples,
    similar::is_similar,
    source::{self, DefinedKind, ProjectKind, SourceFile},
};

/// A kind that exists.
pub(super) struct KindTarget {
    pub(super) kind: String,
    api_version: String,
    /// The path of its type within the crate.
    pub(super) path: String,
    pub(super) namespaced: bool,
    /// Whether its spec has the fields of the scaffold.
    pub(super) is_scaffold: bool,
    /// The kind of the project; none for a kind of Kubernetes.
    own: Option<DefinedKind>,
    /// The built-in kind; none for a kind of the project.
    built_in: Option<Arc<Kind>>,
}

impl KindTarget {
    /// Finds the kind; one of the project comes before one of Kubernetes.
    pub(super) fn find(reference: &KindReference, sources: &[SourceFile]) -> Result<Self, KindError> {
        let kinds = source::project_kinds(sources);
        let (own, others): (Vec<_>, Vec<_>) = kinds
            .iter()
            .filter(|found| found.kind.kind == reference.kind)
            .partition(|found| reference.matches(&found.kind.group, &found.kind.version));
        if !own.is_empty() {
            return own_kind(reference, &own);
        }
        let catalog = Catalog::built_in().unwrap_or_default();
        let Some(kind) = built_in_kind(reference, &catalog) else {
            return Err(unknown(reference, &kinds, &catalog));
        };
        if let Some(other) = others.first() {
            return Err(KindError::NameClash {
                name: kind.kind.clone(),
                reason: format!("the project has a kind {} in {}", kind.kind, slashed(&other.path)),
            });
        }
        Ok(Self {
            kind: kind.kind.clone(),
            api_version: kind.api_version(),
            path: built_in_path(kind),
            namespaced: kind.namespaced,
            is_scaffold: false,
            own: None,
            built_in: Some(kind.clone()),
        })
    }

    /// Returns the kind in snake case: its module.
    pub(super) fn module(&self) -> String {
        snake_case(&self.kind)
    }

    /// Whether the kind is one of the project.
    pub(super) fn is_own(&self) -> bool {
        self.built_in.is_none()
    }

    /// Whether the informer factory knows the kind's definition.
    pub(super) fn has_informer(&self) -> bool {
        self.own.as_ref().is_some_and(|kind| kind.has_informer)
    }

    /// Refuses a kind of the project that is named as one of the types that its new file imports from `module`.
    pub(super) fn check_name(&self, imported: &[&str], module: &str) -> Result<(), KindError> {
        if self.is_own() && imported.contains(&&*self.kind) {
            return Err(KindError::NameClash {
                name: self.kind.clone(),
                reason: format!("{module} has it, too"),
            });
        }
        Ok(())
    }

    /// Refuses a kind for which the runtime or the API server refuses webhooks.
    pub(super) fn check_reviewed(&self) -> Result<(), KindError> {
        let reason = match self.built_in.as_deref().map(|kind| (&*kind.group, &*kind.kind)) {
            Some(("coordination.k8s.io", "Lease")) => {
                "the operators' own leader election would depend on them"
            }
            Some(("admissionregistration.k8s.io", _)) => {
                "the API server calls no webhooks for its configuration"
            }
            _ => return Ok(()),
        };
        let kind = self.kind.clone();
        Err(KindError::NotReviewed { kind, reason })
    }

    /// Returns an object for tests, and whether an API server accepts it; none if a kind of the project has no sample.
    pub(super) fn example(&self, project: &Project) -> Result<Option<(Value, bool)>, IoError> {
        if let Some(kind) = &self.built_in {
            let example = built_in_examples::example(kind);
            let accepted = example.is_some();
            return Ok(Some((
                example.unwrap_or_else(|| built_in_examples::named(kind)),
                accepted,
            )));
        }
        let documents = samples::read(&project.root)?
            .into_iter()
            .flat_map(|file| file.documents.unwrap_or_default());
        let is_of_kind =
            |object: &Value| object["apiVersion"] == self.api_version && object["kind"] == self.kind;
        let mut objects = documents.map(|document| document.value);
        let sample = objects.find(is_of_kind).map(|object| (object, true));
        match (sample, &self.own) {
            (None, Some(kind)) if !kind.is_own => {
                let example = imports::example(&project.root, kind)?;
                Ok(example.map(|object| (object, false)))
            }
            (sample, _) => Ok(sample),
        }
    }
}

fn own_kind(reference: &KindReference, found: &[&ProjectKind]) -> Result<KindTarget, KindError> {
    let groups: BTreeSet<&str> = found.iter().map(|found| &*found.kind.group).collect();
    if groups.len() > 1 {
        let names = groups.iter().map(|group| format!("{}.{group}", reference.kind));
        return Err(KindError::Ambiguous(names.collect()));
    }
    let name = &reference.kind;
    // The version that controllers use is the newest.
    let newest = found
        .iter()
        .max_by_key(|found| Version::parse(&found.kind.version).priority());
    let Some(ProjectKind { path, kind }) = newest else {
        return Err(KindError::Ambiguous(Vec::new()));
    };
    let mut module = module_of(path);
    // `api::foo` exports the version that controllers use.
    if reference.version.is_none()
        && let [.., folder, _] = &*module
        && *folder == snake_case(name)
    {
        module.pop();
    }
    module.insert(0, "crate".to_owned());
    module.push(name.clone());
    Ok(KindTarget {
        kind: name.clone(),
        api_version: format!("{}/{}", kind.group, kind.version),
        path: module.join("::"),
        namespaced: kind.namespaced,
        is_scaffold: kind.fields.iter().any(|field| field == "deployment_name"),
        own: Some(kind.clone()),
        built_in: None,
    })
}

/// Returns the module of a source file, as in `api`, `foo`.
fn module_of(path: &Path) -> Vec<String> {
    let path = path.strip_prefix("src").unwrap_or(path).with_extension("");
    let names = path.iter().map(|name| name.to_string_lossy().into_owned());
    let mut names: Vec<_> = names.collect();
    if names
        .last()
        .is_some_and(|last| ["mod", "lib", "main"].contains(&&**last))
    {
        names.pop();
    }
    names
}

/// Returns the built-in kind in its preferred version; the core group comes before others.
fn built_in_kind<'a>(reference: &KindReference, catalog: &'a Catalog) -> Option<&'a Arc<Kind>> {
    let found = changeable(catalog).filter(|kind| kind.kind == reference.kind);
    let mut found = found.filter(|kind| reference.matches(&kind.group, &kind.version));
    found.next()
}

/// Returns the built-in kinds that are stored and can be changed.
fn changeable(catalog: &Catalog) -> impl Iterator<Item = &Arc<Kind>> {
    let is_changeable = |kind: &&Arc<Kind>| kind.verbs.iter().any(|verb| verb == "update");
    catalog.iter().filter(is_changeable)
}

/// Returns the path of a built-in kind's type.
fn built_in_path(kind: &Kind) -> String {
    let module = match &*kind.group {
        "" => "api::core",
        "apiextensions.k8s.io" => "apiextensions_apiserver::pkg::apis::apiextensions",
        "apiregistration.k8s.io" => "kube_aggregator::pkg::apis::apiregistration",
        group => &format!("api::{}", group.split('.').next().unwrap_or_default()),
    };
    format!("k8s_openapi::{module}::{}::{}", kind.version, kind.kind)
}

fn unknown(reference: &KindReference, own: &[ProjectKind], catalog: &Catalog) -> KindError {
    let own = own.iter().map(|found| &found.kind);
    let own = own.map(|kind| (&*kind.kind, &*kind.group, &*kind.version));
    let built_in = changeable(catalog).map(|kind| (&*kind.kind, &*kind.group, &*kind.version));
    let similar = own
        .chain(built_in)
        .filter(|(kind, ..)| is_similar(kind, &reference.kind));
    let names: BTreeSet<String> = similar
        .map(|(kind, group, version)| match group {
            // The kind exists, in another group or version.
            "" if kind == reference.kind => format!("{kind}/{version}"),
            group if kind == reference.kind => format!("{kind}.{group}/{version}"),
            _ => kind.to_owned(),
        })
        .collect();
    KindError::UnknownKind {
        kind: reference.to_string(),
        similar: names.into_iter().collect(),
    }
}

#[cfg(test)]
#[path = "kind_target_tests.rs"]
mod tests;

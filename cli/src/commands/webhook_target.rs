//! The kind that webhooks are added to: one of the project, or one of Kubernetes.

use std::{collections::BTreeSet, path::Path, sync::Arc};

use kube::core::Version;
use kubewright_apiserver::kinds::{Catalog, Kind};
use serde_json::Value;

use super::built_in_examples;
use crate::{
    error::WebhookError,
    names::{KindReference, snake_case},
    plan::{IoError, slashed},
    project::Project,
    samples,
    similar::is_similar,
    source::{self, ProjectKind, SourceFile},
};

/// Types that the files of a webhook use.
const TYPES: &[&str] = &[
    "AdmissionError",
    "AdmissionRequest",
    "CustomKind",
    "Defaulter",
    "Operation",
    "Validation",
    "Validator",
];

/// The kind of a webhook.
pub(super) struct WebhookTarget {
    pub(super) kind: String,
    api_version: String,
    /// The path of its type within the crate.
    pub(super) path: String,
    /// Whether its spec has the fields of the scaffold.
    pub(super) is_scaffold: bool,
    /// The built-in kind; none for a kind of the project.
    built_in: Option<Arc<Kind>>,
}

impl WebhookTarget {
    /// Finds the kind; one of the project comes before one of Kubernetes.
    pub(super) fn find(reference: &KindReference, sources: &[SourceFile]) -> Result<Self, WebhookError> {
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
            return Err(WebhookError::NameClash {
                name: format!("{}Webhook", kind.kind),
                reason: format!("the project has a kind {} in {}", kind.kind, slashed(&other.path)),
            });
        }
        if let Some(reason) = not_reviewed(kind) {
            let kind = kind.kind.clone();
            return Err(WebhookError::NotReviewed { kind, reason });
        }
        Ok(Self {
            kind: kind.kind.clone(),
            api_version: kind.api_version(),
            path: built_in_path(kind),
            is_scaffold: false,
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
        Ok(objects.find(is_of_kind).map(|object| (object, true)))
    }
}

fn own_kind(reference: &KindReference, found: &[&ProjectKind]) -> Result<WebhookTarget, WebhookError> {
    let groups: BTreeSet<&str> = found.iter().map(|found| &*found.kind.group).collect();
    if groups.len() > 1 {
        let names = groups.iter().map(|group| format!("{}.{group}", reference.kind));
        return Err(WebhookError::Ambiguous(names.collect()));
    }
    let name = &reference.kind;
    if TYPES.contains(&&**name) {
        return Err(WebhookError::NameClash {
            name: name.clone(),
            reason: "kubewright::webhooks has it, too".to_owned(),
        });
    }
    // The version that controllers use is the newest.
    let newest = found
        .iter()
        .max_by_key(|found| Version::parse(&found.kind.version).priority());
    let Some(ProjectKind { path, kind }) = newest else {
        return Err(WebhookError::Ambiguous(Vec::new()));
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
    Ok(WebhookTarget {
        kind: name.clone(),
        api_version: format!("{}/{}", kind.group, kind.version),
        path: module.join("::"),
        is_scaffold: kind.fields.iter().any(|field| field == "deployment_name"),
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
    let found = reviewable(catalog).filter(|kind| kind.kind == reference.kind);
    let mut found = found.filter(|kind| reference.matches(&kind.group, &kind.version));
    found.next()
}

/// Returns the built-in kinds that are stored and can be changed.
fn reviewable(catalog: &Catalog) -> impl Iterator<Item = &Arc<Kind>> {
    let is_changeable = |kind: &&Arc<Kind>| kind.verbs.iter().any(|verb| verb == "update");
    catalog.iter().filter(is_changeable)
}

fn not_reviewed(kind: &Kind) -> Option<&'static str> {
    match (&*kind.group, &*kind.kind) {
        ("coordination.k8s.io", "Lease") => Some("the operators' own leader election would depend on them"),
        ("admissionregistration.k8s.io", _) => Some("the API server calls no webhooks for its configuration"),
        _ => None,
    }
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

fn unknown(reference: &KindReference, own: &[ProjectKind], catalog: &Catalog) -> WebhookError {
    let own = own.iter().map(|found| &found.kind);
    let own = own.map(|kind| (&*kind.kind, &*kind.group, &*kind.version));
    let built_in = reviewable(catalog).map(|kind| (&*kind.kind, &*kind.group, &*kind.version));
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
    WebhookError::UnknownKind {
        kind: reference.to_string(),
        similar: names.into_iter().collect(),
    }
}

#[cfg(test)]
#[path = "webhook_target_tests.rs"]
mod tests;

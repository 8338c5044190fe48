//! Generates the CustomResourceDefinitions: checks them, and merges the versions of a kind.

use std::{cell::Cell, cmp::Reverse, collections::BTreeMap, panic, sync::Once};

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::core::{Version, crd::merge_crds};
use serde::Serialize;

use super::{ManifestError, schema};
use crate::{Scope, cache::RegisteredKind, controller::Setup, panics::caught};

/// One custom kind of the document, with all its versions.
#[derive(Debug, Serialize)]
pub(in crate::manager) struct CustomDefinition {
    group: String,
    /// The stored version.
    version: String,
    /// All versions, the newest first.
    versions: Vec<String>,
    kind: String,
    plural: String,
    namespaced: bool,
    /// Whether the definition is owned elsewhere; `crd` is none then.
    external: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) crd: Option<CustomResourceDefinition>,
}

/// Why a CustomResourceDefinition cannot be generated.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DefinitionError {
    /// The schema is not structural.
    #[error(
        "kind {kind} ({api_version}) has a schema that Kubernetes does not accept: {reason}; change the type that it names"
    )]
    Schema {
        /// The kind.
        kind: String,
        /// Group and version.
        api_version: String,
        /// kube's message.
        reason: String,
    },
    /// The versions of a kind cannot be merged.
    #[error(
        "merging the versions {versions} of {kind} failed: {reason}; give all of them the same `#[kube({attribute} = …)]`"
    )]
    Versions {
        /// Kind and group.
        kind: String,
        /// The versions.
        versions: String,
        /// The difference.
        reason: String,
        /// The attribute to change.
        attribute: &'static str,
    },
}

/// A registered kind and its definition.
struct KindDefinition {
    registered: RegisteredKind,
    crd: CustomResourceDefinition,
}

/// Returns all custom kinds with an informer or registered without one, sorted by group and kind.
pub(super) fn all(
    setup: &Setup,
    warnings: &mut Vec<String>,
    errors: &mut Vec<ManifestError>,
) -> Vec<CustomDefinition> {
    let mut groups: BTreeMap<(String, String), Vec<KindDefinition>> = BTreeMap::new();
    for registered in registered(setup) {
        match define(&registered) {
            Ok(crd) => {
                errors.extend(schema::check(&registered, &crd).into_iter().map(Into::into));
                let name = (
                    registered.info.group.to_string(),
                    registered.info.kind.to_string(),
                );
                groups
                    .entry(name)
                    .or_default()
                    .push(KindDefinition { registered, crd });
            }
            Err(error) => errors.push(error.into()),
        }
    }
    let mut definitions = Vec::new();
    for versions in groups.into_values() {
        match merge(versions, warnings) {
            Ok(definition) => definitions.push(definition),
            Err(error) => errors.push(error.into()),
        }
    }
    definitions
}

/// Returns the kinds with informers and those registered without one, each version once.
fn registered(setup: &Setup) -> Vec<RegisteredKind> {
    let mut kinds = setup.informers().custom_kinds();
    for kind in setup.kinds() {
        if kinds.iter().all(|known| known.info != kind.info) {
            kinds.push(RegisteredKind {
                info: kind.info,
                definition: kind.definition,
                external: kind.external,
                indexes: kind.indexes,
            });
        }
    }
    kinds
}

/// Generates the definition of a kind. `definition` panics where kube's `crd()` does.
fn define(registered: &RegisteredKind) -> Result<CustomResourceDefinition, DefinitionError> {
    let info = &registered.info;
    catch_silently(registered.definition).map_err(|reason| DefinitionError::Schema {
        kind: info.kind.to_string(),
        api_version: info.api_version(),
        reason,
    })
}

/// Merges the definitions of the versions. The newest version with `storage` becomes the stored one.
fn merge(
    mut versions: Vec<KindDefinition>,
    warnings: &mut Vec<String>,
) -> Result<CustomDefinition, DefinitionError> {
    versions
        .sort_by_cached_key(|defined| Reverse(Version::parse(&defined.registered.info.version).priority()));
    let names: Vec<String> = versions
        .iter()
        .map(|defined| defined.registered.info.version.to_string())
        .collect();
    let info = versions[0].registered.info.clone();
    let external = versions.iter().all(|defined| defined.registered.external);
    let mismatch = |reason: String, attribute| DefinitionError::Versions {
        kind: format!("{} ({})", info.kind, info.group),
        versions: names.join(", "),
        reason,
        attribute,
    };
    if let Some(other) = versions
        .iter()
        .find(|defined| defined.registered.info.plural != info.plural)
    {
        let reason = format!(
            "their plurals are {:?} and {:?}",
            info.plural, other.registered.info.plural
        );
        return Err(mismatch(reason, "plural"));
    }
    let stored: Vec<String> = versions
        .iter()
        .filter(|defined| defined.crd.spec.versions.iter().any(|version| version.storage))
        .map(|defined| defined.registered.info.version.to_string())
        .collect();
    let Some(version) = stored.first().cloned() else {
        return Err(mismatch("no version is stored".to_owned(), "storage"));
    };
    if stored.len() > 1 && !external {
        warnings.push(format!(
            "{} of {} ({}) are all marked as stored, {version} is used; write `#[kube(storage = false)]` on the others",
            stored.join(", "),
            info.kind,
            info.group
        ));
    }
    let crds: Vec<_> = versions.into_iter().map(|defined| defined.crd).collect();
    let crd = if external {
        None
    } else {
        Some(merge_crds(crds, &version).map_err(|error| mismatch(error.to_string(), "namespaced"))?)
    };
    Ok(CustomDefinition {
        group: info.group.to_string(),
        version,
        versions: names,
        kind: info.kind.to_string(),
        plural: info.plural.to_string(),
        namespaced: info.scope == Scope::Namespaced,
        external,
        crd,
    })
}

/// Runs `call` and returns the message of a panic, which is not printed.
fn catch_silently<T>(call: impl FnOnce() -> T) -> Result<T, String> {
    thread_local! {
        static SILENT: Cell<bool> = const { Cell::new(false) };
    }
    // The panic hook is global, so it stays installed, and is silent only on threads that set the flag.
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let default_hook = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if !SILENT.get() {
                default_hook(info);
            }
        }));
    });
    SILENT.set(true);
    let result = caught(call);
    SILENT.set(false);
    result
}

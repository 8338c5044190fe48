//! The CustomResourceDefinitions: made, checked, versions of one kind merged.

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
    /// Whether somebody else owns the definition; it is left out then.
    external: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) crd: Option<CustomResourceDefinition>,
}

/// Why a definition cannot be made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DefinitionError {
    /// kube refuses the schema.
    #[error(
        "kind {kind} ({api_version}) has a schema that Kubernetes could not take: {reason}; change the type that it names"
    )]
    Schema {
        /// The kind.
        kind: String,
        /// Group and version.
        api_version: String,
        /// What kube says.
        reason: String,
    },
    /// The versions do not fit together.
    #[error(
        "the versions {versions} of {kind} do not make one definition: {reason}; give all of them the same `#[kube({attribute} = …)]`"
    )]
    Versions {
        /// Kind and group.
        kind: String,
        /// The versions.
        versions: String,
        /// What differs.
        reason: String,
        /// The attribute to change.
        attribute: &'static str,
    },
}

/// A kind with its definition.
struct Defined {
    registered: RegisteredKind,
    crd: CustomResourceDefinition,
}

/// All custom kinds that were registered, or that informers were made of, sorted by group and kind.
pub(super) fn all(
    setup: &Setup,
    warnings: &mut Vec<String>,
    errors: &mut Vec<ManifestError>,
) -> Vec<CustomDefinition> {
    let mut groups: BTreeMap<(String, String), Vec<Defined>> = BTreeMap::new();
    for registered in registered(setup) {
        match define(&registered) {
            Ok(crd) => {
                errors.extend(schema::check(&registered, &crd).into_iter().map(Into::into));
                let name = (
                    registered.info.group.to_string(),
                    registered.info.kind.to_string(),
                );
                groups.entry(name).or_default().push(Defined { registered, crd });
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

/// The kinds of informers and those that were registered without one, each version once.
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

/// Calls the kind's `definition`, which panics where kube's `crd()` does.
fn define(registered: &RegisteredKind) -> Result<CustomResourceDefinition, DefinitionError> {
    let info = &registered.info;
    quietly(registered.definition).map_err(|reason| DefinitionError::Schema {
        kind: info.kind.to_string(),
        api_version: info.api_version(),
        reason,
    })
}

/// One definition out of one for each version. The newest version that says `storage` is stored.
fn merge(
    mut versions: Vec<Defined>,
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
        return Err(mismatch("none of them is stored".to_owned(), "storage"));
    };
    if stored.len() > 1 && !external {
        warnings.push(format!(
            "{} of {} ({}) all say that they are stored, {version} is; write `#[kube(storage = false)]` on the others",
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

/// Runs `call`; a panic becomes its message and is not printed.
fn quietly<T>(call: impl FnOnce() -> T) -> Result<T, String> {
    thread_local! {
        static QUIET: Cell<bool> = const { Cell::new(false) };
    }
    // The hook is the process's, so it stays and asks which thread panics: panics of others are printed as ever.
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let loud = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if !QUIET.get() {
                loud(info);
            }
        }));
    });
    QUIET.set(true);
    let result = caught(call);
    QUIET.set(false);
    result
}

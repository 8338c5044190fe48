//! Generates the CustomResourceDefinitions: checks them, and merges the versions of a kind.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet},
};

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceConversion, CustomResourceDefinition, ServiceReference, WebhookClientConfig,
    WebhookConversion,
};
use kube::core::{Version, crd::merge_crds};
use serde::Serialize;
use serde_json::Value;

use super::{ManifestError, schema};
use crate::{
    Scope,
    cache::RegisteredKind,
    controller::Setup,
    conversion::{self, FieldRule, RegisteredVersions},
    panics::caught_silently,
    webhooks::configurations::{SERVICE_PORT, default_namespace, service_name},
};

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
    /// The Rust types of the schema's objects, by version and path.
    #[serde(rename = "rustTypes", skip_serializing_if = "BTreeMap::is_empty")]
    rust_types: BTreeMap<String, BTreeMap<String, String>>,
    /// How the versions are converted, if they are registered with `setup.versions`.
    #[serde(skip_serializing_if = "Option::is_none")]
    conversion: Option<VersionConversion>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) crd: Option<CustomResourceDefinition>,
}

/// The conversion between the versions of a kind.
#[derive(Debug, Serialize)]
struct VersionConversion {
    /// The version that controllers use.
    hub: String,
    /// The rules of each other version: fields without a rule are copied.
    rules: BTreeMap<String, Vec<FieldRule>>,
}

impl VersionConversion {
    fn of(registered: &RegisteredVersions) -> Option<Self> {
        let hub = registered.converter.versions().next()?.to_owned();
        let rules = registered.converter.rules();
        let rules = rules.map(|(version, rules)| (version.to_owned(), rules.to_vec()));
        Some(Self {
            hub,
            rules: rules.collect(),
        })
    }
}

// ANCHOR: definition
/// Why a CustomResourceDefinition cannot be generated.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DefinitionError {
    /// The schema is not structural.
    #[error("kind {kind} ({api_version}) has a schema that Kubernetes does not accept: {reason}")]
    Schema {
        /// The kind.
        kind: String,
        /// Group and version.
        api_version: String,
        /// The field, the reason and the fix.
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
    /// Two Rust types are the same version of a kind, with different definitions.
    #[error(
        "{first} and {second} both define {kind} ({api_version}), with different definitions: change `kind`, `group` or `version` of one, \
         or remove it"
    )]
    SameVersion {
        /// The kind.
        kind: String,
        /// Group and version.
        api_version: String,
        /// A Rust type.
        first: &'static str,
        /// The other.
        second: &'static str,
    },
    /// Several versions are marked as stored.
    #[error(
        "the versions {versions} of {kind} are all marked as stored, and one can be: write `#[kube(storage = false)]` on the others"
    )]
    Stored {
        /// Kind and group.
        kind: String,
        /// The versions.
        versions: String,
    },
    /// A version that is not among those which are converted.
    #[error(
        "version {version} of {kind} is registered and not converted: add `.other` with its type to `setup.versions`, or remove it"
    )]
    NotConverted {
        /// Kind and group.
        kind: String,
        /// The version.
        version: String,
    },
    /// The schemas of two versions differ, and nothing converts between them.
    #[error(
        "the versions {first} and {second} of {kind} have different schemas at `{path}`, and nothing converts between them: the API server \
         would delete from stored objects what the other version lacks; register them with `setup.versions`, or give both the same schema"
    )]
    SchemasDiffer {
        /// Kind and group.
        kind: String,
        /// A version.
        first: String,
        /// The other.
        second: String,
        /// The first field that differs.
        path: String,
    },
}
// ANCHOR_END: definition

/// A registered kind and its definition.
struct KindDefinition {
    registered: RegisteredKind,
    crd: CustomResourceDefinition,
}

/// Returns all custom kinds with an informer or registered without one, sorted by group and kind.
pub(super) fn all(setup: &Setup, errors: &mut Vec<ManifestError>) -> Vec<CustomDefinition> {
    let mut groups: BTreeMap<(String, String), Vec<KindDefinition>> = BTreeMap::new();
    for registered in setup.kinds() {
        match define(&registered) {
            Ok(crd) => {
                errors.extend(schema::check(&registered, &crd).into_iter().map(Into::into));
                let name = (
                    registered.info.group.to_string(),
                    registered.info.kind.to_string(),
                );
                let defined = KindDefinition { registered, crd };
                if let Err(error) = add(defined, groups.entry(name).or_default()) {
                    errors.push(error.into());
                }
            }
            Err(error) => errors.push(error.into()),
        }
    }
    let mut definitions = Vec::new();
    for versions in groups.into_values() {
        let is_kind = |registered: &&RegisteredVersions| {
            let kind = &versions[0].registered.info;
            registered.converter.info.is_version_of(kind)
        };
        let converted = setup.registered_versions().iter().find(is_kind);
        match merge(versions, converted, setup.operator()) {
            Ok(definition) => definitions.push(definition),
            Err(error) => errors.push(error.into()),
        }
    }
    definitions
}

/// Generates the definition of a kind. `definition` panics if the schema cannot be structural.
fn define(registered: &RegisteredKind) -> Result<CustomResourceDefinition, DefinitionError> {
    let info = &registered.info;
    caught_silently(registered.definition).map_err(|reason| DefinitionError::Schema {
        kind: info.kind.to_string(),
        api_version: info.api_version(),
        reason,
    })
}

/// Adds a version. A second Rust type of a version must have the same definition, such as one with fewer methods.
fn add(defined: KindDefinition, versions: &mut Vec<KindDefinition>) -> Result<(), DefinitionError> {
    let info = &defined.registered.info;
    match versions.iter().find(|other| other.registered.info == *info) {
        None => versions.push(defined),
        Some(other) if other.crd == defined.crd => {}
        Some(other) => {
            return Err(DefinitionError::SameVersion {
                kind: info.kind.to_string(),
                api_version: info.api_version(),
                first: other.registered.rust_type,
                second: defined.registered.rust_type,
            });
        }
    }
    Ok(())
}

/// Merges the definitions of the versions, which are `converted` between if they are registered with `setup.versions`.
fn merge(
    mut versions: Vec<KindDefinition>,
    converted: Option<&RegisteredVersions>,
    operator: &str,
) -> Result<CustomDefinition, DefinitionError> {
    versions.sort_by_cached_key(|defined| newest_first(&defined.registered.info.version));
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
    let kind = format!("{} ({})", info.kind, info.group);
    let mut conversion = None;
    let version = if let Some(registered) = converted {
        let mut infos = versions.iter().map(|defined| &defined.registered.info);
        if let Some(other) = infos.find(|info| !registered.contains(info)) {
            let version = other.version.to_string();
            return Err(DefinitionError::NotConverted { kind, version });
        }
        // Rules may change values and keep the schema.
        if !registered.converter.is_identity() || compare_schemas(&versions, &kind).is_err() {
            conversion = Some(webhook_conversion(operator));
        }
        registered.stored.clone()
    } else {
        let marked = marked_as_stored(&versions);
        let Some(first) = marked.first().cloned() else {
            return Err(mismatch("no version is stored".to_owned(), "storage"));
        };
        if !external {
            if marked.len() > 1 {
                let versions = marked.join(", ");
                return Err(DefinitionError::Stored { kind, versions });
            }
            compare_schemas(&versions, &kind)?;
        }
        first
    };
    let rust_types = versions.iter().map(|defined| {
        let registered = &defined.registered;
        (registered.info.version.to_string(), (registered.rust_types)())
    });
    let rust_types = rust_types
        .filter(|(_, types)| !types.is_empty() && !external)
        .collect();
    let crds: Vec<_> = versions.into_iter().map(|defined| defined.crd).collect();
    let crd = if external {
        None
    } else {
        let merged = merge_crds(crds, &version);
        let mut crd = merged.map_err(|error| mismatch(error.to_string(), "namespaced"))?;
        // kube begins with the stored version. A storage migration would then change the order.
        let versions = &mut crd.spec.versions;
        versions.sort_by_cached_key(|version| newest_first(&version.name));
        crd.spec.conversion = conversion;
        Some(crd)
    };
    Ok(CustomDefinition {
        group: info.group.to_string(),
        version,
        versions: names,
        kind: info.kind.to_string(),
        plural: info.plural.to_string(),
        namespaced: info.scope == Scope::Namespaced,
        external,
        rust_types,
        conversion: converted.and_then(VersionConversion::of),
        crd,
    })
}

/// Orders versions as API servers do: v2, v1, v1beta1, v1alpha1.
fn newest_first(version: &str) -> Reverse<impl Ord + use<>> {
    Reverse(Version::parse(version).priority())
}

/// Returns the versions that `#[kube(storage)]` does not exclude from being stored.
fn marked_as_stored(versions: &[KindDefinition]) -> Vec<String> {
    let is_stored =
        |defined: &&KindDefinition| defined.crd.spec.versions.iter().any(|version| version.storage);
    let stored = versions.iter().filter(is_stored);
    stored
        .map(|defined| defined.registered.info.version.to_string())
        .collect()
}

/// The conversion by the operator's webhook. Who manages its certificate adds the CA bundle.
fn webhook_conversion(operator: &str) -> CustomResourceConversion {
    CustomResourceConversion {
        strategy: "Webhook".to_owned(),
        webhook: Some(WebhookConversion {
            client_config: Some(WebhookClientConfig {
                service: Some(ServiceReference {
                    name: service_name(operator),
                    // The registration does not know where the operator is deployed.
                    namespace: default_namespace(operator),
                    path: Some(conversion::PATH.to_owned()),
                    port: Some(SERVICE_PORT),
                }),
                ..WebhookClientConfig::default()
            }),
            conversion_review_versions: vec!["v1".to_owned()],
        }),
    }
}

/// Without conversion the API server reads and writes all versions in the schema of the requested one, and prunes what that lacks.
fn compare_schemas(versions: &[KindDefinition], kind: &str) -> Result<(), DefinitionError> {
    let schema = |defined: &KindDefinition| {
        let version = defined.crd.spec.versions.first();
        let schema = version.and_then(|version| version.schema.as_ref()?.open_api_v3_schema.as_ref());
        serde_json::to_value(schema).unwrap_or_default()
    };
    let Some((first, others)) = versions.split_first() else {
        return Ok(());
    };
    for other in others {
        if let Some(path) = first_difference(&schema(first), &schema(other), "") {
            return Err(DefinitionError::SchemasDiffer {
                kind: kind.to_owned(),
                first: first.registered.info.version.to_string(),
                second: other.registered.info.version.to_string(),
                path,
            });
        }
    }
    Ok(())
}

/// Returns the path of the first field with different schemas. Descriptions may differ.
fn first_difference(one: &Value, other: &Value, path: &str) -> Option<String> {
    let here = || {
        if path.is_empty() {
            "(root)".to_owned()
        } else {
            path.to_owned()
        }
    };
    let (Some(one), Some(other)) = (one.as_object(), other.as_object()) else {
        return (one != other).then(here);
    };
    let keys: BTreeSet<&String> = one
        .keys()
        .chain(other.keys())
        .filter(|key| *key != "description")
        .collect();
    keys.into_iter()
        .find_map(|key| match (key.as_str(), one.get(key), other.get(key)) {
            ("properties", Some(Value::Object(one)), Some(Value::Object(other))) => {
                let names: BTreeSet<&String> = one.keys().chain(other.keys()).collect();
                names.into_iter().find_map(|name| {
                    let separator = if path.is_empty() { "" } else { "." };
                    let nested = format!("{path}{separator}{name}");
                    match (one.get(name), other.get(name)) {
                        (Some(one), Some(other)) => first_difference(one, other, &nested),
                        _ => Some(nested),
                    }
                })
            }
            ("items" | "additionalProperties", Some(one), Some(other)) => {
                first_difference(one, other, &format!("{path}[]"))
            }
            (_, one, other) => (one != other).then(here),
        })
}

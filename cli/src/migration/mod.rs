//! Migrates the stored objects of a kind in a cluster to another version: `kubewright migrate storage KIND --cluster CONTEXT`.
//!
//! Read in this order: `cluster_definition` (the stored versions, and the change of the storage version), `replicas` (whether the operator is
//! rolled out), `progress`. The objects are rewritten by [`StorageMigration`] of the library.

mod cluster_definition;
mod progress;
mod replicas;

use std::path::Path;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kubewright::{client::Connection, conversion::StorageMigration};
use serde_json::Value;
use tokio::runtime::{Builder, Runtime};

use crate::{
    Context, Error, dev,
    error::MigrationError,
    manifests::crds,
    names::KindReference,
    plan::{self, IoError},
    yaml,
};
use cluster_definition::ClusterDefinition;

/// A kind and its version to store.
pub struct Target<'a> {
    /// The kind.
    pub kind: &'a KindReference,
    /// The version, if the code registers several: the hub. Otherwise it is the one that the project's manifests store.
    pub hub: Option<String>,
}

/// Stores all objects of the kind in a cluster in the target's version. With `dry_run` it only prints the changes.
pub fn run(
    root: &Path,
    target: Target<'_>,
    cluster: &str,
    dry_run: bool,
    context: &mut Context<'_>,
) -> Result<(), Error> {
    let definition = ProjectDefinition::find(root, target.kind)?;
    let wanted = target.hub.unwrap_or_else(|| definition.stored.clone());
    tokio_runtime()?.block_on(migrate(&definition.name, &wanted, cluster, dry_run, context))?;
    if dry_run || wanted == definition.stored {
        return Ok(());
    }
    context.message(format_args!(
        "\nnext, when each cluster is migrated:\n  kubewright migrate storage {}\n  kubewright generate\nuntil then, applying the manifests has \
         the API server store {} again: migrate again afterwards",
        target.kind, definition.stored
    ))
}

/// Returns the versions in which the cluster of a context may have stored objects of a definition. A cluster without the definition is an
/// error: the context may be a wrong one.
pub(crate) fn stored_versions(cluster: &str, definition: &str) -> Result<Vec<String>, Error> {
    tokio_runtime()?.block_on(async {
        let connection = connect(cluster).await?;
        let definition = installed(&connection, definition, cluster).await?;
        Ok(definition.stored_versions().to_vec())
    })
}

/// Returns a definition in the cluster of a context, if it exists.
pub(crate) fn definition(cluster: &str, name: &str) -> Result<Option<Value>, Error> {
    tokio_runtime()?.block_on(async {
        let connection = connect(cluster).await?;
        let found = ClusterDefinition::read(&connection, name).await?;
        Ok(found.map(|definition| definition.to_value()))
    })
}

fn tokio_runtime() -> Result<Runtime, IoError> {
    let runtime = Builder::new_current_thread().enable_all().build();
    runtime.map_err(|source| IoError::new("start", "a runtime", source))
}

async fn connect(cluster: &str) -> Result<Connection, Error> {
    let config = dev::config_of_context(cluster).await?;
    Ok(Connection::connect(config, "kubewright").map_err(MigrationError::from)?)
}

/// Reads a definition that the cluster must have.
async fn installed(
    connection: &Connection,
    name: &str,
    cluster: &str,
) -> Result<ClusterDefinition, MigrationError> {
    let found = ClusterDefinition::read(connection, name).await?;
    found.ok_or_else(|| MigrationError::NotInstalled {
        definition: name.to_owned(),
        context: cluster.to_owned(),
    })
}

async fn migrate(
    name: &str,
    wanted: &str,
    cluster: &str,
    dry_run: bool,
    context: &mut Context<'_>,
) -> Result<(), Error> {
    let connection = connect(cluster).await?;
    let definition = installed(&connection, name, cluster).await?;
    if definition.stored_versions() == [wanted] && definition.stored() == wanted {
        return context.message(format_args!(
            "all objects of {name} are stored in {wanted}, nothing to do"
        ));
    }
    definition.check_served(wanted)?;
    // Also if the definition stores the version already: applying the manifests did that, whatever runs.
    replicas::check(&connection, &definition).await?;
    definition.check_readable(&connection).await?;
    let migration = StorageMigration::to_version(connection.clone(), definition.resource(wanted));
    if dry_run {
        let stored = definition.stored_versions().join(", ");
        return context.message(format_args!(
            "would store {name} in {wanted}, and rewrite its objects, which are stored in {stored}"
        ));
    }
    if definition.stored() != wanted {
        definition.store(&connection, wanted).await?;
        context.message(format_args!(
            "{name} stores {wanted} now; before: {}; from now on, a release without {wanted} cannot read new objects",
            definition.stored()
        ))?;
    }
    let mut shown = Ok(());
    let migrated = migration
        .run(|done, all| {
            if shown.is_ok() {
                shown = progress::show(context, done, all);
            }
        })
        .await;
    shown?;
    migrated.map_err(MigrationError::from)?;
    context.message(format_args!("all objects of {name} are stored in {wanted}"))
}

/// A definition in the project's manifests.
struct ProjectDefinition {
    name: String,
    /// The version that it stores.
    stored: String,
}

impl ProjectDefinition {
    fn find(root: &Path, kind: &KindReference) -> Result<Self, Error> {
        let (mut known, mut found) = (Vec::new(), Vec::new());
        for file in plan::files_with_extension(&root.join(crds::FOLDER), "yaml")? {
            let text = plan::read(&file)?.unwrap_or_default();
            for object in yaml::read_all(&text)? {
                let Ok(definition) = serde_json::from_value::<CustomResourceDefinition>(object) else {
                    continue;
                };
                let spec = definition.spec;
                let stored = spec.versions.into_iter().find(|version| version.storage);
                let name = definition.metadata.name.zip(stored);
                match name.filter(|(_, stored)| {
                    spec.names.kind == kind.kind && kind.matches(&spec.group, &stored.name)
                }) {
                    Some((name, stored)) => {
                        let stored = stored.name;
                        found.push((
                            format!("{}.{}", spec.names.kind, spec.group),
                            Self { name, stored },
                        ));
                    }
                    None => known.push(spec.names.kind),
                }
            }
        }
        if found.len() > 1 {
            let names = found.into_iter().map(|(kind, _)| kind).collect();
            return Err(MigrationError::AmbiguousKind(names).into());
        }
        if let Some((_, definition)) = found.pop() {
            return Ok(definition);
        }
        let known = match known.len() {
            0 => String::new(),
            _ => format!(", only of {}", known.join(", ")),
        };
        let kind = kind.to_string();
        Err(MigrationError::UnknownKind { kind, known }.into())
    }
}

//! `kubewright migrate storage`: stores the objects of a kind in the version that controllers use.
//!
//! Two steps: each cluster stores the hub and rewrites its objects, after a check of the replicas; then the code stores the hub. In the other
//! order, applying the manifests would have a cluster store the hub before any check.

use std::{collections::BTreeSet, path::PathBuf};

use super::source_edits;
use crate::{
    Context, Error,
    args::{MigrateStorage, WriteOptions},
    error::KindError,
    migration::{self, Target},
    plan::{self, Plan},
    project::Project,
    source::{self, StoredVersion},
    versions::in_file,
};

/// Changes the code, or with `--cluster` a cluster.
pub fn run(args: &MigrateStorage, context: &mut Context<'_>) -> Result<(), Error> {
    let project = Project::find(&context.cwd)?;
    let Some(cluster) = &args.cluster else {
        return change_code(args, &project, context);
    };
    let mut hub = None;
    for (path, text) in files(args, &project)? {
        let found = source::registered_versions(&text, &args.kind.kind);
        let found = found.map_err(|error| in_file(&path, error))?;
        hub = hub.or(found.map(|versions| versions.hub));
    }
    let kind = &args.kind;
    migration::run(
        &project.root,
        Target { kind, hub },
        cluster,
        args.dry_run,
        context,
    )
}

/// Removes the version that the code has stored in place of the hub.
fn change_code(args: &MigrateStorage, project: &Project, context: &mut Context<'_>) -> Result<(), Error> {
    let kind = &*args.kind.kind;
    let (mut plan, mut versions_exist) = (Plan::default(), false);
    for (path, before) in files(args, project)? {
        let stored = source::stored_version(&before, kind).map_err(|error| in_file(&path, error))?;
        match stored {
            StoredVersion::NoVersions => {}
            StoredVersion::Hub => versions_exist = true,
            StoredVersion::Other { without } => {
                versions_exist = true;
                plan.write(path, Some(before), without);
            }
        }
    }
    if !versions_exist {
        return Err(Error::NoVersions(args.kind.to_string()));
    }
    let migrate = format!("kubewright migrate storage {} --cluster CONTEXT", args.kind);
    if plan.is_empty() {
        return context.message(format_args!(
            "the code stores {kind} in the version that controllers use, nothing to do; for a cluster:\n  {migrate}"
        ));
    }
    let options = WriteOptions {
        dry_run: args.dry_run,
        allow_dirty: args.allow_dirty,
    };
    if !source_edits::apply(&plan, project, options, context)? {
        return Ok(());
    }
    context.message(format_args!(
        "\nnext:\n  kubewright generate\n  {migrate}\n    (for each cluster where it did not run yet: the manifests store the new version now, and applying them checks no replicas)\n  release the operator"
    ))
}

/// Returns the files that may register versions of the kind, with their texts.
fn files(args: &MigrateStorage, project: &Project) -> Result<Vec<(PathBuf, String)>, Error> {
    let folders = folders(args, project)?;
    let mut found = Vec::new();
    for file in plan::rust_files(&project.root.join("src"))? {
        let path = file.strip_prefix(&project.root).unwrap_or(&file).to_owned();
        let is_in = |folders: &Vec<PathBuf>| folders.iter().any(|folder| path.starts_with(folder));
        if folders.as_ref().is_none_or(is_in) {
            found.push((path, plan::read(&file)?.unwrap_or_default()));
        }
    }
    Ok(found)
}

/// Returns where the code of the kind is, if several groups have it; none for all code.
fn folders(args: &MigrateStorage, project: &Project) -> Result<Option<Vec<PathBuf>>, Error> {
    let mut kinds = source::project_kinds(&source_edits::read_sources(project)?);
    kinds.retain(|found| found.kind.kind == args.kind.kind && found.kind.has_informer);
    let groups: BTreeSet<String> = kinds.iter().map(|found| found.kind.group.clone()).collect();
    let Some(group) = &args.kind.group else {
        if groups.len() < 2 {
            return Ok(None);
        }
        let names = groups.iter().map(|group| format!("{}.{group}", args.kind.kind));
        return Err(KindError::Ambiguous(names.collect()).into());
    };
    if groups.iter().all(|found| found == group) {
        return Ok(None);
    }
    kinds.retain(|found| found.kind.group == *group);
    let folders = kinds
        .iter()
        .filter_map(|found| Some(found.path.parent()?.to_owned()));
    Ok(Some(folders.collect()))
}

//! `kubewright migrate storage`: stores the objects of a kind in the version that controllers use.
//!
//! Two steps, with a release between them: the code stores the hub, then each cluster rewrites its objects.

use std::{collections::BTreeSet, path::PathBuf};

use super::source_edits;
use crate::{
    Context, Error,
    args::{MigrateStorage, WriteOptions},
    error::KindError,
    migration,
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
    migration::run(&project.root, &args.kind, cluster, args.dry_run, context)
}

/// Removes the version that the code has stored in place of the hub.
fn change_code(args: &MigrateStorage, project: &Project, context: &mut Context<'_>) -> Result<(), Error> {
    let kind = &*args.kind.kind;
    let folders = folders(args, project)?;
    let (mut plan, mut versions_exist) = (Plan::default(), false);
    for file in plan::rust_files(&project.root.join("src"))? {
        let before = plan::read(&file)?.unwrap_or_default();
        let path = file.strip_prefix(&project.root).unwrap_or(&file).to_owned();
        if !folders.is_empty() && !folders.iter().any(|folder| path.starts_with(folder)) {
            continue;
        }
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
        "\nnext:\n  kubewright generate\n  release the operator; from then on, a release without this version cannot read new objects\n  {migrate}"
    ))
}

/// Returns where the code of the kind is, if several groups have it; empty for all code.
fn folders(args: &MigrateStorage, project: &Project) -> Result<Vec<PathBuf>, Error> {
    let mut kinds = source::project_kinds(&source::read_files(&project.root)?);
    kinds.retain(|found| found.kind.kind == args.kind.kind && found.kind.has_informer);
    let groups: BTreeSet<String> = kinds.iter().map(|found| found.kind.group.clone()).collect();
    if groups.len() < 2 {
        return Ok(Vec::new());
    }
    let Some(group) = &args.kind.group else {
        let names = groups.iter().map(|group| format!("{}.{group}", args.kind.kind));
        return Err(KindError::Ambiguous(names.collect()).into());
    };
    kinds.retain(|found| found.kind.group == *group);
    Ok(kinds
        .iter()
        .filter_map(|found| Some(found.path.parent()?.to_owned()))
        .collect())
}

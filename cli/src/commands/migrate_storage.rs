//! `kubewright migrate storage`: stores the objects of a kind in the version that controllers use.
//!
//! Two steps, with a release between them: the code stores the hub, then each cluster rewrites its objects.

use crate::{
    Context, Error,
    args::MigrateStorage,
    git, migration,
    plan::{self, IoError, Plan, slashed},
    project::Project,
    source::{self, InsertError, StoredVersion},
};

/// Changes the code, or with `--cluster` a cluster.
pub fn run(args: &MigrateStorage, context: &mut Context<'_>) -> Result<(), Error> {
    let project = Project::find(&context.cwd)?;
    let Some(cluster) = &args.cluster else {
        return change_code(args, &project, context);
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|source| IoError::new("start", "a runtime", source))?;
    let migration = migration::run(&project.root, args.kind.as_str(), cluster, args.dry_run, context);
    runtime.block_on(migration)
}

/// Removes the version that the code has stored in place of the hub.
fn change_code(args: &MigrateStorage, project: &Project, context: &mut Context<'_>) -> Result<(), Error> {
    let kind = args.kind.as_str();
    let (mut plan, mut versions_exist) = (Plan::default(), false);
    for file in plan::rust_files(&project.root.join("src"))? {
        let before = plan::read(&file)?.unwrap_or_default();
        let path = file.strip_prefix(&project.root).unwrap_or(&file).to_owned();
        let stored = source::stored_version(&before, kind).map_err(|error| InsertError::In {
            path: slashed(&path),
            error: Box::new(error),
        })?;
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
        return Err(Error::NoVersions(kind.to_owned()));
    }
    let migrate = format!("kubewright migrate storage {kind} --cluster CONTEXT");
    if plan.is_empty() {
        return context.message(format_args!(
            "the code stores {kind} in the version that controllers use, nothing to do; for a cluster:\n  {migrate}"
        ));
    }
    let changed: Vec<_> = plan.changes().map(|change| change.path.clone()).collect();
    let dirty = git::uncommitted(context, &project.root, &changed);
    if !args.allow_dirty && !dirty.is_empty() {
        return Err(Error::Uncommitted(dirty));
    }
    if args.dry_run {
        return context.print(&plan.to_string());
    }
    plan.apply(&project.root)?;
    context.message(plan.to_string().trim_end())?;
    context.message(format_args!(
        "\nnext:\n  kubewright generate\n  release the operator; from then on, a release without this version cannot read new objects\n  {migrate}"
    ))
}

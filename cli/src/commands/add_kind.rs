//! `kubewright add kind`: adds a kind with its controller, test and sample.

use super::{
    kind_files::{NewKind, built_in_note},
    registered_type::CONTROLLER,
    source_edits::{self, crate_name, edit},
};
use crate::{
    Context, Error,
    args::AddKind,
    names::Group,
    plan::Plan,
    project::Project,
    source::{self, ProjectKind},
};

/// Adds the kind. Existing files and lines are kept.
pub fn run(args: &AddKind, context: &mut Context<'_>) -> Result<(), Error> {
    let project = Project::find(&context.cwd)?;
    let group = group(args, &project)?;
    let plan = plan(args, &group, &project, context)?;
    if plan.is_empty() && !args.write.dry_run {
        return context.message(format_args!("kind {} already exists, nothing to do", args.kind));
    }
    if !source_edits::apply(&plan, &project, args.write, context)? {
        return Ok(());
    }
    if let Some(note) = built_in_note(&args.kind, &group) {
        context.message(note)?;
    }
    context.message("\nnext:\n  kubewright generate")
}

/// Plans the files and lines that the kind still lacks.
fn plan(args: &AddKind, group: &Group, project: &Project, context: &Context<'_>) -> Result<Plan, Error> {
    let crate_name = crate_name(project)?;
    let new = NewKind {
        crate_name: &crate_name,
        kind: &args.kind,
        group,
        version: &args.api_version,
        namespaced: !args.cluster_scoped,
    };
    let exists = check_duplicates(&new, project)?;

    let mut plan = Plan::default();
    for (path, text) in new.files(context)? {
        // User files are written once: an existing kind keeps its files, and deleted ones are not written again.
        if !exists && project.read(&path)?.is_none() {
            plan.write(path, None, text);
        }
    }
    let module = args.kind.snake();
    edit(&mut plan, project, &["src/api/mod.rs", "src/api.rs"], &|text| {
        let text = source::declare_module(text, module)?;
        source::export_in_prelude(&text, module)
    })?;
    // An existing kind may have lost its controller: `add controller` writes another.
    if !exists || project.read(CONTROLLER.path(module))?.is_some() {
        let kind = args.kind.as_str();
        source_edits::register(&mut plan, project, &CONTROLLER, (kind, module))?;
    }
    Ok(plan)
}

fn group(args: &AddKind, project: &Project) -> Result<Group, Error> {
    if let Some(group) = &args.group {
        return Ok(group.clone());
    }
    let group = &project.settings.group;
    group.parse().map_err(|source| Error::Group {
        group: group.clone(),
        source,
    })
}

/// Returns whether exactly this kind exists. Another kind of the same name is an error, and so is a file at its path.
fn check_duplicates(new: &NewKind<'_>, project: &Project) -> Result<bool, Error> {
    let mut kinds = source::project_kinds(&source_edits::read_sources(project)?);
    kinds.retain(|found| found.kind.kind == new.kind.as_str());
    let is_new = |found: &ProjectKind| {
        found.kind.group == new.group.as_str() && found.kind.version == new.version.as_str()
    };
    if kinds.iter().any(is_new) {
        return Ok(true);
    }
    if let Some(ProjectKind { path, kind: found }) = kinds.into_iter().next() {
        return Err(Error::DuplicateKind {
            kind: found.kind,
            path,
            existing: format!("{}/{}", found.group, found.version),
        });
    }
    let path = new.api_path();
    match project.read(&path)? {
        Some(_) => Err(Error::ModuleExists {
            kind: new.kind.to_string(),
            path,
        }),
        None => Ok(false),
    }
}

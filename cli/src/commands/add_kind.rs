//! `kubewright add kind`: adds a kind with its controller, test and sample.

use std::path::Path;

use super::kind_files::{NewKind, built_in_note};
use crate::{
    Context, Error,
    args::AddKind,
    git,
    names::Group,
    plan::{Plan, slashed},
    project::Project,
    source::{self, InsertError, ProjectKind},
};

/// Adds the kind. Existing files and lines are kept.
pub fn run(args: &AddKind, context: &mut Context<'_>) -> Result<(), Error> {
    let project = Project::find(&context.cwd)?;
    let group = group(args, &project)?;
    let plan = plan(args, &group, &project, context)?;
    let changed: Vec<_> = plan
        .changes()
        .filter(|change| change.before.is_some())
        .map(|change| change.path.clone())
        .collect();
    if !args.allow_dirty {
        let dirty = git::uncommitted(context, &project.root, &changed);
        if !dirty.is_empty() {
            return Err(Error::Uncommitted(dirty));
        }
    }
    if args.dry_run {
        return context.print(&plan.to_string());
    }
    if plan.is_empty() {
        return context.message(format_args!("kind {} already exists, nothing to do", args.kind));
    }
    plan.apply(&project.root)?;
    context.message(plan.to_string().trim_end())?;
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
    let (module, kind) = (args.kind.snake(), args.kind.as_str());
    edit(&mut plan, project, &["src/api/mod.rs", "src/api.rs"], &|text| {
        let text = source::declare_module(text, module)?;
        source::export_in_prelude(&text, module)
    })?;
    edit(
        &mut plan,
        project,
        &["src/controllers/mod.rs", "src/controllers.rs"],
        &|text| {
            let text = source::declare_module(text, module)?;
            source::export_controller(&text, module, kind)
        },
    )?;
    edit(&mut plan, project, &["src/main.rs"], &|text| {
        let text = source::import_controller(text, &crate_name, kind)?;
        source::register(&text, kind)
    })?;
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

/// Returns the crate name of the package's library.
fn crate_name(project: &Project) -> Result<String, Error> {
    let text = project.read("Cargo.toml")?.unwrap_or_default();
    let table = text.parse::<toml::Table>().unwrap_or_default();
    let name = |section: &str| table.get(section)?.get("name")?.as_str();
    let name = name("lib")
        .or_else(|| name("package"))
        .unwrap_or(&project.settings.name);
    Ok(name.replace('-', "_"))
}

/// Returns whether exactly this kind exists. Another kind of the same name is an error, and so is a file at its path.
fn check_duplicates(new: &NewKind<'_>, project: &Project) -> Result<bool, Error> {
    for ProjectKind { path, kind: found } in source::project_kinds(&source::read_files(&project.root)?) {
        if found.kind != new.kind.as_str() {
            continue;
        }
        if found.group == new.group.as_str() && found.version == new.version.as_str() {
            return Ok(true);
        }
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

/// Plans an edit of the first candidate file that exists.
fn edit(
    plan: &mut Plan,
    project: &Project,
    candidates: &[&str],
    edit: &dyn Fn(&str) -> Result<String, InsertError>,
) -> Result<(), Error> {
    let mut path = Path::new(candidates[0]);
    let mut before = None;
    for candidate in candidates {
        before = project.read(candidate)?;
        if before.is_some() {
            path = Path::new(candidate);
            break;
        }
    }
    let after = edit(before.as_deref().unwrap_or_default()).map_err(|error| InsertError::In {
        path: slashed(path),
        error: Box::new(error),
    })?;
    plan.write(path, before, after);
    Ok(())
}

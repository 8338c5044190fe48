//! Edits of a project's source, and the application of a plan, for the commands that change a project.

use std::path::Path;

use super::registered_type::RegisteredType;
use crate::{
    Context, Error,
    args::WriteOptions,
    git::{self, TreeState},
    plan::{IoError, Plan, slashed},
    project::Project,
    source::{self, InsertError, SourceFile},
    versions::in_file,
};

/// Reads the files in the project's `src`. A file that does not parse is an error: it may define or use what the command changes. Markers of a merge
/// conflict are the usual reason.
pub(super) fn read_sources(project: &Project) -> Result<Vec<SourceFile>, Error> {
    let mut sources = Vec::new();
    for path in source::package_files(&project.root)? {
        if path.starts_with("src") {
            let text = project.read(&path)?.unwrap_or_default();
            let syntax = source::parse(&text).map_err(|error| in_file(&path, error))?;
            sources.push(SourceFile { path, syntax });
        }
    }
    Ok(sources)
}

/// Returns the crate name of the package's library.
pub(super) fn crate_name(project: &Project) -> Result<String, IoError> {
    let text = project.read("Cargo.toml")?.unwrap_or_default();
    let table = text.parse::<toml::Table>().unwrap_or_default();
    let name = |section: &str| table.get(section)?.get("name")?.as_str();
    let name = name("lib")
        .or_else(|| name("package"))
        .unwrap_or(&project.settings.name);
    Ok(name.replace('-', "_"))
}

/// Plans an edit of the first candidate file that exists. The edit of a file that does not exist gets an empty text.
pub(super) fn edit(
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

/// Plans the declaration and export of the module of a kind's type, and the type's import and registration.
pub(super) fn register(
    plan: &mut Plan,
    project: &Project,
    registered: &RegisteredType,
    (kind, module): (&str, &str),
) -> Result<(), Error> {
    let folder = registered.folder;
    let name = &registered.name(kind);
    let modules = [format!("src/{folder}/mod.rs"), format!("src/{folder}.rs")];
    edit(plan, project, &[&modules[0], &modules[1]], &|text| {
        let text = if text.is_empty() { registered.doc } else { text };
        source::export_type(&source::declare_module(text, module)?, module, name)
    })?;
    let path = format!("{}::{folder}", crate_name(project)?);
    edit(plan, project, &["src/main.rs"], &|text| {
        source::register(&source::import_type(text, &path, name)?, name)
    })
}

/// Plans the declaration of a module of the library.
pub(super) fn declare(plan: &mut Plan, project: &Project, module: &str) -> Result<(), Error> {
    edit(plan, project, &["src/lib.rs"], &|text| {
        if text.is_empty() {
            return Err(InsertError::NoInsertionPoint {
                reason: "the project has no library",
                line: format!("pub mod {module};"),
            });
        }
        source::declare_module(text, module)
    })
}

/// Whether git must have a file before a command changes it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Needs {
    /// Git need not have it, but all of a file that it has is committed.
    Committed,
    /// Git can restore it: the command deletes or rewrites code.
    Tracked,
}

/// Applies the plan of a command that deletes or rewrites code, as [`apply`] does, if git can undo it.
pub(super) fn rewrite(
    plan: &Plan,
    project: &Project,
    options: WriteOptions,
    context: &mut Context<'_>,
) -> Result<bool, Error> {
    apply_if(Needs::Tracked, plan, project, options, context)
}

/// Applies a plan and prints it. Returns whether something was written. Files that have uncommitted changes are not changed.
pub(super) fn apply(
    plan: &Plan,
    project: &Project,
    options: WriteOptions,
    context: &mut Context<'_>,
) -> Result<bool, Error> {
    apply_if(Needs::Committed, plan, project, options, context)
}

fn apply_if(
    needs: Needs,
    plan: &Plan,
    project: &Project,
    options: WriteOptions,
    context: &mut Context<'_>,
) -> Result<bool, Error> {
    if !options.allow_dirty {
        let files = plan.existing_files();
        let mut dirty = match git::tree_state(context, &project.root) {
            TreeState::Dirty(dirty) => dirty,
            TreeState::NoRepository if needs == Needs::Tracked => return Err(Error::NoRepository),
            TreeState::Clean | TreeState::NoRepository => Vec::new(),
        };
        dirty.retain(|file| files.contains(file));
        if needs == Needs::Tracked {
            dirty.extend(git::untracked(context, &project.root, &files));
            dirty.sort();
        }
        if !dirty.is_empty() {
            return Err(Error::Uncommitted(dirty));
        }
    }
    if options.dry_run {
        context.print(&plan.to_string())?;
        return Ok(false);
    }
    plan.apply(&project.root)?;
    context.message(plan.to_string().trim_end())?;
    Ok(true)
}

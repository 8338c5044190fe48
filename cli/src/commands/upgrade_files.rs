//! The part of `kubewright upgrade` about managed files that `package` and `import` write.

use std::path::Path;

use crate::{
    Context, Error,
    format::format_rust,
    generation::{Decisions, Outcome},
    imports::{self, Definition},
    ownership::managed,
    packaging::{
        build::ProjectFiles,
        format::{PackageFormat, plan_existing},
    },
    plan::slashed,
    project::Project,
    source,
};

/// Adds the project's chart and bundle, of the manifests that the plan leaves. Manifests that cannot be packaged do not stop the upgrade:
/// the operator may have to be built for the next ones.
pub(super) fn plan_packages(
    outcome: &mut Outcome,
    project: &Project,
    decisions: &Decisions,
    notes: &mut Vec<String>,
) -> Result<(), Error> {
    let files = ProjectFiles {
        root: &project.root,
        plan: &outcome.plan,
    };
    let packages = match plan_existing(project, files, decisions) {
        Err(Error::Package(error)) => {
            notes.push(format!("note: the packages are not upgraded: {error}"));
            return Ok(());
        }
        packages => packages?,
    };
    for (format, files) in packages {
        // A generated file is written anew by its own command.
        if matches!(format, PackageFormat::Install { .. }) {
            continue;
        }
        let files = match files {
            Ok(files) => files,
            Err(error) => {
                notes.push(format!("note: {} is not upgraded: {error}", format.path()));
                continue;
            }
        };
        outcome.plan.extend(files.plan);
        outcome.conflicts.extend(files.conflicts);
        let warnings = files.warnings.iter();
        notes.extend(warnings.map(|warning| format!("warning: {warning}")));
    }
    Ok(())
}

/// Adds the modules of imported kinds, of the copies of their definitions.
pub(super) fn plan_imports(
    outcome: &mut Outcome,
    project: &Project,
    decisions: &Decisions,
    notes: &mut Vec<String>,
    context: &Context<'_>,
) -> Result<(), Error> {
    let mut modules = Vec::new();
    for path in managed::paths(&project.root, Path::new(imports::MODULES))? {
        match definition(project, &path)? {
            Some(definition) => modules.push((path, definition.code())),
            None => notes.push(format!(
                "note: {} is not upgraded: {} has no definition of its kind and version; run `kubewright import` with it",
                slashed(&path),
                imports::DEFINITIONS
            )),
        }
    }
    let code: Vec<_> = modules.iter().map(|(_, code)| code.clone()).collect();
    for ((path, _), code) in modules.iter().zip(format_rust(context, &code)?) {
        let resolution = decisions.resolution(path);
        let conflict = managed::plan(&mut outcome.plan, &project.root, path, &code, resolution)?;
        outcome.conflicts.extend(conflict);
    }
    Ok(())
}

/// Returns the definition that a module was generated from, which its merge base names.
fn definition(project: &Project, path: &Path) -> Result<Option<Definition>, Error> {
    let base = project
        .read(Path::new(managed::BASE).join(path))?
        .unwrap_or_default();
    match source::defined_kinds(&base).first() {
        Some(kind) => Ok(imports::stored_definition(&project.root, kind)?),
        None => Ok(None),
    }
}

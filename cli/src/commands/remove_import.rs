//! `kubewright remove kind` of a kind that `kubewright import` wrote.

use std::path::Path;

use super::remove_kind::KindRemoval;
use crate::{
    Error,
    error::VersionError,
    imports,
    ownership::managed,
    plan::Plan,
    source::{self, ProjectKind, SourceFile},
    versions::VersionedKind,
};

/// Returns the kind of another project with this name, unless the project defines one of the name itself.
pub(super) fn find(sources: &[SourceFile], kind: &str) -> Result<Option<VersionedKind>, VersionError> {
    let mut found = source::project_kinds(sources);
    found.retain(|found| found.kind.kind == kind);
    let is_imported = |found: &ProjectKind| found.path.starts_with(imports::MODULES);
    match &*found {
        [] => Ok(None),
        [only] => Ok(is_imported(only).then(|| VersionedKind::in_one_file(only))),
        several if several.iter().all(is_imported) => Err(VersionError::Scattered {
            kind: kind.to_owned(),
            reason: "in several groups",
            places: several.iter().map(ProjectKind::place).collect(),
        }),
        _ => Ok(None),
    }
}

impl KindRemoval<'_, '_> {
    /// Plans the deletion of what `import` wrote beside the kind's module, and of the modules above that are empty then.
    pub(super) fn remove_import(&self, plan: &mut Plan) -> Result<(), Error> {
        let removal = &self.removal;
        for version in &self.kind.versions {
            removal.delete(plan, Path::new(managed::BASE).join(&version.path))?;
        }
        if let Some(copy) = imports::stored_path_of(&removal.project.root, &self.kind.group, &self.kind.kind)?
        {
            removal.delete(plan, copy)?;
        }
        let mut doc = imports::group_module_doc(&self.kind.group);
        let mut folder = self.kind.folder.parent();
        while let Some(empty) = folder.filter(|folder| folder.starts_with(imports::MODULES))
            && is_empty_after(plan, &empty.join("mod.rs"), &doc)
        {
            removal.delete(plan, empty.join("mod.rs"))?;
            let module = empty
                .file_name()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned();
            folder = empty.parent();
            let files = folder
                .into_iter()
                .flat_map(|folder| [folder.join("mod.rs"), folder.with_extension("rs")]);
            removal.edit(plan, &files.collect::<Vec<_>>(), &|text| {
                source::remove_module(text, &module)
            })?;
            imports::MODULE_DOC.clone_into(&mut doc);
        }
        Ok(())
    }
}

/// Whether the plan leaves nothing of a file but its start.
pub(super) fn is_empty_after(plan: &Plan, path: &Path, start: &str) -> bool {
    let change = plan.changes().find(|change| change.path == path);
    change.is_some_and(|change| change.after.as_deref() == Some(start))
}

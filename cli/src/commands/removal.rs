//! What the commands that remove something of a kind share: its files, and the lines that other commands inserted for it.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use super::{registered_type::RegisteredType, remove_import, uses};
use crate::{
    Context, Error,
    format::keep_formatted,
    plan::Plan,
    project::Project,
    source::{self, InsertError, ProjectItems, SourceFile},
    versions::in_file,
};

/// A removal, and what it is planned with.
pub(super) struct Removal<'a, 'c> {
    /// The name of the kind.
    pub(super) kind: &'a str,
    /// The name of its modules.
    pub(super) module: &'a str,
    /// The items among which the kind's are; imported kinds are among them if it is one.
    pub(super) items: ProjectItems<'a>,
    pub(super) project: &'a Project,
    pub(super) sources: &'a [SourceFile],
    pub(super) context: &'a Context<'c>,
}

impl Removal<'_, '_> {
    pub(super) fn delete(&self, plan: &mut Plan, path: PathBuf) -> Result<(), Error> {
        if let Some(text) = self.project.read(&path)? {
            plan.delete(path, text, Vec::new());
        }
        Ok(())
    }

    /// Plans the deletion of a type's module and tests, and of the lines with the module and the type.
    pub(super) fn remove_type(&self, plan: &mut Plan, removed: &RegisteredType) -> Result<(), Error> {
        let (folder, module, name) = (removed.folder, self.module, removed.name(self.kind));
        let path = removed.path(module);
        if source::defined_type(self.sources, &name).is_none_or(|(found, _)| found != path) {
            return Ok(());
        }
        self.delete(plan, path)?;
        let test_path = removed.test_path(module);
        let text = self.project.read(&test_path)?.unwrap_or_default();
        if !source::item_lines(&text, self.items, &BTreeSet::from([name.clone()])).is_empty() {
            self.delete(plan, test_path)?;
        }
        self.remove_module(plan, &Path::new("src").join(folder))?;
        let path = PathBuf::from(format!("src/{folder}/mod.rs"));
        if removed.is_optional && remove_import::is_empty_after(plan, &path, removed.doc) {
            self.delete(plan, path)?;
            self.edit(plan, &["src/lib.rs".into()], &|text| {
                source::remove_module(text, folder)
            })?;
        }
        self.edit(plan, &["src/main.rs".into()], &|text| {
            source::unregister(text, self.items, &name)
        })?;
        Ok(())
    }

    /// Plans the removal of the kind's module from that of a folder. Returns whether there is something to remove.
    pub(super) fn remove_module(&self, plan: &mut Plan, folder: &Path) -> Result<bool, Error> {
        let files = ["mod.rs", "lib.rs", "main.rs"].map(|name| folder.join(name));
        let files: Vec<_> = files.into_iter().chain([folder.with_extension("rs")]).collect();
        self.edit(plan, &files, &|text| source::remove_module(text, self.module))
    }

    /// Plans an edit of the first file that exists. If the plan changes the file, the edit gets the changed text. Returns whether the edit changes it.
    pub(super) fn edit(
        &self,
        plan: &mut Plan,
        candidates: &[PathBuf],
        edit: &dyn Fn(&str) -> Result<String, InsertError>,
    ) -> Result<bool, Error> {
        for path in candidates {
            if let Some(before) = self.project.read(path)? {
                let text = plan.text_after(&self.project.root, path)?.unwrap_or_default();
                let edited = edit(&text).map_err(|error| in_file(path, error))?;
                let changes = edited != text;
                if changes {
                    let edited = keep_formatted(self.context, &text, edited)?;
                    plan.write(path, Some(before), edited);
                }
                return Ok(changes);
            }
        }
        Ok(false)
    }

    /// Returns the places that name what the plan deletes. `method` is the informer factory's method of a kind that is removed.
    pub(super) fn uses(&self, plan: &Plan, method: Option<&str>) -> Result<Vec<String>, Error> {
        uses::of_deleted(self.project, plan, self.sources, self.items, method)
    }
}

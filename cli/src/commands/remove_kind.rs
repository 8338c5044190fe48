//! `kubewright remove kind`: removes a kind with what `add kind`, `import`, `add version`, `add webhook` and `add controller` wrote for it.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use super::{add_webhook, leftover_names, remove_import, remove_version, source_edits, uses};
use crate::{
    Context, Error,
    args::{RemoveKind, WriteOptions},
    error::KindError,
    format::keep_formatted,
    names::{plural, snake_case},
    plan::{Plan, slashed},
    project::Project,
    samples,
    source::{self, InsertError, ProjectItems, SourceFile},
    versions::{VersionedKind, in_file},
};

/// Removes the kind, unless something else needs it.
pub fn run(args: &RemoveKind, context: &mut Context<'_>) -> Result<(), Error> {
    let project = Project::find(&context.cwd)?;
    let sources = source::read_files(&project.root)?;
    let imported = remove_import::find(&sources, &args.kind)?;
    let is_imported = imported.is_some();
    let crate_name = source_edits::crate_name(&project)?;
    let kind = match imported {
        Some(kind) => kind,
        None => VersionedKind::find(&project, &sources, &args.kind)?,
    };
    let removal = Removal {
        module: kind.module(),
        kind,
        items: ProjectItems {
            crate_name: &crate_name,
            with_imported: is_imported,
        },
        project: &project,
        sources: &sources,
        context,
    };
    let (plan, places) = removal.plan()?;
    let kind = removal.kind;
    if !places.is_empty() {
        let kind = kind.kind;
        return Err(KindError::InUse { kind, places }.into());
    }
    let plural = plural(&kind.kind.to_lowercase());
    let words = BTreeSet::from([&*kind.kind, &*plural]);
    let lines = |_: &Path, text: &str| source::word_lines(text, &words);
    let kept = leftover_names::places(&project, &plan, &Path::to_owned, &lines)?;
    leftover_names::print(&kind.kind, &kept, context)?;
    let packages = leftover_names::package_steps(&project)?;
    let options = WriteOptions {
        dry_run: args.dry_run,
        allow_dirty: args.allow_dirty,
    };
    if !source_edits::rewrite(&plan, &project, options, context)? {
        return Ok(());
    }
    if is_imported {
        return context.message(format_args!(
            "\nnext:\n  kubewright generate  # removes the permissions for {}\n{}",
            kind.kind,
            packages.trim_end()
        ));
    }
    let (definition, _) = remove_version::definition(&kind, &project)?;
    context.message(format_args!(
        "\nnext:\n  kubewright generate  # deletes the CRD, the permissions and the documentation of {}\n{packages}\n\
         clusters keep the CRD and its objects; this deletes both:\n  kubectl delete crd {definition}",
        kind.kind
    ))
}

/// A type that `src/main.rs` registers for a kind.
struct RegisteredType {
    /// The folder of its module.
    folder: &'static str,
    suffix: &'static str,
    /// The suffixes of its tests.
    tests: &'static [&'static str],
}

const REGISTERED_TYPES: [RegisteredType; 2] = [
    RegisteredType {
        folder: "controllers",
        suffix: "Controller",
        tests: &[""],
    },
    RegisteredType {
        folder: "webhooks",
        suffix: "Webhook",
        tests: &["_webhook"],
    },
];

/// The kind to remove.
pub(super) struct Removal<'a, 'c> {
    pub(super) kind: VersionedKind,
    /// The name of its modules.
    module: String,
    /// The items among which the kind's are; imported kinds are among them if it is one.
    items: ProjectItems<'a>,
    pub(super) project: &'a Project,
    sources: &'a [SourceFile],
    context: &'a Context<'c>,
}

impl Removal<'_, '_> {
    /// Plans the removal. Also returns the places that name the kind afterwards.
    fn plan(&self) -> Result<(Plan, Vec<String>), Error> {
        let mut plan = Plan::default();
        let mut places = Vec::new();
        let versions = self.kind.versions.iter().map(|version| version.path.clone());
        let module = self.kind.has_folder.then(|| self.kind.module_path());
        for path in versions.chain(module) {
            self.delete(&mut plan, path)?;
        }
        self.delete(&mut plan, self.kind.test_path())?;
        let parent = self.kind.folder.parent().unwrap_or(Path::new(""));
        if !self.remove_module(&mut plan, parent)? {
            let (module, parent) = (&self.module, slashed(parent));
            places.push(format!("{parent}: no file of this module has `mod {module};`"));
        }
        if self.items.with_imported {
            self.remove_import(&mut plan)?;
        }
        let mut unregistered = Vec::new();
        for removed in &REGISTERED_TYPES {
            unregistered.extend(self.remove_type(&mut plan, removed)?);
        }
        self.edit(&mut plan, &[PathBuf::from("src/main.rs")], &|text| {
            let unregister = |text: String, name: &String| source::unregister(&text, self.items, name);
            unregistered.iter().try_fold(text.to_owned(), unregister)
        })?;
        let method = plural(&snake_case(&self.kind.kind));
        places.extend(uses::of_deleted(
            self.project,
            &plan,
            self.sources,
            self.items,
            &method,
        )?);
        places.extend(self.remove_samples(&mut plan)?);
        Ok((plan, places))
    }

    /// Returns the name of the kind's type with this suffix.
    fn name_of(&self, suffix: &str) -> String {
        format!("{}{suffix}", self.kind.kind)
    }

    pub(super) fn delete(&self, plan: &mut Plan, path: PathBuf) -> Result<(), Error> {
        if let Some(text) = self.project.read(&path)? {
            plan.delete(path, text, Vec::new());
        }
        Ok(())
    }

    /// Plans the deletion of a type's module and tests, and of the lines with the module. Returns the type, if it exists.
    fn remove_type(&self, plan: &mut Plan, removed: &RegisteredType) -> Result<Option<String>, Error> {
        let RegisteredType {
            folder,
            suffix,
            tests,
        } = removed;
        let (module, name) = (&self.module, self.name_of(suffix));
        let path = PathBuf::from(format!("src/{folder}/{module}.rs"));
        if source::defined_type(self.sources, &name).is_none_or(|(found, _)| found != path) {
            return Ok(None);
        }
        self.delete(plan, path)?;
        for test in *tests {
            let path = format!("tests/{module}{test}.rs");
            let text = self.project.read(&path)?.unwrap_or_default();
            if !source::item_lines(&text, self.items, &BTreeSet::from([name.clone()])).is_empty() {
                self.delete(plan, path.into())?;
            }
        }
        self.remove_module(plan, &Path::new("src").join(folder))?;
        // `add webhook` wrote the folder's module for the first webhook.
        let path = PathBuf::from(format!("src/{folder}/mod.rs"));
        if remove_import::is_empty_after(plan, &path, add_webhook::MODULE_DOC) {
            self.delete(plan, path)?;
            self.edit(plan, &["src/lib.rs".into()], &|text| {
                source::remove_module(text, folder)
            })?;
        }
        Ok(Some(name))
    }

    /// Plans the removal of the kind's module from that of a folder. Returns whether there is something to remove.
    fn remove_module(&self, plan: &mut Plan, folder: &Path) -> Result<bool, Error> {
        let files = ["mod.rs", "lib.rs", "main.rs"].map(|name| folder.join(name));
        let files: Vec<_> = files.into_iter().chain([folder.with_extension("rs")]).collect();
        self.edit(plan, &files, &|text| source::remove_module(text, &self.module))
    }

    /// Plans the edit of the first file that exists. Returns whether something changes.
    pub(super) fn edit(
        &self,
        plan: &mut Plan,
        candidates: &[PathBuf],
        edit: &dyn Fn(&str) -> Result<String, InsertError>,
    ) -> Result<bool, Error> {
        for path in candidates {
            if let Some(text) = self.project.read(path)? {
                let edited = edit(&text).map_err(|error| in_file(path, error))?;
                let changes = edited != text;
                if changes {
                    let edited = keep_formatted(self.context, &text, edited);
                    plan.write(path, Some(text), edited);
                }
                return Ok(changes);
            }
        }
        Ok(false)
    }

    /// Plans the deletion of the kind's samples. Returns the places of those in files with other objects.
    fn remove_samples(&self, plan: &mut Plan) -> Result<Vec<String>, Error> {
        let mut places = Vec::new();
        let prefix = format!("{}/", self.kind.group);
        for file in samples::read(&self.project.root)? {
            // `generate` reports what does not parse.
            let documents = file.documents.unwrap_or_default();
            let (samples, others): (Vec<_>, Vec<_>) = documents.iter().partition(|document| {
                let version = document.value["apiVersion"].as_str().unwrap_or_default();
                document.value["kind"] == *self.kind.kind && version.starts_with(&prefix)
            });
            if others.is_empty() && !samples.is_empty() {
                self.delete(plan, file.path)?;
            } else {
                let path = slashed(&file.path);
                places.extend(
                    samples
                        .iter()
                        .map(|sample| format!("{path}:{}", sample.line("kind"))),
                );
            }
        }
        Ok(places)
    }
}

//! `kubewright remove kind`: removes a kind with what `add kind`, `import`, `add version`, `add webhook` and `add controller` wrote for it.

use std::{collections::BTreeSet, path::Path};

use super::{leftover_names, registered_type, removal::Removal, remove_import, remove_version, source_edits};
use crate::{
    Context, Error,
    args::RemoveKind,
    error::KindError,
    names::{plural, snake_case},
    plan::{Plan, slashed},
    project::Project,
    samples,
    source::{self, ModuleTree, ProjectItems},
    versions::VersionedKind,
};

/// Removes the kind, unless something else needs it.
pub fn run(args: &RemoveKind, context: &mut Context<'_>) -> Result<(), Error> {
    let project = Project::find(&context.cwd)?;
    let sources = source_edits::read_sources(&project)?;
    let imported = remove_import::find(&sources, &args.kind)?;
    let is_imported = imported.is_some();
    let kind = match imported {
        Some(kind) => kind,
        None => VersionedKind::find(&project, &sources, &args.kind)?,
    };
    let crate_name = source_edits::crate_name(&project)?;
    let items = ProjectItems {
        with_imported: is_imported,
        ..ProjectItems::of(&crate_name)
    };
    let module = kind.module();
    let removal = KindRemoval {
        kind: &kind,
        removal: Removal {
            kind: &kind.kind,
            module: &module,
            items,
            project: &project,
            sources: &sources,
            context,
        },
    };
    let (plan, places) = removal.plan()?;
    if !places.is_empty() {
        let kind = kind.kind;
        return Err(KindError::InUse { kind, places }.into());
    }
    let plural = plural(&kind.kind.to_lowercase());
    let words = BTreeSet::from([&*kind.kind, &*plural]);
    let tree = ModuleTree::read(&project.root, &crate_name)?;
    let lines = |path: &Path, text: &str| {
        let mut lines = source::word_lines(text, &words);
        lines.extend(source::undecided_lines(text, tree.items().in_file(path), &module));
        lines
    };
    let kept = leftover_names::places(&project, &plan, &Path::to_owned, &lines)?;
    leftover_names::print(&kind.kind, &kept, context)?;
    let packages = leftover_names::package_steps(&project)?;
    if !source_edits::rewrite(&plan, &project, args.write, context)? {
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

/// The kind to remove.
pub(super) struct KindRemoval<'a, 'c> {
    pub(super) kind: &'a VersionedKind,
    pub(super) removal: Removal<'a, 'c>,
}

impl KindRemoval<'_, '_> {
    /// Plans the removal. Also returns the places that name the kind afterwards.
    fn plan(&self) -> Result<(Plan, Vec<String>), Error> {
        let removal = &self.removal;
        let mut plan = Plan::default();
        let mut places = Vec::new();
        let versions = self.kind.versions.iter().map(|version| version.path.clone());
        let module = self.kind.has_folder.then(|| self.kind.module_path());
        for path in versions.chain(module) {
            removal.delete(&mut plan, path)?;
        }
        removal.delete(&mut plan, self.kind.test_path())?;
        let parent = self.kind.folder.parent().unwrap_or(Path::new(""));
        if !removal.remove_module(&mut plan, parent)? {
            let (module, parent) = (removal.module, slashed(parent));
            places.push(format!("{parent}: no file of this module has `mod {module};`"));
        }
        if removal.items.with_imported {
            self.remove_import(&mut plan)?;
        }
        for removed in registered_type::ALL {
            removal.remove_type(&mut plan, removed)?;
        }
        let method = plural(&snake_case(&self.kind.kind));
        places.extend(removal.uses(&plan, Some(&method))?);
        places.extend(self.remove_samples(&mut plan)?);
        Ok((plan, places))
    }

    /// Plans the deletion of the kind's samples. Returns the places of those in files with other objects.
    fn remove_samples(&self, plan: &mut Plan) -> Result<Vec<String>, Error> {
        let mut places = Vec::new();
        for file in samples::read(&self.removal.project.root)? {
            // `generate` reports what does not parse.
            let documents = file.documents.unwrap_or_default();
            let (samples, others): (Vec<_>, Vec<_>) = documents
                .iter()
                .partition(|document| self.kind.is_of(&document.value));
            if others.is_empty() && !samples.is_empty() {
                self.removal.delete(plan, file.path)?;
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

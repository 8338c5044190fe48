//! `kubewright rename kind`: renames a kind of the project, in code, samples and file names.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
};

use super::{
    cluster_steps::{self, MovedKind},
    leftover_names,
    registered_type::{self, RegisteredType},
    remove_version, source_edits,
};
use crate::{
    Context, Error,
    args::RenameKind,
    error::KindError,
    format::keep_formatted,
    imports,
    names::{plural, snake_case},
    plan::{Plan, slashed},
    project::Project,
    samples,
    source::{self, FileRole, ModuleTree, Renaming, SourceFile},
    versions::{VersionedKind, in_file},
};

/// Renames the kind, unless the new name is used.
pub fn run(args: &RenameKind, context: &mut Context<'_>) -> Result<(), Error> {
    let project = Project::find(&context.cwd)?;
    let sources = source_edits::read_sources(&project)?;
    let new = args.new.as_str();
    let kinds = source::project_kinds(&sources);
    let find = |kind: &str| kinds.iter().find(|found| found.kind.kind == kind);
    if find(&args.kind).is_none() && find(new).is_some() {
        return context.message(format_args!("there is {new} and no {}, nothing to do", args.kind));
    }
    let kind = VersionedKind::find(&project, &sources, &args.kind)?;
    if let Some(found) = find(new) {
        return Err(Error::DuplicateKind {
            kind: new.to_owned(),
            path: found.path.clone(),
            existing: format!("{}/{}", found.kind.group, found.kind.version),
        });
    }
    let (definition, _) = remove_version::definition(&kind, &project)?;
    let rename = Rename {
        project: &project,
        sources: &sources,
        crate_name: source_edits::crate_name(&project)?,
        kind: &kind,
        new,
        context,
    };
    let texts = source::package_texts(&project.root)?;
    let tree = rename.tree(&texts, &texts, Path::to_owned);
    let plan = rename.plan(&texts, &tree)?;
    let kept = rename.kept(&plan, &tree)?;
    let old = &*kind.kind;
    leftover_names::print(old, &kept, context)?;
    if !source_edits::rewrite(&plan, &project, args.write, context)? {
        return Ok(());
    }
    let moved = MovedKind {
        kinds: [old, new].map(str::to_owned),
        groups: [kind.group.clone(), kind.group.clone()],
        stored: kind.stored.clone(),
        resources: [
            definition,
            format!("{}.{}", plural(&new.to_lowercase()), kind.group),
        ],
    };
    let packages = leftover_names::package_steps(&project)?;
    let steps = cluster_steps::steps(&project, &[moved])?;
    context.message(format_args!(
        "\nnext:\n  kubewright generate  # replaces the CRD, the permissions and the documentation of {old}\n{packages}\n\
         clusters that have objects of {old} keep them; for each cluster, in bash:\n{}",
        steps.trim_end()
    ))
}

/// The texts of files by their paths.
type Texts = BTreeMap<PathBuf, String>;

struct Rename<'a, 'c> {
    project: &'a Project,
    sources: &'a [SourceFile],
    crate_name: String,
    kind: &'a VersionedKind,
    new: &'a str,
    context: &'a Context<'c>,
}

impl Rename<'_, '_> {
    /// Plans the renaming in the texts of the project's files, which the tree is made of.
    fn plan(&self, texts: &Texts, tree: &ModuleTree) -> Result<Plan, Error> {
        let renaming = self.renaming()?;
        let mut renamed = Texts::new();
        for (path, before) in texts {
            let after = if path.starts_with(imports::MODULES) {
                before.clone()
            } else {
                let after = renaming.apply(before, self.role(path), tree.items().in_file(path));
                after.map_err(|error| in_file(path, error))?
            };
            renamed.insert(self.target(path), after);
        }
        let renamed_tree = self.tree(texts, &renamed, |path| self.target(path));
        let mut plan = Plan::default();
        let mut clashes = Vec::new();
        for (path, before) in texts {
            if path.starts_with(imports::MODULES) {
                continue;
            }
            let target = self.target(path);
            let after = renamed.remove(&target).unwrap_or_default();
            let items = renamed_tree.items().in_file(&target);
            let lines = renaming.clashes(before, &after, self.role(path), items);
            let lines = lines.map_err(|error| in_file(path, error))?;
            clashes.extend(lines.into_iter().map(|line| format!("{}:{line}", slashed(path))));
            if after == *before && target == *path {
                continue;
            }
            let after = keep_formatted(self.context, before, after)?;
            self.write(&mut plan, path, &target, before.clone(), after)?;
        }
        if !clashes.is_empty() {
            return Err(KindError::NameInUse {
                name: self.new.to_owned(),
                places: clashes,
            }
            .into());
        }
        self.plan_samples(&mut plan)?;
        Ok(plan)
    }

    /// Plans a file, at another path if its name is the kind's.
    fn write(
        &self,
        plan: &mut Plan,
        path: &Path,
        target: &Path,
        before: String,
        after: String,
    ) -> Result<(), Error> {
        if target == path {
            plan.write(path, Some(before), after);
            return Ok(());
        }
        if self.project.read(target)?.is_some() {
            let (path, name) = (target.to_owned(), self.kind.kind.clone());
            return Err(KindError::FileExists { path, name }.into());
        }
        plan.delete(path, before, vec![format!("renamed to {}", slashed(target))]);
        plan.write(target, None, after);
        Ok(())
    }

    /// Returns the tree of the files' texts, in which the kind's modules are selected. `target` returns the path of a file in it.
    fn tree(&self, files: &Texts, texts: &Texts, target: impl Fn(&Path) -> PathBuf) -> ModuleTree {
        let mut tree = ModuleTree::of(texts, &self.crate_name);
        let is_kinds = |path: &&PathBuf| matches!(self.role(path), FileRole::Definition | FileRole::Own);
        for path in files.keys().filter(is_kinds) {
            tree.select(&target(path));
        }
        tree
    }

    fn plan_samples(&self, plan: &mut Plan) -> Result<(), Error> {
        for file in samples::read(&self.project.root)? {
            let before = self.project.read(&file.path)?.unwrap_or_default();
            let names = (&*self.kind.kind, self.new);
            let after = file.with_field_renamed(&before, "kind", names, |object| self.kind.is_of(object));
            if after != before {
                let target = self.target(&file.path);
                self.write(plan, &file.path, &target, before, after)?;
            }
        }
        Ok(())
    }

    /// Returns the names that change.
    fn renaming(&self) -> Result<Renaming, Error> {
        let (old, new) = (&*self.kind.kind, self.new);
        let rename = |name: &str| name.strip_prefix(old).map(|rest| format!("{new}{rest}"));
        let mut types = BTreeMap::new();
        let mut fields = BTreeSet::new();
        for file in self.sources {
            let role = self.role(&file.path);
            if !matches!(role, FileRole::Definition | FileRole::Own) {
                continue;
            }
            for name in source::visible_names(&file.syntax) {
                // Other files may use it.
                fields.insert(name.clone());
                let derived = ["", "Apply"].map(|suffix| format!("{name}{suffix}"));
                types.extend(
                    derived
                        .into_iter()
                        .filter_map(|name| Some((name.clone(), rename(&name)?))),
                );
            }
            if role == FileRole::Definition {
                fields.extend(source::identifiers(
                    &self.project.read(&file.path)?.unwrap_or_default(),
                ));
            }
        }
        let lower = [old, new].map(str::to_lowercase);
        let plurals = lower.clone().map(|name| plural(&name));
        let resources = ["", "/status", "/scale", &format!(".{}", self.kind.group)];
        let resources = resources.map(|suffix| plurals.clone().map(|name| format!("{name}{suffix}")));
        let pairs = resources
            .into_iter()
            .chain([lower.clone()])
            .map(|[old, new]| (old, new));
        let [old_plural, new_plural] = plurals;
        let module = [self.kind.module(), snake_case(new)];
        let method = [old, new].map(|name| plural(&snake_case(name)));
        Ok(Renaming {
            literals: types.clone().into_iter().chain(pairs).collect(),
            // The snake case is left out: several names may have the same one.
            words: types
                .clone()
                .into_iter()
                .chain([(old_plural, new_plural)])
                .collect(),
            types,
            module,
            method,
            fields,
        })
    }

    fn role(&self, path: &Path) -> FileRole {
        let module = self.kind.module();
        let is_version = self.kind.versions.iter().any(|version| version.path == path);
        if is_version || (self.kind.has_folder && path == self.kind.module_path()) {
            return FileRole::Definition;
        }
        let is_of_type =
            |found: &&RegisteredType| path == found.path(&module) || path == found.test_path(&module);
        if path == self.kind.test_path() || registered_type::ALL.iter().any(is_of_type) {
            return FileRole::Own;
        }
        let parent = self.kind.folder.parent().unwrap_or(Path::new(""));
        let folders = registered_type::ALL.map(|found| Path::new("src").join(found.folder));
        let is_parent = |folder: &Path| path == folder.join("mod.rs") || path == folder.with_extension("rs");
        if is_parent(parent) || folders.iter().any(|folder| is_parent(folder)) {
            FileRole::Parent
        } else {
            FileRole::Other
        }
    }

    /// Returns the path of a file after the renaming.
    fn target(&self, path: &Path) -> PathBuf {
        let (module, new) = (self.kind.module(), snake_case(self.new));
        if self.kind.has_folder
            && let Ok(rest) = path.strip_prefix(&self.kind.folder)
        {
            return self.kind.folder.with_file_name(new).join(rest);
        }
        let is_sample = path.starts_with("manifests/samples");
        if !is_sample && !matches!(self.role(path), FileRole::Definition | FileRole::Own) {
            return path.to_owned();
        }
        let stem = path.file_stem().unwrap_or_default().to_string_lossy();
        let extension = path.extension().unwrap_or_default().to_string_lossy();
        match stem.strip_prefix(&*module) {
            Some(rest) if rest.is_empty() || rest.starts_with('_') => {
                path.with_file_name(format!("{new}{rest}.{extension}"))
            }
            _ => path.to_owned(),
        }
    }

    /// Returns the places that name the kind and are not changed: texts, comments, and what may be another type's or field's name.
    fn kept(&self, plan: &Plan, tree: &ModuleTree) -> Result<Vec<String>, Error> {
        let renaming = self.renaming()?;
        let plural = plural(&self.kind.kind.to_lowercase());
        let mut words: BTreeSet<&str> = renaming.types.keys().map(String::as_str).collect();
        words.extend([&*self.kind.kind, &*plural]);
        let mut variables = words.clone();
        variables.extend([&*renaming.module[0], &*renaming.method[0]]);
        let lines = |path: &Path, text: &str| {
            let words = match self.role(path) {
                FileRole::Own => &variables,
                _ => &words,
            };
            let mut lines = source::word_lines(text, words);
            let items = tree.items().in_file(path);
            lines.extend(source::undecided_lines(text, items, &renaming.module[0]));
            lines
        };
        leftover_names::places(self.project, plan, &|path| self.target(path), &lines)
    }
}

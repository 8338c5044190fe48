//! The places in a project's code that name something that a command removes.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use crate::{
    Error,
    plan::{Plan, slashed},
    project::Project,
    source::{self, ModuleTree, ProjectItems, SourceFile},
    versions::in_file,
};

/// Returns the files and lines that `lines` finds in the project's Rust code after the plan was applied. A file that does not parse is an error.
pub(super) fn in_code(
    project: &Project,
    plan: &Plan,
    lines: &dyn Fn(&Path, &str) -> Vec<usize>,
) -> Result<Vec<String>, Error> {
    let mut places = Vec::new();
    for path in source::package_files(&project.root)? {
        let text = project.read(&path)?.unwrap_or_default();
        source::parse(&text).map_err(|error| in_file(&path, error))?;
        let lines = match plan.changes().find(|change| change.path == path) {
            None => lines(&path, &text),
            Some(change) => match &change.after {
                Some(after) => lines_of(&text, after, &lines(&path, after)),
                None => continue,
            },
        };
        places.extend(lines.into_iter().map(|line| format!("{}:{line}", slashed(&path))));
    }
    Ok(places)
}

/// Returns the numbers of these lines of an edited text in the text before.
fn lines_of(before: &str, after: &str, lines: &[usize]) -> Vec<usize> {
    let line = |number: &usize| {
        let text = after.lines().nth(number - 1)?;
        Some(before.lines().position(|line| line == text)? + 1)
    };
    lines.iter().filter_map(line).collect()
}

/// Returns the places that name a file of the source that the plan deletes, or one of its items, or the method of the informer factory; and the
/// files in the folder of its module.
///
/// Names are resolved by the modules of the project and a file's imports: another crate's item of the same name is not found.
pub(super) fn of_deleted(
    project: &Project,
    plan: &Plan,
    sources: &[SourceFile],
    items: ProjectItems<'_>,
    method: Option<&str>,
) -> Result<Vec<String>, Error> {
    let is_deleted = |file: &&SourceFile| {
        let mut changes = plan.changes();
        changes.any(|change| change.path == file.path && change.after.is_none())
    };
    let (deleted, kept): (Vec<_>, Vec<_>) = sources.iter().partition(is_deleted);
    let visible = |files: &[&SourceFile]| -> BTreeSet<String> {
        let names = files.iter().map(|file| source::visible_names(&file.syntax));
        names.flatten().collect()
    };
    // A name that another file defines as well means that one: the deleted one is named with its module there.
    let mut names = &visible(&deleted) - &visible(&kept);
    let apply: Vec<_> = names.iter().map(|name| format!("{name}Apply")).collect();
    names.extend(apply);
    let modules: BTreeSet<PathBuf> = deleted.iter().map(|file| module_path(&file.path)).collect();
    let mut tree = ModuleTree::read(&project.root, items.crate_name)?;
    for file in &deleted {
        tree.select(&file.path);
    }
    in_code(project, plan, &|path, text| {
        let items = ProjectItems {
            with_imported: items.with_imported,
            ..tree.items().in_file(path)
        };
        if modules.iter().any(|module| path.starts_with(module)) {
            return vec![1];
        }
        let mut lines = source::item_lines(text, items, &names);
        lines.extend(
            method
                .into_iter()
                .flat_map(|method| source::informer_lines(text, method)),
        );
        for module in &modules {
            lines.extend(module_lines(module, items, path, text));
        }
        lines.sort_unstable();
        lines.dedup();
        lines
    })
}

/// Returns the path of a module's folder.
fn module_path(file: &Path) -> PathBuf {
    match file.parent() {
        Some(folder) if file.file_name().is_some_and(|name| name == "mod.rs") => folder.to_owned(),
        _ => file.with_extension(""),
    }
}

/// Returns the lines of a file that name a module.
fn module_lines(module: &Path, items: ProjectItems<'_>, path: &Path, text: &str) -> Vec<usize> {
    let name = |path: &Path| {
        path.file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned()
    };
    let parent = module.parent().unwrap_or(Path::new(""));
    let module = name(module);
    let is_root = ["mod.rs", "lib.rs", "main.rs"]
        .iter()
        .any(|root| path.ends_with(root));
    if (is_root && path.parent() == Some(parent)) || path == parent.with_extension("rs") {
        return source::module_lines(text, items, None, &module);
    }
    let parents = match &*name(parent) {
        "src" => vec!["crate".to_owned(), items.crate_name.to_owned()],
        parent => vec![parent.to_owned()],
    };
    let above = path.starts_with(parent).then(|| "super".to_owned());
    let parents = parents.iter().chain(&above);
    parents
        .flat_map(|parent| source::module_lines(text, items, Some(parent), &module))
        .collect()
}

//! The places that name something after a command, and that the user changes: code, prose, settings, and manifests and packages that the user
//! wrote or edited.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use crate::{
    Context, Error, imports,
    ownership::{generated, managed},
    packaging::format::PackageFormat,
    plan::{self, IoError, Plan, slashed},
    project::Project,
    source,
};

/// Files at the root of a project.
const FILES: [&str; 5] = [
    "README.md",
    "CHANGELOG.md",
    "Cargo.toml",
    "kubewright.toml",
    "Dockerfile",
];
/// Folders of other files than Rust's.
const FOLDERS: [&str; 5] = [".github", "docs", "manifests", "chart", "bundle"];

/// Returns the files and lines that `lines` finds in the project after the plan was applied. `target` returns the new path of a file.
pub(super) fn places(
    project: &Project,
    plan: &Plan,
    target: &dyn Fn(&Path) -> PathBuf,
    lines: &dyn Fn(&Path, &str) -> Vec<usize>,
) -> Result<Vec<String>, Error> {
    let mut files: Vec<PathBuf> = FILES.map(PathBuf::from).to_vec();
    for folder in FOLDERS {
        collect(&project.root, Path::new(folder), &mut files)?;
    }
    files.retain(|path| is_users(project, path));
    files.extend(source::package_files(&project.root)?);
    files.retain(|path| !path.starts_with(imports::MODULES));
    let mut places = Vec::new();
    for path in files {
        let target = target(&path);
        let change = plan.changes().find(|change| change.path == target);
        let text = match change {
            Some(change) => change.after.clone(),
            // A file that is not text names nothing.
            None => project.read(&path).ok().flatten(),
        };
        let mut found = lines(&path, &text.unwrap_or_default());
        found.sort_unstable();
        found.dedup();
        places.extend(
            found
                .into_iter()
                .map(|line| format!("{}:{line}", slashed(&target))),
        );
    }
    Ok(places)
}

/// Prints the places that name a type after the plan was applied.
pub(super) fn print_type(
    name: &str,
    project: &Project,
    plan: &Plan,
    context: &mut Context<'_>,
) -> Result<(), Error> {
    let words = BTreeSet::from([name]);
    let lines = |_: &Path, text: &str| source::word_lines(text, &words);
    print(name, &places(project, plan, &Path::to_owned, &lines)?, context)
}

/// Prints the places that name something after a command.
pub(super) fn print(name: &str, places: &[String], context: &mut Context<'_>) -> Result<(), Error> {
    if places.is_empty() {
        return Ok(());
    }
    context.message(format_args!(
        "these name {name} and are not changed:\n{}\n",
        places.join("\n")
    ))?;
    Ok(())
}

/// Returns the steps that bring the packages of the project up to date.
pub(super) fn package_steps(project: &Project) -> Result<String, IoError> {
    let packages = PackageFormat::existing(&project.root)?;
    let steps = packages
        .iter()
        .map(|package| format!("  {}\n", package.command()));
    Ok(steps.collect())
}

fn collect(root: &Path, folder: &Path, found: &mut Vec<PathBuf>) -> Result<(), IoError> {
    let below = |path: PathBuf| {
        path.strip_prefix(root)
            .map_or_else(|_| path.clone(), Path::to_owned)
    };
    found.extend(plan::files(&root.join(folder))?.into_iter().map(below));
    for folder in plan::folders(&root.join(folder))? {
        collect(root, &below(folder), found)?;
    }
    Ok(())
}

/// Whether a file has lines of the user: it is not as a command of kubewright wrote it, which writes it anew.
fn is_users(project: &Project, path: &Path) -> bool {
    let Ok(Some(text)) = project.read(path) else {
        return false;
    };
    let base = project.read(Path::new(managed::BASE).join(path));
    !path.starts_with(imports::DEFINITIONS)
        && !generated::is_unmodified(&text)
        && base.ok().flatten().as_deref() != Some(&*text)
}

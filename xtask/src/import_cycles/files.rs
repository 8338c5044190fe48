//! The files of a source folder, by top-level module.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use anyhow::Context as _;

/// The files that declare the top-level modules.
pub(super) const ROOT_FILES: [&str; 2] = ["lib.rs", "main.rs"];

/// The top-level modules with their files.
pub(super) fn modules(source: &Path) -> anyhow::Result<BTreeMap<String, Vec<PathBuf>>> {
    let mut modules = BTreeMap::<String, Vec<PathBuf>>::new();
    for entry in fs::read_dir(source).with_context(|| format!("read {}", source.display()))? {
        let path = entry?.path();
        let Some(name) = path.file_stem().and_then(|stem| stem.to_str()) else {
            continue;
        };
        if is_test(&path) || ROOT_FILES.iter().any(|root| path.ends_with(root)) {
            continue;
        }
        if path.is_dir() {
            collect(&path, modules.entry(name.to_owned()).or_default())?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            modules.entry(name.to_owned()).or_default().push(path);
        }
    }
    Ok(modules)
}

/// How many `super` lead from the module in `file` to the crate root.
pub(super) fn depth(source: &Path, file: &Path) -> usize {
    let below = file.strip_prefix(source).unwrap_or(file).components().count();
    if file.ends_with("mod.rs") {
        below - 1
    } else {
        below
    }
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> anyhow::Result<()> {
    for entry in fs::read_dir(folder).with_context(|| format!("read {}", folder.display()))? {
        let path = entry?.path();
        if is_test(&path) {
            continue;
        }
        if path.is_dir() {
            collect(&path, files)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    Ok(())
}

/// By its name: `tests.rs`, `…_tests.rs`, a folder `tests` or `…_tests`.
fn is_test(path: &Path) -> bool {
    path.file_stem()
        .and_then(|stem| stem.to_str())
        .is_some_and(|stem| stem == "tests" || stem.ends_with("_tests"))
}

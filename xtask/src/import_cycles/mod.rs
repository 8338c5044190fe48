//! Finds import cycles between the top-level modules of each library and program of each package, test programs included.
//! [`files`] finds the files of each module, and [`imports`] reads what each module names: through `crate`, `super`, macro arguments, and the names that the crate root re-exports.

mod files;
mod imports;

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
};

use crate::cargo_metadata;
use anyhow::{Context as _, bail};

use files::ROOT_FILES;
use imports::Imports;

/// The workspaces: the fuzzer has one of its own.
const MANIFESTS: [&str; 2] = ["Cargo.toml", "fuzz/Cargo.toml"];

/// Fails, and names the modules, when the top-level modules of a library or program import each other in a circle.
#[expect(clippy::print_stdout, reason = "standard output is the result")]
pub(crate) fn run() -> anyhow::Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .context("xtask lies in no workspace")?;
    let root = root.canonicalize()?;
    let mut failures = Vec::new();
    for folder in source_folders(&root)? {
        let cycles = cycles(&imports::of_folder(&folder)?);
        let name = folder
            .strip_prefix(&root)
            .unwrap_or(&folder)
            .display()
            .to_string();
        for cycle in &cycles {
            println!("{name}: {}", cycle.join(" ↔ "));
        }
        if !cycles.is_empty() {
            failures.push(name);
        }
    }
    if !failures.is_empty() {
        bail!(
            "import cycles between top-level modules in {}: move what both need into a module of its own",
            failures.join(", ")
        );
    }
    println!("no import cycles");
    Ok(())
}

/// Returns the folders with the modules of a library or program. A program that is one file has none.
fn source_folders(root: &Path) -> anyhow::Result<BTreeSet<PathBuf>> {
    let mut folders = BTreeSet::new();
    for manifest in MANIFESTS {
        let packages = cargo_metadata::packages(&root.join(manifest))?;
        let targets = packages
            .iter()
            .filter_map(|package| package["targets"].as_array());
        let files = targets.flatten().filter_map(|target| target["src_path"].as_str());
        for file in files.map(Path::new) {
            if ROOT_FILES.iter().any(|name| file.ends_with(name))
                && let Some(folder) = file.parent()
            {
                folders.insert(folder.canonicalize()?);
            }
        }
    }
    Ok(folders)
}

/// The sets of modules that reach each other, each sorted.
fn cycles(imports: &Imports) -> Vec<Vec<String>> {
    let reachable: BTreeMap<&String, BTreeSet<&String>> = imports
        .keys()
        .map(|module| (module, reachable(imports, module)))
        .collect();
    let mut cycles = BTreeSet::new();
    for (module, reached) in &reachable {
        let cycle: Vec<String> = reached
            .iter()
            .filter(|other| reachable[**other].contains(*module))
            .map(|other| (*other).clone())
            .collect();
        if cycle.len() > 1 {
            cycles.insert(cycle);
        }
    }
    cycles.into_iter().collect()
}

/// The modules that `module` imports, directly or through others.
fn reachable<'a>(imports: &'a Imports, module: &String) -> BTreeSet<&'a String> {
    let mut reached = BTreeSet::new();
    let mut pending: Vec<&String> = imports.get(module).into_iter().flatten().collect();
    while let Some(next) = pending.pop() {
        if let Some((known, theirs)) = imports.get_key_value(next)
            && reached.insert(known)
        {
            pending.extend(theirs);
        }
    }
    reached
}

#[cfg(test)]
mod tests;

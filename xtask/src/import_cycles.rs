//! Finds import cycles between the top-level modules of each library and program of each package, test programs included.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

use crate::cargo_metadata;
use anyhow::{Context as _, bail};
use syn::{
    Attribute, ItemMod, UseTree,
    visit::{self, Visit},
};

/// The workspaces: the fuzzer has one of its own.
const MANIFESTS: [&str; 2] = ["Cargo.toml", "fuzz/Cargo.toml"];

/// The files that declare the top-level modules.
const ROOT_FILES: [&str; 2] = ["lib.rs", "main.rs"];

/// Which top-level modules a top-level module names.
type Imports = BTreeMap<String, BTreeSet<String>>;

/// Fails, and names the modules, when the top-level modules of a library or program import each other in a circle.
#[expect(clippy::print_stdout, reason = "standard output is the result")]
pub(crate) fn run() -> anyhow::Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .context("xtask lies in no workspace")?;
    let root = root.canonicalize()?;
    let mut failures = Vec::new();
    for folder in source_folders(&root)? {
        let cycles = cycles(&imports(&folder)?);
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

/// What each top-level module of a source folder imports, tests left out.
fn imports(source: &Path) -> anyhow::Result<Imports> {
    let mut imports = Imports::new();
    let modules = modules(source)?;
    for (module, files) in &modules {
        let mut names = Names {
            known: modules.keys().cloned().collect(),
            found: BTreeSet::new(),
        };
        for file in files {
            let text = fs::read_to_string(file).with_context(|| format!("read {}", file.display()))?;
            let parsed = syn::parse_file(&text).with_context(|| format!("parse {}", file.display()))?;
            names.visit_file(&parsed);
            // In a file that is a module itself, `super` is the crate.
            if file.parent() == Some(source) || file.file_name().is_some_and(|name| name == "mod.rs") {
                names.visit_parent_uses(&parsed);
            }
        }
        names.found.remove(module);
        imports.insert(module.clone(), names.found);
    }
    Ok(imports)
}

/// The top-level modules with their files.
fn modules(source: &Path) -> anyhow::Result<BTreeMap<String, Vec<PathBuf>>> {
    let mut modules = BTreeMap::<String, Vec<PathBuf>>::new();
    for entry in fs::read_dir(source).with_context(|| format!("read {}", source.display()))? {
        let path = entry?.path();
        let Some(name) = path.file_stem().and_then(|stem| stem.to_str()) else {
            continue;
        };
        if path.is_dir() {
            let files = modules.entry(name.to_owned()).or_default();
            collect(&path, files)?;
        } else if path.extension().is_some_and(|extension| extension == "rs")
            && !ROOT_FILES.iter().any(|root| path.ends_with(root))
            && !is_test(&path)
        {
            modules.entry(name.to_owned()).or_default().push(path);
        }
    }
    Ok(modules)
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

/// Collects the top-level modules that paths name: `crate::name::…`.
struct Names {
    known: BTreeSet<String>,
    found: BTreeSet<String>,
}

impl Names {
    fn add(&mut self, name: &str) {
        if self.known.contains(name) {
            self.found.insert(name.to_owned());
        }
    }

    /// The names below `crate::`.
    fn add_tree(&mut self, tree: &UseTree) {
        match tree {
            UseTree::Path(path) => self.add(&path.ident.to_string()),
            UseTree::Name(name) => self.add(&name.ident.to_string()),
            UseTree::Rename(rename) => self.add(&rename.ident.to_string()),
            UseTree::Group(group) => group.items.iter().for_each(|tree| self.add_tree(tree)),
            UseTree::Glob(_) => {}
        }
    }

    /// `use super::name` of a top-level module's own file.
    fn visit_parent_uses(&mut self, file: &syn::File) {
        for item in &file.items {
            if let syn::Item::Use(item) = item
                && let UseTree::Path(path) = &item.tree
                && path.ident == "super"
                && !is_for_tests(&item.attrs)
            {
                self.add_tree(&path.tree);
            }
        }
    }
}

impl<'ast> Visit<'ast> for Names {
    fn visit_item_mod(&mut self, module: &'ast ItemMod) {
        if !is_for_tests(&module.attrs) {
            visit::visit_item_mod(self, module);
        }
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        if let UseTree::Path(path) = &item.tree
            && path.ident == "crate"
            && !is_for_tests(&item.attrs)
        {
            self.add_tree(&path.tree);
        }
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let mut segments = path.segments.iter();
        if segments.next().is_some_and(|first| first.ident == "crate")
            && let Some(second) = segments.next()
        {
            self.add(&second.ident.to_string());
        }
        visit::visit_path(self, path);
    }
}

fn is_for_tests(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        attribute.path().is_ident("cfg")
            && attribute
                .parse_args::<syn::Ident>()
                .is_ok_and(|argument| argument == "test")
    })
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
#[path = "import_cycles_tests.rs"]
mod tests;

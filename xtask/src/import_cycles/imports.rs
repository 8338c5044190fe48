//! Reads which top-level modules each top-level module of a source folder names.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

use anyhow::Context as _;
use proc_macro2::{TokenStream, TokenTree};
use syn::{
    Attribute, Item, ItemMod, UseTree, Visibility,
    visit::{self, Visit},
};

/// The files that declare the top-level modules.
pub(super) const ROOT_FILES: [&str; 2] = ["lib.rs", "main.rs"];

/// The name under which the crate root's own items are listed.
const ROOT: &str = "the crate root";

/// Which top-level modules a top-level module names.
pub(super) type Imports = BTreeMap<String, BTreeSet<String>>;

/// What each top-level module of a source folder imports, tests left out. A name that the crate root re-exports counts as its
/// module; one that the root defines counts as the root, which in turn imports what its own items name.
pub(super) fn of_folder(source: &Path) -> anyhow::Result<Imports> {
    let modules = modules(source)?;
    let mut crate_names: BTreeMap<String, String> =
        modules.keys().map(|name| (name.clone(), name.clone())).collect();
    let mut roots = Vec::new();
    for name in ROOT_FILES {
        let path = source.join(name);
        if path.exists() {
            let root = parse(&path)?;
            add_root_names(&root, &mut crate_names);
            roots.push(root);
        }
    }
    let mut imports = Imports::new();
    for (module, files) in &modules {
        let mut found = BTreeSet::new();
        for file in files {
            found.extend(names(&parse(file)?, depth(source, file), &crate_names));
        }
        found.remove(module);
        imports.insert(module.clone(), found);
    }
    let mut of_root = BTreeSet::new();
    for mut root in roots {
        // Re-exports are followed to their modules, so they are no imports of the root.
        root.items
            .retain(|item| !matches!(item, Item::Use(item) if is_visible(&item.vis)));
        of_root.extend(names(&root, 0, &crate_names));
    }
    of_root.remove(ROOT);
    imports.insert(ROOT.to_owned(), of_root);
    Ok(imports)
}

fn parse(file: &Path) -> anyhow::Result<syn::File> {
    let text = fs::read_to_string(file).with_context(|| format!("read {}", file.display()))?;
    syn::parse_file(&text).with_context(|| format!("parse {}", file.display()))
}

/// The top-level modules with their files.
fn modules(source: &Path) -> anyhow::Result<BTreeMap<String, Vec<PathBuf>>> {
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

/// How many `super` lead from the module in `file` to the crate root.
fn depth(source: &Path, file: &Path) -> usize {
    let below = file.strip_prefix(source).unwrap_or(file).components().count();
    if file.ends_with("mod.rs") {
        below - 1
    } else {
        below
    }
}

/// Adds to `names` what the crate root re-exports, with the module that it comes from, and what the root defines.
fn add_root_names(root: &syn::File, names: &mut BTreeMap<String, String>) {
    let modules: BTreeSet<String> = names.keys().cloned().collect();
    for item in &root.items {
        let defined = match item {
            Item::Use(item) => {
                let mut paths = Vec::new();
                flatten(&item.tree, &mut Vec::new(), &mut paths);
                for (path, name) in paths {
                    let mut segments = path
                        .iter()
                        .skip_while(|segment| *segment == "crate" || *segment == "self");
                    if let Some(module) = segments.next()
                        && modules.contains(module)
                    {
                        names.entry(name).or_insert_with(|| module.clone());
                    }
                }
                continue;
            }
            Item::Const(item) => &item.ident,
            Item::Enum(item) => &item.ident,
            Item::Fn(item) => &item.sig.ident,
            Item::Static(item) => &item.ident,
            Item::Struct(item) => &item.ident,
            Item::Trait(item) => &item.ident,
            Item::Type(item) => &item.ident,
            _ => continue,
        };
        names.insert(defined.to_string(), ROOT.to_owned());
    }
}

/// The paths of a `use`, each with the name that it introduces.
fn flatten(tree: &UseTree, prefix: &mut Vec<String>, paths: &mut Vec<(Vec<String>, String)>) {
    let mut add = |last: &syn::Ident, name: &syn::Ident| {
        let mut path = prefix.clone();
        path.push(last.to_string());
        paths.push((path, name.to_string()));
    };
    match tree {
        UseTree::Path(path) => {
            prefix.push(path.ident.to_string());
            flatten(&path.tree, prefix, paths);
            prefix.pop();
        }
        UseTree::Name(name) => add(&name.ident, &name.ident),
        UseTree::Rename(rename) => add(&rename.ident, &rename.rename),
        UseTree::Group(group) => group.items.iter().for_each(|tree| flatten(tree, prefix, paths)),
        UseTree::Glob(_) => paths.push((prefix.clone(), "*".to_owned())),
    }
}

/// The top-level modules that a file names, whose module is `depth` below the crate root.
fn names(file: &syn::File, depth: usize, crate_names: &BTreeMap<String, String>) -> BTreeSet<String> {
    let mut names = Names {
        depth,
        in_crate: crate_names,
        found: BTreeSet::new(),
    };
    names.visit_file(file);
    names.found
}

/// Collects the top-level modules of paths that begin with `crate`, or with as many `super` as lead to it.
struct Names<'a> {
    depth: usize,
    in_crate: &'a BTreeMap<String, String>,
    found: BTreeSet<String>,
}

impl Names<'_> {
    fn add(&mut self, path: &[String]) {
        let mut rest = path;
        let mut depth = self.depth;
        while let [first, others @ ..] = rest {
            match first.as_str() {
                "crate" => depth = 0,
                "self" => {}
                "super" if depth > 0 => depth -= 1,
                _ => break,
            }
            rest = others;
        }
        // In the root file, paths may begin with the module.
        if depth == 0
            && let [name, ..] = rest
            && let Some(module) = self.in_crate.get(name)
        {
            self.found.insert(module.clone());
        }
    }
}

impl<'ast> Visit<'ast> for Names<'_> {
    fn visit_item(&mut self, item: &'ast Item) {
        let attributes: &[Attribute] = match item {
            Item::Fn(item) => &item.attrs,
            Item::Impl(item) => &item.attrs,
            Item::Mod(item) => &item.attrs,
            Item::Use(item) => &item.attrs,
            _ => &[],
        };
        if !attributes.iter().any(is_for_tests) {
            visit::visit_item(self, item);
        }
    }

    fn visit_item_mod(&mut self, module: &'ast ItemMod) {
        self.depth += 1;
        visit::visit_item_mod(self, module);
        self.depth -= 1;
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        let mut paths = Vec::new();
        flatten(&item.tree, &mut Vec::new(), &mut paths);
        for (path, _) in paths {
            self.add(&path);
        }
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let segments: Vec<String> = path
            .segments
            .iter()
            .map(|segment| segment.ident.to_string())
            .collect();
        if path.leading_colon.is_none() {
            self.add(&segments);
        }
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, call: &'ast syn::Macro) {
        let mut paths = Vec::new();
        paths_in_tokens(call.tokens.clone(), &mut paths);
        for path in paths {
            self.add(&path);
        }
        visit::visit_macro(self, call);
    }
}

/// The paths in a macro's arguments that begin with `crate` or `super`.
fn paths_in_tokens(tokens: TokenStream, paths: &mut Vec<Vec<String>>) {
    let mut path: Option<Vec<String>> = None;
    for token in tokens {
        match token {
            TokenTree::Ident(ident) => match &mut path {
                Some(path) if path.last().is_some_and(|last| last == "::") => {
                    path.pop();
                    path.push(ident.to_string());
                }
                _ => {
                    paths.extend(path.take());
                    if ident == "crate" || ident == "super" {
                        path = Some(vec![ident.to_string()]);
                    }
                }
            },
            TokenTree::Punct(punct) if punct.as_char() == ':' => {
                if let Some(path) = &mut path
                    && path.last().is_some_and(|last| last != "::")
                {
                    path.push("::".to_owned());
                }
            }
            TokenTree::Group(group) => {
                paths.extend(path.take());
                paths_in_tokens(group.stream(), paths);
            }
            _ => paths.extend(path.take()),
        }
    }
    paths.extend(path);
}

fn is_visible(visibility: &Visibility) -> bool {
    !matches!(visibility, Visibility::Inherited)
}

fn is_for_tests(attribute: &Attribute) -> bool {
    attribute.path().is_ident("cfg")
        && attribute
            .parse_args::<syn::Ident>()
            .is_ok_and(|argument| argument == "test")
}

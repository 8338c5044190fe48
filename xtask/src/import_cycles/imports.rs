//! Reads which top-level modules each top-level module of a source folder names.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

use anyhow::{Context as _, bail};
use proc_macro2::{TokenStream, TokenTree};
use syn::{
    Attribute, ImplItem, Item, ItemMod, Meta, Token, UseTree, Visibility,
    punctuated::Punctuated,
    visit::{self, Visit},
};

use super::files::{self, ROOT_FILES};

/// The name under which the crate root's own items are listed.
const ROOT: &str = "the crate root";

/// Which top-level modules a top-level module names.
pub(super) type Imports = BTreeMap<String, BTreeSet<String>>;

/// What each top-level module of a source folder imports, tests left out. A name that the crate root re-exports counts as its
/// module; one that the root defines counts as the root, which in turn imports what its own items name.
pub(super) fn of_folder(source: &Path) -> anyhow::Result<Imports> {
    let modules = files::modules(source)?;
    let mut module_of_name: BTreeMap<String, String> =
        modules.keys().map(|name| (name.clone(), name.clone())).collect();
    let mut roots = Vec::new();
    for name in ROOT_FILES {
        let path = source.join(name);
        if path.exists() {
            let root = parse(&path)?;
            add_root_names(&root, &mut module_of_name).with_context(|| path.display().to_string())?;
            roots.push(root);
        }
    }
    let mut imports = Imports::new();
    for (module, files) in &modules {
        let mut found = BTreeSet::new();
        for file in files {
            found.extend(modules_named(
                &parse(file)?,
                files::depth(source, file),
                &module_of_name,
            ));
        }
        found.remove(module);
        imports.insert(module.clone(), found);
    }
    let mut of_root = BTreeSet::new();
    for mut root in roots {
        // Re-exports are followed to their modules, so they are no imports of the root.
        root.items
            .retain(|item| !matches!(item, Item::Use(item) if is_visible(&item.vis)));
        of_root.extend(modules_named(&root, 0, &module_of_name));
    }
    of_root.remove(ROOT);
    imports.insert(ROOT.to_owned(), of_root);
    Ok(imports)
}

fn parse(file: &Path) -> anyhow::Result<syn::File> {
    let text = fs::read_to_string(file).with_context(|| format!("read {}", file.display()))?;
    syn::parse_file(&text).with_context(|| format!("parse {}", file.display()))
}

/// Adds what the crate root re-exports, with the module that it comes from, and what the root defines. A module keeps its name.
///
/// # Errors
/// A glob re-export of a module, whose names are not known here.
fn add_root_names(root: &syn::File, module_of_name: &mut BTreeMap<String, String>) -> anyhow::Result<()> {
    let modules: BTreeSet<String> = module_of_name.keys().cloned().collect();
    let items = root.items.iter();
    for item in items.filter(|item| !attributes(item).iter().any(is_for_tests)) {
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
                        if name == "*" {
                            bail!(
                                "`use {}::*` in a crate root cannot be followed: name the items",
                                path.join("::")
                            );
                        }
                        module_of_name.entry(name).or_insert_with(|| module.clone());
                    }
                }
                continue;
            }
            Item::Const(item) => &item.ident,
            Item::Enum(item) => &item.ident,
            Item::Fn(item) => &item.sig.ident,
            Item::Mod(item) if item.content.is_some() => &item.ident,
            Item::Static(item) => &item.ident,
            Item::Struct(item) => &item.ident,
            Item::Trait(item) => &item.ident,
            Item::Type(item) => &item.ident,
            _ => continue,
        };
        module_of_name
            .entry(defined.to_string())
            .or_insert_with(|| ROOT.to_owned());
    }
    Ok(())
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
fn modules_named(
    file: &syn::File,
    depth: usize,
    module_of_name: &BTreeMap<String, String>,
) -> BTreeSet<String> {
    let mut visitor = ImportVisitor {
        depth,
        module_of_name,
        found: BTreeSet::new(),
    };
    visitor.visit_file(file);
    visitor.found
}

/// Collects the top-level modules of paths that begin with `crate`, or with as many `super` as lead to it.
struct ImportVisitor<'a> {
    depth: usize,
    module_of_name: &'a BTreeMap<String, String>,
    found: BTreeSet<String>,
}

impl ImportVisitor<'_> {
    fn add(&mut self, path: &[String]) {
        // A single name in the root file is a variable or an item, and not a module.
        if self.depth == 0 && path.len() < 2 {
            return;
        }
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
            && let Some(module) = self.module_of_name.get(name)
        {
            self.found.insert(module.clone());
        }
    }
}

impl<'ast> Visit<'ast> for ImportVisitor<'_> {
    fn visit_item(&mut self, item: &'ast Item) {
        if !attributes(item).iter().any(is_for_tests) {
            visit::visit_item(self, item);
        }
    }

    fn visit_impl_item(&mut self, item: &'ast ImplItem) {
        let attributes: &[Attribute] = match item {
            ImplItem::Const(item) => &item.attrs,
            ImplItem::Fn(item) => &item.attrs,
            ImplItem::Macro(item) => &item.attrs,
            ImplItem::Type(item) => &item.attrs,
            _ => &[],
        };
        if !attributes.iter().any(is_for_tests) {
            visit::visit_impl_item(self, item);
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

fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Macro(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}

fn is_for_tests(attribute: &Attribute) -> bool {
    attribute.path().is_ident("cfg")
        && attribute
            .parse_args::<Meta>()
            .is_ok_and(|condition| needs_test(&condition))
}

/// Whether only builds of tests fulfil a condition, such as `test` or `all(test, unix)`.
fn needs_test(condition: &Meta) -> bool {
    let Meta::List(list) = condition else {
        return condition.path().is_ident("test");
    };
    let conditions = list.parse_args_with(Punctuated::<Meta, Token![,]>::parse_terminated);
    list.path.is_ident("all") && conditions.is_ok_and(|conditions| conditions.iter().any(needs_test))
}

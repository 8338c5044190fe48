//! Whether a path in a file leads to the project's own items, or to those of another crate or an imported kind.

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::Ident;
use syn::{File, Item, ItemMod, ItemUse, Variant, visit::Visit};

use super::items::flatten;

/// The module below which `kubewright import` writes kinds of other projects.
const IMPORTED_MODULE: &str = "imported";

/// The names that a file imports and defines.
#[derive(Debug, Default)]
pub(super) struct ImportedNames<'a> {
    crate_name: &'a str,
    /// Whether each imported name is of the project. Where scopes differ, it is not.
    names: BTreeMap<String, bool>,
    /// The modules that the file declares.
    modules: BTreeSet<String>,
    /// The types at the top of the file.
    types: BTreeSet<String>,
    /// Whether everything of a module of the project is imported, and of another one.
    has_own_glob: bool,
    has_other_glob: bool,
    /// The variants of enums.
    pub(super) variants: Vec<Ident>,
}

impl<'a> ImportedNames<'a> {
    pub(super) fn of(file: &File, crate_name: &'a str) -> Self {
        let mut found = Visitor::default();
        found.visit_file(file);
        let types = file.items.iter().filter_map(|item| match item {
            Item::Enum(item) => Some(item.ident.to_string()),
            Item::Struct(item) => Some(item.ident.to_string()),
            Item::Trait(item) => Some(item.ident.to_string()),
            Item::Type(item) => Some(item.ident.to_string()),
            _ => None,
        });
        let mut names = Self {
            crate_name,
            modules: found.modules,
            types: types.collect(),
            variants: found.variants,
            ..Self::default()
        };
        // An import may continue the path of another one.
        for _ in 0..2 {
            let before = std::mem::take(&mut names.names);
            for import in &found.imports {
                names.add(import, &before);
            }
        }
        names
    }

    fn add(&mut self, import: &str, before: &BTreeMap<String, bool>) {
        let (path, alias) = match import.split_once(" as ") {
            Some((path, alias)) => (path, Some(alias)),
            None => (import, None),
        };
        let mut segments: Vec<&str> = path.split("::").collect();
        let last = segments.pop().unwrap_or_default();
        let root = *segments.first().unwrap_or(&last);
        let is_own =
            self.is_own_root(root, before) && !segments.contains(&IMPORTED_MODULE) && last != IMPORTED_MODULE;
        if last == "*" {
            self.has_own_glob |= is_own;
            self.has_other_glob |= !is_own;
            return;
        }
        let name = match (alias, last) {
            (Some(alias), _) => alias,
            (None, "self") => segments.last().copied().unwrap_or_default(),
            (None, last) => last,
        };
        let known = self.names.entry(name.to_owned()).or_insert(is_own);
        *known &= is_own;
    }

    fn is_own_root(&self, root: &str, names: &BTreeMap<String, bool>) -> bool {
        ["crate", "self", "super"].contains(&root)
            || root == self.crate_name
            || self.modules.contains(root)
            || names.get(root).copied().unwrap_or_default()
    }

    /// Whether the path of a module leads into the project, but not to imported kinds.
    pub(super) fn is_own_path(&self, path: &[Ident]) -> bool {
        let root = path.first().map(ToString::to_string).unwrap_or_default();
        self.is_own_root(&root, &self.names) && path.iter().all(|segment| segment != IMPORTED_MODULE)
    }

    /// Whether the name alone is imported from the project; none if it is not imported by itself.
    pub(super) fn imported(&self, name: &str) -> Option<bool> {
        self.names.get(name).copied()
    }

    /// Whether the name of a type of the project, alone, is that type. `is_kinds` says that the file is about the kind.
    pub(super) fn is_own_type(&self, name: &str, is_kinds: bool) -> bool {
        match self.imported(name) {
            Some(is_own) => is_own,
            None if self.types.contains(name) => is_kinds,
            // With neither, a macro may define it.
            None => self.has_own_glob || !self.has_other_glob,
        }
    }
}

#[derive(Default)]
struct Visitor {
    imports: Vec<String>,
    modules: BTreeSet<String>,
    variants: Vec<Ident>,
    /// The count of inline modules around an item.
    depth: usize,
}

impl<'ast> Visit<'ast> for Visitor {
    fn visit_item_use(&mut self, item: &'ast ItemUse) {
        let mut paths = Vec::new();
        flatten(&item.tree, "", &mut paths);
        // `use super::*` in an inline module imports what the file has.
        paths.retain(|path| {
            let supers = path.strip_suffix("::*").map(|path| path.split("::"));
            !supers.is_some_and(|mut path| {
                let count = path.clone().count();
                count <= self.depth && path.all(|segment| segment == "super")
            })
        });
        self.imports.extend(paths);
    }

    fn visit_item_mod(&mut self, item: &'ast ItemMod) {
        self.modules.insert(item.ident.to_string());
        self.depth += 1;
        syn::visit::visit_item_mod(self, item);
        self.depth -= 1;
    }

    fn visit_variant(&mut self, variant: &'ast Variant) {
        self.variants.push(variant.ident.clone());
        syn::visit::visit_variant(self, variant);
    }
}

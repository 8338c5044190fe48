//! Whether a path in a file leads to the project's own items, or to those of another crate or an imported kind.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

use proc_macro2::Ident;
use syn::{File, Item, ItemMod, ItemUse, Variant, visit::Visit};

use super::{
    insertion::SourceText,
    module_tree::{Import, ModuleTree, Target},
    tokens::Name,
};

/// The module below which `kubewright import` writes kinds of other projects.
const IMPORTED_MODULE: &str = "imported";

/// Which items are the project's.
#[derive(Debug, Default, Clone, Copy)]
pub struct ProjectItems<'a> {
    /// The name of its library in code.
    pub crate_name: &'a str,
    /// Whether imported kinds are, too.
    pub with_imported: bool,
    /// The project's modules, which decide before the imports of a file do.
    pub tree: Option<&'a ModuleTree>,
    /// The module of the file that is read; empty if it is not known.
    pub module: &'a [String],
}

impl<'a> ProjectItems<'a> {
    /// The items of a project's library, without imported kinds, by the imports of each file alone.
    pub const fn of(crate_name: &'a str) -> Self {
        Self {
            crate_name,
            with_imported: false,
            tree: None,
            module: &[],
        }
    }

    /// The same in another file.
    #[must_use]
    pub fn in_file(self, path: &Path) -> Self {
        Self {
            module: self
                .tree
                .and_then(|tree| tree.module_of(path))
                .unwrap_or_default(),
            ..self
        }
    }
}

/// The names that a file imports and defines.
#[derive(Debug, Default)]
pub(super) struct ImportedNames<'a> {
    project: ProjectItems<'a>,
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
    variants: Vec<Ident>,
}

impl<'a> ImportedNames<'a> {
    /// Where the names of enum variants begin in the source of the file.
    pub(super) fn variant_starts(&self, source: &SourceText<'_>) -> BTreeSet<usize> {
        self.variants
            .iter()
            .map(|variant| source.range(variant).start)
            .collect()
    }

    pub(super) fn of(file: &File, project: ProjectItems<'a>) -> Self {
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
            project,
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

    fn add(&mut self, import: &Import, before: &BTreeMap<String, bool>) {
        let path: Vec<&str> = import.path.iter().map(String::as_str).collect();
        let is_own = self.is_own(&path, before);
        let Some(name) = &import.name else {
            self.has_own_glob |= is_own;
            self.has_other_glob |= !is_own;
            return;
        };
        let known = self.names.entry(name.clone()).or_insert(is_own);
        *known &= is_own;
    }

    fn is_own(&self, path: &[&str], names: &BTreeMap<String, bool>) -> bool {
        let root = path.first().copied().unwrap_or_default();
        let is_own_root = ["crate", "self", "super", self.project.crate_name].contains(&root)
            || self.modules.contains(root)
            || names.get(root).copied().unwrap_or_default();
        is_own_root && (self.project.with_imported || !path.contains(&IMPORTED_MODULE))
    }

    /// Whether a path in an import leads into the project.
    pub(super) fn is_own_import(&self, path: &str) -> bool {
        self.is_own(&path.split("::").collect::<Vec<_>>(), &self.names)
    }

    /// Whether the path of a module leads into the project.
    pub(super) fn is_own_path(&self, path: &[Ident]) -> bool {
        let path: Vec<String> = path.iter().map(ToString::to_string).collect();
        self.is_own(&path.iter().map(String::as_str).collect::<Vec<_>>(), &self.names)
    }

    /// Whether a name of an item of the project is that item, in its path. `is_kinds` says that the file is about the kind.
    pub(super) fn is_own_item(&self, name: &Name<'_>, is_kinds: bool) -> bool {
        match name.parent {
            // An item of a type, such as a variant.
            Some(parent) if parent.to_string().starts_with(char::is_uppercase) => false,
            parent => match self.target(name) {
                Some((Target::Item(..), is_selected)) => is_selected,
                _ if parent.is_some() => self.is_own_path(name.path),
                _ => self.is_own_type(&name.ident.to_string(), is_kinds),
            },
        }
    }

    /// Whether a name in a path is a selected module of the project's [`ModuleTree`]; none if the tree does not know.
    pub(super) fn is_selected_module(&self, name: &Name<'_>) -> Option<bool> {
        // Alone, it is rather a variable.
        if !name.is_continued && name.path.is_empty() {
            return None;
        }
        match self.target(name)? {
            (Target::Module(_), is_selected) => Some(is_selected),
            (Target::Item(..), _) => Some(false),
        }
    }

    /// Whether a path may begin with a module that the file imports in a way that nothing here can follow.
    pub(super) fn is_undecided_module(&self, name: &Name<'_>) -> bool {
        name.is_continued
            && name.path.is_empty()
            && (self.has_own_glob || self.has_other_glob)
            && !self.names.contains_key(&name.ident.to_string())
            && self.target(name).is_none()
    }

    /// Returns what a name leads to, and whether that is selected or in a selected module.
    fn target(&self, name: &Name<'_>) -> Option<(Target, bool)> {
        let tree = self.project.tree?;
        let module = [self.project.module, name.modules()].concat();
        let path = name.path.iter().chain([name.ident]).map(ToString::to_string);
        let target = tree.resolve(&module, &path.collect::<Vec<_>>())?;
        let (Target::Module(module) | Target::Item(module, _)) = &target;
        let is_selected = tree.is_selected(module);
        Some((target, is_selected))
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
    imports: Vec<Import>,
    modules: BTreeSet<String>,
    variants: Vec<Ident>,
    /// The count of inline modules around an item.
    depth: usize,
}

impl<'ast> Visit<'ast> for Visitor {
    fn visit_item_use(&mut self, item: &'ast ItemUse) {
        let mut imports = Import::all_of(item);
        // `use super::*` in an inline module imports what the file has.
        imports.retain(|import| {
            let is_file = import.path.len() <= self.depth && import.path.iter().all(|name| name == "super");
            import.name.is_some() || !is_file
        });
        self.imports.extend(imports);
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

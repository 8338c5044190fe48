//! The modules of a package: what each declares and imports. Resolves paths as the compiler does, but expands no macros and knows no other crate.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
};

use syn::{Expr, ExprLit, File, Item, ItemMod, ItemUse, Lit, Meta, visit::Visit};

use super::{files::package_texts, imported_names::ProjectItems, items::flatten, kinds::visible_names};
use crate::plan::{IoError, slashed};

/// A module. The first segment is its crate: the name of the library, or the path of another root.
pub(super) type ModulePath = Vec<String>;

/// The modules of a package, of which some are selected: those that a command renames or removes.
#[derive(Debug, Default)]
pub struct ModuleTree {
    crate_name: String,
    modules: BTreeMap<ModulePath, Module>,
    files: BTreeMap<PathBuf, ModulePath>,
    selected: BTreeSet<ModulePath>,
}

/// What a module has beside other modules.
#[derive(Debug, Default)]
struct Module {
    items: BTreeSet<String>,
    /// The paths that each name is imported from; those of functions are among them.
    imports: BTreeMap<String, BTreeSet<Vec<String>>>,
    globs: BTreeSet<Vec<String>>,
}

/// What a path leads to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Target {
    Module(ModulePath),
    /// An item of a module.
    Item(ModulePath, String),
}

impl ModuleTree {
    /// Reads the modules of the package at `root`.
    pub fn read(root: &Path, crate_name: &str) -> Result<Self, IoError> {
        Ok(Self::of(&package_texts(root)?, crate_name))
    }

    /// Finds the modules in the texts of a package's files. Files that do not parse have no items.
    pub fn of(texts: &BTreeMap<PathBuf, String>, crate_name: &str) -> Self {
        let parsed = texts
            .iter()
            .filter_map(|(path, text)| Some((path.clone(), syn::parse_file(text).ok()?)));
        let parsed: BTreeMap<PathBuf, File> = parsed.collect();
        let mut tree = Self {
            crate_name: crate_name.to_owned(),
            ..Self::default()
        };
        let library = Path::new("src/lib.rs");
        tree.add_file(&parsed, library, vec![crate_name.to_owned()]);
        for root in parsed.keys().filter(|path| is_root(path)) {
            tree.add_file(&parsed, root, vec![slashed(root)]);
        }
        tree
    }

    /// Returns the project's items by this tree, without imported kinds.
    pub fn items(&self) -> ProjectItems<'_> {
        ProjectItems {
            tree: Some(self),
            ..ProjectItems::of(&self.crate_name)
        }
    }

    /// Selects the module of a file.
    pub fn select(&mut self, file: &Path) {
        self.selected.extend(self.files.get(file).cloned());
    }

    /// Whether a module is selected.
    pub(super) fn is_selected(&self, module: &[String]) -> bool {
        self.selected.contains(module)
    }

    /// Returns the module of a file; none if no `mod` declares it.
    pub(super) fn module_of(&self, file: &Path) -> Option<&[String]> {
        self.files.get(file).map(Vec::as_slice)
    }

    /// Resolves a path in a module. None: it leads to another crate, a macro makes it, or imports differ between functions.
    pub(super) fn resolve(&self, module: &[String], path: &[String]) -> Option<Target> {
        self.resolve_once(module, path, &mut BTreeSet::new())
    }

    /// `seen` has the names that are being looked up, since imports may form a cycle, and those that were not found.
    fn resolve_once(&self, module: &[String], path: &[String], seen: &mut Seen) -> Option<Target> {
        let (first, rest) = path.split_first()?;
        let start = match &**first {
            "crate" => Target::Module(module.get(..1)?.to_vec()),
            name => match self.step(module, name, seen) {
                None if name == self.crate_name => Target::Module(vec![name.to_owned()]),
                found => found?,
            },
        };
        rest.iter().try_fold(start, |found, name| match found {
            Target::Module(module) => self.step(&module, name, seen),
            // A variant or a function of the item.
            item @ Target::Item(..) => Some(item),
        })
    }

    fn step(&self, module: &[String], name: &str, seen: &mut Seen) -> Option<Target> {
        match name {
            "self" => Some(Target::Module(module.to_vec())),
            "super" => {
                let (_, parent) = module.split_last()?;
                (!parent.is_empty()).then(|| Target::Module(parent.to_vec()))
            }
            name => self.look_up(module, name, seen),
        }
    }

    fn look_up(&self, module: &[String], name: &str, seen: &mut Seen) -> Option<Target> {
        let child = [module, &[name.to_owned()]].concat();
        let found = self.modules.get(module)?;
        if self.modules.contains_key(&child) {
            return Some(Target::Module(child));
        }
        if found.items.contains(name) {
            return Some(Target::Item(module.to_vec(), name.to_owned()));
        }
        if !seen.insert(child.clone()) {
            return None;
        }
        let target = self.imported(module, found, name, seen)?;
        seen.remove(&child);
        Some(target)
    }

    fn imported(&self, module: &[String], found: &Module, name: &str, seen: &mut Seen) -> Option<Target> {
        if let Some(paths) = found.imports.get(name) {
            let mut targets = paths
                .iter()
                .map(|path| self.resolve_once(module, path, &mut seen.clone()));
            let first = targets.next()??;
            return targets
                .all(|other| other.as_ref() == Some(&first))
                .then_some(first);
        }
        found
            .globs
            .iter()
            .find_map(|path| match self.resolve_once(module, path, seen)? {
                Target::Module(glob) => self.look_up(&glob, name, seen),
                Target::Item(..) => None,
            })
    }

    fn add_file(&mut self, parsed: &BTreeMap<PathBuf, File>, path: &Path, module: ModulePath) {
        let Some(file) = parsed.get(path).filter(|_| !self.files.contains_key(path)) else {
            return;
        };
        self.files.insert(path.to_owned(), module.clone());
        let parent = path.parent().unwrap_or(Path::new(""));
        let is_beside = module.len() == 1 || path.ends_with("mod.rs");
        let folder = if is_beside {
            parent.to_owned()
        } else {
            path.with_extension("")
        };
        let names = visible_names(file);
        let derived: Vec<_> = names.iter().map(|name| format!("{name}Apply")).collect();
        self.add_items(parsed, &file.items, [parent, &folder], &module);
        let found = self.modules.entry(module).or_default();
        found.items.extend(names.into_iter().chain(derived));
    }

    /// Adds a module. `folders` are that of its file, and that of its modules.
    fn add_items(
        &mut self,
        parsed: &BTreeMap<PathBuf, File>,
        items: &[Item],
        folders: [&Path; 2],
        module: &[String],
    ) {
        let mut found = Module::default();
        for item in items {
            found.visit_item(item);
            found.items.extend(item_name(item));
            let Item::Mod(item) = item else { continue };
            let name = item.ident.to_string();
            let child = [module, std::slice::from_ref(&name)].concat();
            let folder = folders[1].join(name.trim_start_matches("r#"));
            if let Some((_, items)) = &item.content {
                self.add_items(parsed, items, [folders[0], &folder], &child);
                continue;
            }
            self.modules.entry(child.clone()).or_default();
            let files = match path_attribute(item) {
                Some(path) => vec![folders[0].join(path)],
                None => vec![folder.with_extension("rs"), folder.join("mod.rs")],
            };
            for file in files {
                self.add_file(parsed, &file, child.clone());
            }
        }
        self.modules.insert(module.to_vec(), found);
    }
}

type Seen = BTreeSet<ModulePath>;

/// The imports outside of other modules.
impl<'ast> Visit<'ast> for Module {
    fn visit_item_use(&mut self, item: &'ast ItemUse) {
        for import in Import::all_of(item) {
            match import.name {
                Some(name) => drop(self.imports.entry(name).or_default().insert(import.path)),
                None => drop(self.globs.insert(import.path)),
            }
        }
    }

    fn visit_item_mod(&mut self, _: &'ast ItemMod) {}
}

/// An imported path.
#[derive(Debug)]
pub(super) struct Import {
    /// Without `self` and `*` at its end.
    pub(super) path: Vec<String>,
    /// The name in the file; none if everything of the module is imported.
    pub(super) name: Option<String>,
}

impl Import {
    /// Returns the imports of an item.
    pub(super) fn all_of(item: &ItemUse) -> Vec<Self> {
        let mut paths = Vec::new();
        flatten(&item.tree, "", &mut paths);
        paths.iter().map(|path| Self::parse(path)).collect()
    }

    /// Parses a path that is written as [`flatten`] does.
    pub(super) fn parse(import: &str) -> Self {
        let (path, alias) = match import.split_once(" as ") {
            Some((path, alias)) => (path, Some(alias.to_owned())),
            None => (import, None),
        };
        let mut path: Vec<String> = path.split("::").map(str::to_owned).collect();
        let is_glob = path.pop_if(|last| last == "*").is_some();
        if path.len() > 1 {
            path.pop_if(|last| last == "self");
        }
        let name = if is_glob {
            None
        } else {
            alias.or_else(|| path.last().cloned())
        };
        Self { path, name }
    }
}

/// Whether the file is the root of a crate by cargo's rules; the library has its own.
fn is_root(path: &Path) -> bool {
    let parts: Vec<_> = path.iter().map(|part| part.to_string_lossy()).collect();
    let parts: Vec<&str> = parts.iter().map(|part| &**part).collect();
    matches!(
        &*parts,
        ["src", "main.rs"]
            | ["src", "bin", _]
            | ["src", "bin", _, "main.rs"]
            | ["tests" | "benches" | "examples", _]
            | ["tests" | "benches" | "examples", _, "main.rs"]
    )
}

fn item_name(item: &Item) -> Option<String> {
    let ident = match item {
        Item::Const(item) => &item.ident,
        Item::Enum(item) => &item.ident,
        Item::Fn(item) => &item.sig.ident,
        Item::Static(item) => &item.ident,
        Item::Struct(item) => &item.ident,
        Item::Trait(item) => &item.ident,
        Item::Type(item) => &item.ident,
        Item::Union(item) => &item.ident,
        _ => return None,
    };
    Some(ident.to_string())
}

/// Returns the path in `#[path = "…"]`.
fn path_attribute(item: &ItemMod) -> Option<String> {
    item.attrs.iter().find_map(|attribute| match &attribute.meta {
        Meta::NameValue(pair) if pair.path.is_ident("path") => match &pair.value {
            Expr::Lit(ExprLit {
                lit: Lit::Str(path), ..
            }) => Some(path.value()),
            _ => None,
        },
        _ => None,
    })
}

#[cfg(test)]
#[path = "module_tree_tests.rs"]
mod tests;

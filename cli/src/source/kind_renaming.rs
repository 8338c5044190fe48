//! Renames a kind in code: its types, modules, variables, and in its own files also literals and comments.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Range,
};

use proc_macro2::TokenTree;

use super::{
    InsertError,
    imported_names::{ImportedNames, ProjectItems},
    insertion::SourceText,
    tokens::{Name, Scope, informer_calls},
    variable_names::own_names,
    words::{leaves, words_outside},
};

/// Modules that may contain that of a kind.
const PARENTS: [&str; 6] = ["api", "controllers", "webhooks", "super", "self", "crate"];

/// The names that change, old to new.
#[derive(Debug, Default)]
pub struct Renaming {
    /// Types.
    pub types: BTreeMap<String, String>,
    /// The module of the kind, in snake case.
    pub module: [String; 2],
    /// The method of the informer factory: the plural in snake case.
    pub method: [String; 2],
    /// Texts of literals in the kind's own files: the kind, its resource.
    pub literals: BTreeMap<String, String>,
    /// Words of comments in the kind's own files.
    pub words: BTreeMap<String, String>,
    /// Names that do not change: those of the kind's fields, and those that other files use.
    pub fields: BTreeSet<String>,
}

/// What a file has of the kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileRole {
    /// It declares the kind's module, or is the root of a crate.
    Parent,
    /// It defines the kind.
    Definition,
    /// The controller, the webhooks or a test of the kind: its variables have the kind's name.
    Own,
    /// Any other file.
    Other,
}

impl Renaming {
    /// Returns the text with the new names. The tree of `project` has the modules of the kind selected.
    pub fn apply(
        &self,
        text: &str,
        role: FileRole,
        project: ProjectItems<'_>,
    ) -> Result<String, InsertError> {
        let source = SourceText::parse(text)?;
        let mut edits = BTreeMap::new();
        let mut edit = |range: Range<usize>, new: String| {
            edits.insert(range.start, (range, new));
        };
        let imports = ImportedNames::of(&source.file, project);
        let variants = imports.variant_starts(&source);
        Scope::default().visit(source.tokens(), &mut |name| {
            let range = source.range(name.ident);
            if variants.contains(&range.start) {
                return;
            }
            if let Some(new) = self.type_or_module(name, &imports, role) {
                edit(range, new);
            }
        });
        informer_calls(source.tokens(), &self.method[0], &mut |ident| {
            edit(source.range(ident), self.method[1].clone());
        });
        if role == FileRole::Own {
            let is_imported = |name: &str| match imports.imported(name) {
                None => false,
                Some(is_own) => !is_own || name != self.module[0],
            };
            let is_name = |name: &str| self.variable(name).is_some();
            for ident in own_names(source.tokens(), &self.method[0], &is_imported, &is_name) {
                if let Some(new) = self.variable(&ident.to_string()) {
                    edit(source.range(&ident), new);
                }
            }
        }
        if matches!(role, FileRole::Definition | FileRole::Own) {
            let (mut code, mut literals) = (Vec::new(), Vec::new());
            leaves(source.tokens(), &mut |token| {
                let range = source.range(token);
                if ["//", "/*"]
                    .iter()
                    .any(|start| text[range.clone()].starts_with(start))
                {
                    return;
                }
                if let TokenTree::Literal(literal) = token
                    && let Ok(literal) = syn::parse_str::<syn::LitStr>(&literal.to_string())
                {
                    if let Some(new) = self.literals.get(&literal.value()) {
                        edit(range.clone(), format!("{new:?}"));
                    } else {
                        literals.push(range.clone());
                    }
                }
                code.push(range);
            });
            for (range, word) in words_outside(text, &code) {
                if let Some(new) = self.words.get(word) {
                    edit(range, new.clone());
                }
            }
            // Messages name the kind; its other names may be data in them.
            for literal in literals {
                for (range, word) in words_outside(&text[literal.clone()], &[]) {
                    if let Some(new) = self.types.get(word) {
                        edit(
                            literal.start + range.start..literal.start + range.end,
                            new.clone(),
                        );
                    }
                }
            }
        }
        Ok(source.replace(edits.into_values().collect()))
    }

    /// Returns the lines that would not be as before if the renaming was undone: they have a new name already. `project` is that of the new names.
    pub fn clashes(
        &self,
        before: &str,
        after: &str,
        role: FileRole,
        project: ProjectItems<'_>,
    ) -> Result<Vec<usize>, InsertError> {
        let undone = self.inverse().apply(after, role, project)?;
        let lines = before.lines().zip(undone.lines()).enumerate();
        let differing = lines.filter(|(_, (before, undone))| before != undone);
        Ok(differing.map(|(at, _)| at + 1).collect())
    }

    fn inverse(&self) -> Self {
        let swap = |names: &BTreeMap<String, String>| {
            names
                .iter()
                .map(|(old, new)| (new.clone(), old.clone()))
                .collect()
        };
        let swap_pair = |[old, new]: &[String; 2]| [new.clone(), old.clone()];
        Self {
            types: swap(&self.types),
            module: swap_pair(&self.module),
            method: swap_pair(&self.method),
            literals: swap(&self.literals),
            words: swap(&self.words),
            fields: self.fields.clone(),
        }
    }

    /// Returns the new name of a type or module, if it is the project's.
    fn type_or_module(&self, name: &Name<'_>, imports: &ImportedNames<'_>, role: FileRole) -> Option<String> {
        let text = name.ident.to_string();
        if let Some(new) = self.types.get(&text) {
            let is_kinds = matches!(role, FileRole::Definition | FileRole::Own);
            let is_own = match name.parent {
                None if role == FileRole::Definition => imports.imported(&text) != Some(false),
                _ => imports.is_own_item(name, is_kinds),
            };
            return is_own.then(|| new.clone());
        }
        let [old, new] = &self.module;
        if text != *old {
            return None;
        }
        let is_module = match (imports.is_selected_module(name), name.parent) {
            (Some(is_selected), _) => is_selected,
            (None, Some(parent)) => {
                PARENTS.iter().any(|module| parent == module) && imports.is_own_path(name.path)
            }
            (None, None) => {
                role == FileRole::Parent || name.is_continued && imports.imported(old) == Some(true)
            }
        };
        is_module.then(|| new.clone())
    }

    /// Returns the new name of a variable: `foo`, `foos`, `foo_status`.
    fn variable(&self, name: &str) -> Option<String> {
        if self.fields.contains(name) {
            return None;
        }
        [&self.method, &self.module].into_iter().find_map(|[old, new]| {
            let rest = name.strip_prefix(old.as_str())?;
            (rest.is_empty() || rest.starts_with('_')).then(|| format!("{new}{rest}"))
        })
    }
}

#[cfg(test)]
#[path = "kind_renaming_tests.rs"]
mod tests;

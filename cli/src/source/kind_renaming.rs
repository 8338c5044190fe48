//! Renames a kind in code: its types, modules, variables, and in its own files also literals and comments.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Range,
};

use proc_macro2::{TokenStream, TokenTree};

use super::{
    InsertError,
    imported_names::{ImportedNames, ProjectItems},
    insertion::SourceText,
    tokens::{Name, Scope, informer_calls},
    variable_names::own_names,
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
    /// The name of the project's library in code.
    pub crate_name: String,
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
    /// Returns the text with the new names.
    pub fn apply(&self, text: &str, role: FileRole) -> Result<String, InsertError> {
        let source = SourceText::parse(text)?;
        let mut edits = BTreeMap::new();
        let mut edit = |range: Range<usize>, new: String| {
            edits.insert(range.start, (range, new));
        };
        let project = ProjectItems {
            crate_name: &self.crate_name,
            with_imported: false,
        };
        let imports = ImportedNames::of(&source.file, project);
        let variants: BTreeSet<usize> = imports
            .variants
            .iter()
            .map(|variant| source.range(variant).start)
            .collect();
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

    /// Returns the lines that would not be as before if the renaming was undone: they have a new name already.
    pub fn clashes(&self, before: &str, after: &str, role: FileRole) -> Result<Vec<usize>, InsertError> {
        let undone = self.inverse().apply(after, role)?;
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
            crate_name: self.crate_name.clone(),
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
        let is_module = match name.parent {
            Some(parent) => PARENTS.iter().any(|module| parent == module) && imports.is_own_path(name.path),
            None => role == FileRole::Parent || name.is_continued && imports.imported(old) == Some(true),
        };
        (text == *old && is_module).then(|| new.clone())
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

/// Returns the identifiers of a text; none if it does not parse.
pub fn identifiers(text: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    leaves(text.parse().unwrap_or_default(), &mut |token| {
        if let TokenTree::Ident(ident) = token {
            found.insert(ident.to_string());
        }
    });
    found
}

/// Returns the lines of a text that have one of the words.
pub fn word_lines(text: &str, words: &BTreeSet<&str>) -> Vec<usize> {
    let found = words_outside(text, &[])
        .into_iter()
        .filter(|(_, word)| words.contains(word));
    let mut lines: Vec<_> = found
        .map(|(range, _)| text[..range.start].matches('\n').count() + 1)
        .collect();
    lines.dedup();
    lines
}

/// Visits all tokens that are no groups.
fn leaves(tokens: TokenStream, visitor: &mut dyn FnMut(&TokenTree)) {
    for token in tokens {
        match &token {
            TokenTree::Group(group) => leaves(group.stream(), visitor),
            token => visitor(token),
        }
    }
}

/// Returns the words of a text outside of these ranges.
fn words_outside<'a>(text: &'a str, ranges: &[Range<usize>]) -> Vec<(Range<usize>, &'a str)> {
    let mut words = Vec::new();
    let mut start = None;
    for (at, c) in text.char_indices().chain([(text.len(), ' ')]) {
        let is_word = c.is_alphanumeric() || c == '_';
        match (is_word, start) {
            (true, None) => start = Some(at),
            (false, Some(from)) => {
                words.push((from..at, &text[from..at]));
                start = None;
            }
            _ => {}
        }
    }
    let mut ranges: Vec<_> = ranges.to_vec();
    ranges.sort_by_key(|range| range.start);
    let mut next = ranges.iter().peekable();
    words.retain(|(word, _)| {
        while next.next_if(|range| range.end <= word.start).is_some() {}
        next.peek().is_none_or(|range| word.end <= range.start)
    });
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn renaming() -> Renaming {
        let pairs = |pairs: &[(&str, &str)]| {
            pairs
                .iter()
                .map(|(a, b)| ((*a).to_owned(), (*b).to_owned()))
                .collect()
        };
        Renaming {
            types: pairs(&[
                ("Foo", "Bar"),
                ("FooSpec", "BarSpec"),
                ("FooController", "BarController"),
            ]),
            module: ["foo", "bar"].map(str::to_owned),
            method: ["foos", "bars"].map(str::to_owned),
            literals: pairs(&[("Foo", "Bar"), ("foos/status", "bars/status")]),
            words: pairs(&[("Foo", "Bar"), ("foos", "bars")]),
            fields: BTreeSet::from(["foo_size".to_owned()]),
            crate_name: "shop".to_owned(),
        }
    }

    #[test]
    fn names_change_by_the_role_of_the_file() {
        use FileRole::{Definition, Other, Own, Parent};
        for (role, before, after) in [
            (
                Other,
                "use crate::api::foo::Foo; // Foo",
                "use crate::api::bar::Bar; // Foo",
            ),
            (
                Other,
                "fn f(foo: Foo) { s.informers().foos(); s.foos(); let foos = \"Foo\"; }",
                "fn f(foo: Bar) { s.informers().bars(); s.foos(); let foos = \"Foo\"; }",
            ),
            (
                Parent,
                "pub mod foo;\npub use foo::FooController;",
                "pub mod bar;\npub use bar::BarController;",
            ),
            (
                Own,
                "/// A Foo, of foos.\nfn f(foo_a: Foo) { foo_a.foo_size(\"foos/status\", \"my Foo, foos\") } // Food Foo",
                "/// A Bar, of bars.\nfn f(bar_a: Bar) { bar_a.foo_size(\"bars/status\", \"my Bar, foos\") } // Food Bar",
            ),
            (
                Own,
                "struct FooController { foos: u8 }\nimpl FooController { fn foo_a(&self, foo: &Foo) { self.foos; self.foo_a(foo); x.foo_b(); \
                 C { foo: 1, ..foo }; Self { foos } } }\nimpl T for FooController { fn foo_c(&self) { node.foo; FooController { foos: foo } } }",
                "struct BarController { bars: u8 }\nimpl BarController { fn bar_a(&self, bar: &Bar) { self.bars; self.bar_a(bar); x.foo_b(); \
                 C { foo: 1, ..bar }; Self { bars } } }\nimpl T for BarController { fn foo_c(&self) { node.foo; BarController { bars: bar } } }",
            ),
            // A field of an unknown type, a short form, a name in a text, a public field, an import, a macro: they stay, and so do the variables.
            (
                Own,
                "use other::foo_g;\nstruct A { foos: u8, pub foo_p: u8 }\nfn f(a: A, foo_x: u8, foo_y: u8, foo_z: u8) { a.foos; self.foo_p; \
                 B { foo_x }; print(\"{foo_y}\"); foo_g(foo_z); foo_m!() }",
                "use other::foo_g;\nstruct A { foos: u8, pub foo_p: u8 }\nfn f(a: A, foo_x: u8, foo_y: u8, bar_z: u8) { a.foos; self.foo_p; \
                 B { foo_x }; print(\"{foo_y}\"); foo_g(bar_z); foo_m!() }",
            ),
            // Types and modules by the path, by the imports, and by a module of everything.
            (
                Other,
                "use k8s::{foo, v1::Foo};\nuse shop::api::foo::FooSpec;\nfn f(_: Foo, _: FooSpec, _: crate::api::foo::Foo, _: foo::Foo, _: E::Foo) {}",
                "use k8s::{foo, v1::Foo};\nuse shop::api::bar::BarSpec;\nfn f(_: Foo, _: BarSpec, _: crate::api::bar::Bar, _: foo::Foo, _: E::Foo) {}",
            ),
            (
                Other,
                "use crate::api::{foo, imported::x::foo::Foo as Theirs, prelude::*};\nenum E { Foo(Foo) }\nfn f(_: foo::Foo, _: k8s::api::foo::Foo) {}",
                "use crate::api::{bar, imported::x::foo::Foo as Theirs, prelude::*};\nenum E { Foo(Bar) }\nfn f(_: bar::Bar, _: k8s::api::foo::Foo) {}",
            ),
            (
                Other,
                "use k8s::v1::*;\nfn f(_: Foo) {}",
                "use k8s::v1::*;\nfn f(_: Foo) {}",
            ),
            (
                Definition,
                "#[kube(kind = \"Foo\")]\nstruct FooSpec { foo_size: u8, foo: u8 }",
                "#[kube(kind = \"Bar\")]\nstruct BarSpec { foo_size: u8, foo: u8 }",
            ),
        ] {
            assert_eq!(renaming().apply(before, role).unwrap(), after);
        }
    }

    #[test]
    fn clashes_are_found() {
        let clashes = |text: &str, role| {
            let renaming = renaming();
            renaming
                .clashes(text, &renaming.apply(text, role).unwrap(), role)
                .unwrap()
        };
        assert_eq!(
            clashes("fn f(foo: Foo) {\n    let bar_b = 1;\n} // Bar", FileRole::Own),
            [2, 3]
        );
        assert!(clashes("fn f(foo: Foo) { let bar = Barn; } // Bar", FileRole::Other).is_empty());
        assert_eq!(clashes("\nfn f(_: Bar) {}\n", FileRole::Other), [2]);
    }
}

//! Renames a kind in code: its types, modules, variables, and in its own files also literals and comments.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Range,
};

use proc_macro2::{Ident, TokenStream, TokenTree};

use super::{InsertError, insertion::SourceText, tokens::Scope};

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
    /// Names of the kind's fields, which do not change.
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
    /// Returns the text with the new names.
    pub fn apply(&self, text: &str, role: FileRole) -> Result<String, InsertError> {
        let source = SourceText::parse(text)?;
        let mut edits = BTreeMap::new();
        let mut edit = |range: Range<usize>, new: String| {
            edits.insert(range.start, (range, new));
        };
        Scope::default().visit(source.tokens(), &mut |name| {
            if let Some(new) = self.ident(name.ident, name.parent, role) {
                edit(source.range(name.ident), new);
            }
        });
        method_calls(source.tokens(), &self.method[0], &mut |ident| {
            edit(source.range(ident), self.method[1].clone());
        });
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
        }
    }

    fn ident(&self, ident: &Ident, parent: Option<&Ident>, role: FileRole) -> Option<String> {
        let name = ident.to_string();
        if let Some(new) = self.types.get(&name) {
            return Some(new.clone());
        }
        let [old, new] = &self.module;
        let is_in_path = parent.is_some_and(|parent| {
            ["api", "controllers", "webhooks", "super", "self", "crate"]
                .iter()
                .any(|module| parent == module)
        });
        if name == *old && (is_in_path || role == FileRole::Parent) {
            return Some(new.clone());
        }
        if role != FileRole::Own || self.fields.contains(&name) {
            return None;
        }
        // Variables: `foo`, `foos`, `foo_status`.
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

/// Visits the calls of a method.
fn method_calls(tokens: TokenStream, method: &str, visitor: &mut dyn FnMut(&Ident)) {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    for (at, token) in tokens.iter().enumerate() {
        match token {
            TokenTree::Group(group) => method_calls(group.stream(), method, visitor),
            TokenTree::Ident(ident) if ident == method => {
                let is_method = matches!(&tokens[..at], [.., TokenTree::Punct(dot)] if dot.as_char() == '.');
                if is_method && matches!(tokens.get(at + 1), Some(TokenTree::Group(_))) {
                    visitor(ident);
                }
            }
            _ => {}
        }
    }
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
                "fn f(foo: Foo) { s.foos(); let foos = \"Foo\"; }",
                "fn f(foo: Bar) { s.bars(); let foos = \"Foo\"; }",
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
        assert_eq!(clashes("\nstruct Bar;\n", FileRole::Other), [2]);
    }
}

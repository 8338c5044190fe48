//! What the identifiers of a file name: variables, fields or methods, of the file's own types or of others.

use std::collections::BTreeSet;

use proc_macro2::{Delimiter, Ident, TokenStream, TokenTree};

use super::tokens::{is_informers, is_path_separator};

/// What an identifier names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// A variable or a function.
    Variable,
    /// A field, of a type of this file or of another type.
    Field { is_own: bool },
    /// A field and a variable: `Foo { bar }`.
    Short { is_own: bool },
    /// A method, or a function of a type.
    Method,
}

/// The contents of a group.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Body {
    Code,
    /// Functions of a type, or of a trait and its implementation.
    Functions {
        of_trait: bool,
    },
    /// Fields in a definition, a literal or a pattern.
    Fields {
        is_own: bool,
        is_definition: bool,
    },
}

/// The uses of names in a file.
#[derive(Default)]
pub(super) struct NameUses<'a> {
    /// The structs of the file.
    own_types: BTreeSet<String>,
    /// The method of the informer factory, which is renamed by itself.
    method: &'a str,
    pub(super) names: Vec<(Ident, Place)>,
    /// Variables in the text of a literal, as in `format!("{foo}")`, and names of macros.
    pub(super) captured: BTreeSet<String>,
    pub(super) own_fields: BTreeSet<String>,
    /// Fields of values whose type is unknown, and public ones.
    pub(super) other_fields: BTreeSet<String>,
    pub(super) own_methods: BTreeSet<String>,
    pub(super) other_methods: BTreeSet<String>,
}

impl<'a> NameUses<'a> {
    /// Finds them. `method` is that of the informer factory.
    pub(super) fn of(tokens: TokenStream, method: &'a str) -> Self {
        let mut found = Self {
            own_types: struct_names(tokens.clone()),
            method,
            ..Self::default()
        };
        found.visit(tokens, Body::Code);
        found
    }

    /// Returns the names that are used in such places.
    pub(super) fn uses_of(&self, is_selected: impl Fn(Place) -> bool) -> BTreeSet<String> {
        let selected = self.names.iter().filter(|(_, place)| is_selected(*place));
        selected.map(|(ident, _)| ident.to_string()).collect()
    }

    fn visit(&mut self, tokens: TokenStream, body: Body) {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        for (at, token) in tokens.iter().enumerate() {
            let (before, after) = (&tokens[..at], &tokens[at + 1..]);
            match token {
                TokenTree::Ident(ident) => self.ident(ident, before, after, body),
                TokenTree::Group(group) => {
                    let is_brace = group.delimiter() == Delimiter::Brace;
                    let body = if is_brace {
                        self.body(before, &group.stream())
                    } else {
                        Body::Code
                    };
                    self.visit(group.stream(), body);
                }
                TokenTree::Literal(literal) => self.captured.extend(captures(&literal.to_string())),
                TokenTree::Punct(_) => {}
            }
        }
    }

    fn ident(&mut self, ident: &Ident, before: &[TokenTree], after: &[TokenTree], body: Body) {
        let name = ident.to_string();
        let is_call =
            matches!(after, [TokenTree::Group(group), ..] if group.delimiter() == Delimiter::Parenthesis);
        let place = match before {
            [.., TokenTree::Ident(owner), first, second] if is_punct(first, ':') && is_punct(second, ':') => {
                if !owner.to_string().starts_with(char::is_uppercase) {
                    return;
                }
                if owner != "Self" && !self.own_types.contains(&owner.to_string()) {
                    self.other_methods.insert(name);
                }
                Place::Method
            }
            [.., second]
                if is_punct(second, ':') && before.len() > 1 && is_punct(&before[before.len() - 2], ':') =>
            {
                return;
            }
            _ if is_path_separator(after) => return,
            [receiver @ .., dot] if is_punct(dot, '.') && !ends_with_dot(receiver) => {
                let is_self = matches!(receiver, [.., TokenTree::Ident(word)] if word == "self")
                    && !ends_with_dot(&receiver[..receiver.len() - 1]);
                match (is_call, is_self) {
                    (true, _) if name == self.method && is_informers(receiver) => return,
                    (true, false) => drop(self.other_methods.insert(name)),
                    (false, false) => drop(self.other_fields.insert(name)),
                    _ => {}
                }
                if is_call {
                    Place::Method
                } else {
                    Place::Field { is_own: true }
                }
            }
            [rest @ .., TokenTree::Ident(word)] if word == "fn" => match body {
                Body::Functions { of_trait } => {
                    let is_public = rest.iter().rev().take_while(|token| !is_end(token)).any(is_pub);
                    let methods = if of_trait || is_public {
                        &mut self.other_methods
                    } else {
                        &mut self.own_methods
                    };
                    methods.insert(name);
                    Place::Method
                }
                _ => Place::Variable,
            },
            _ => self.variable_or_field(&name, before, after, body),
        };
        self.names.push((ident.clone(), place));
    }

    fn variable_or_field(
        &mut self,
        name: &str,
        before: &[TokenTree],
        after: &[TokenTree],
        body: Body,
    ) -> Place {
        if matches!(after, [mark, next, ..] if is_punct(mark, '!') && matches!(next, TokenTree::Group(_))) {
            self.captured.insert(name.to_owned());
        }
        let Body::Fields {
            is_own,
            is_definition,
        } = body
        else {
            return Place::Variable;
        };
        let start = before
            .iter()
            .rposition(|token| is_punct(token, ','))
            .map_or(0, |at| at + 1);
        let prefix = &before[start..];
        let is_prefix = |token: &TokenTree| match token {
            TokenTree::Ident(word) => ["pub", "ref", "mut"].iter().any(|prefix| word == prefix),
            TokenTree::Group(_) => true,
            token => is_punct(token, '#'),
        };
        if !prefix.iter().all(is_prefix) {
            return Place::Variable;
        }
        match after {
            [colon, ..] if is_punct(colon, ':') => {
                if is_definition && prefix.iter().any(is_pub) {
                    self.other_fields.insert(name.to_owned());
                } else if is_definition {
                    self.own_fields.insert(name.to_owned());
                }
                Place::Field { is_own }
            }
            [] => Place::Short { is_own },
            [next, ..] if is_punct(next, ',') => Place::Short { is_own },
            _ => Place::Variable,
        }
    }

    /// Returns what a group in braces contains, by the tokens before it.
    fn body(&self, before: &[TokenTree], inside: &TokenStream) -> Body {
        let header: Vec<&TokenTree> = before.iter().rev().take_while(|token| !is_end(token)).collect();
        let has = |word: &str| {
            header
                .iter()
                .any(|token| matches!(token, TokenTree::Ident(found) if found == word))
        };
        let has_value = header.iter().any(|token| is_punct(token, '='));
        if has("struct") || has("union") {
            return Body::Fields {
                is_own: true,
                is_definition: true,
            };
        }
        if has("impl") && !has("fn") && !has_value {
            return Body::Functions { of_trait: has("for") };
        }
        if has("trait") && !has("fn") {
            return Body::Functions { of_trait: true };
        }
        let is_result = has("fn") && !has_value;
        let inside: Vec<TokenTree> = inside.clone().into_iter().take(3).collect();
        let starts_with_field = matches!(&*inside, [TokenTree::Ident(_), colon, rest @ ..]
            if is_punct(colon, ':') && !rest.first().is_some_and(|next| is_punct(next, ':')));
        match before {
            [.., TokenTree::Ident(name)]
                if !is_result && name.to_string().starts_with(char::is_uppercase) =>
            {
                Body::Fields {
                    is_own: name == "Self" || self.own_types.contains(&name.to_string()),
                    is_definition: false,
                }
            }
            _ if starts_with_field => Body::Fields {
                is_own: false,
                is_definition: false,
            },
            _ => Body::Code,
        }
    }
}

fn is_punct(token: &TokenTree, c: char) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == c)
}

fn ends_with_dot(tokens: &[TokenTree]) -> bool {
    tokens.last().is_some_and(|token| is_punct(token, '.'))
}

fn is_pub(token: &TokenTree) -> bool {
    matches!(token, TokenTree::Ident(word) if word == "pub")
}

/// Whether an item or statement ends with the token.
fn is_end(token: &TokenTree) -> bool {
    is_punct(token, ';') || matches!(token, TokenTree::Group(group) if group.delimiter() == Delimiter::Brace)
}

/// Returns the names of the structs, also those in macros.
fn struct_names(tokens: TokenStream) -> BTreeSet<String> {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let mut names = BTreeSet::new();
    for (at, token) in tokens.iter().enumerate() {
        match (token, tokens.get(at + 1)) {
            (TokenTree::Group(group), _) => names.extend(struct_names(group.stream())),
            (TokenTree::Ident(word), Some(TokenTree::Ident(name))) if word == "struct" => {
                names.insert(name.to_string());
            }
            _ => {}
        }
    }
    names
}

/// Returns the variables that a format string may name.
fn captures(literal: &str) -> impl Iterator<Item = String> {
    let parts = literal.split(['{', '$']).skip(1);
    parts.filter_map(|part| {
        let end = part.find(|c: char| !c.is_alphanumeric() && c != '_')?;
        (end > 0 && part[end..].starts_with(['}', ':', '$'])).then(|| part[..end].to_owned())
    })
}

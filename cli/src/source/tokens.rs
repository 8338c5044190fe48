//! Names in a file's tokens, in macros and attributes as well: for a module that moves, is renamed, or is removed.

use proc_macro2::{Delimiter, Ident, Literal, TokenStream, TokenTree};

use super::{InsertError, insertion::SourceText};

/// Returns the text of a module's file after the module moved one level down: paths that leave the module get one more `super`.
pub fn move_down(text: &str) -> Result<String, InsertError> {
    let source = SourceText::parse(text)?;
    let mut edits = Vec::new();
    Scope::default().visit(source.tokens(), &mut |name| {
        let is_first = name.ident == "super" && name.parent.is_none_or(|parent| parent == "self");
        if is_first && name.supers > name.scope.modules.len() {
            let start = source.range(name.ident).start;
            let new = if name.scope.is_visibility {
                "in super::"
            } else {
                "super::"
            };
            edits.push((start..start, new.to_owned()));
        }
    });
    attribute_literals(source.tokens(), false, &mut |literal| {
        if literal.to_string().starts_with("\"super::") {
            // After the quote.
            let start = source.range(literal).start + 1;
            edits.push((start..start, "super::".to_owned()));
        }
    });
    Ok(source.replace(edits))
}

/// Visits the literals in attributes, which may be paths: `#[serde(with = "super::text")]`. Inline modules are left out.
fn attribute_literals(tokens: TokenStream, is_attribute: bool, visitor: &mut dyn FnMut(&Literal)) {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    for (at, token) in tokens.iter().enumerate() {
        match token {
            TokenTree::Group(group) if module_name(&tokens[..at]).is_none() => {
                let starts = matches!(&tokens[..at], [.., TokenTree::Punct(punct)] if punct.as_char() == '#');
                attribute_literals(group.stream(), is_attribute || starts, visitor);
            }
            TokenTree::Literal(literal) if is_attribute => visitor(literal),
            _ => {}
        }
    }
}

/// Returns the name if the tokens end with `mod name`.
fn module_name(tokens: &[TokenTree]) -> Option<&Ident> {
    match tokens {
        [.., TokenTree::Ident(word), TokenTree::Ident(name)] if *word == "mod" => Some(name),
        _ => None,
    }
}

/// Returns the text with another name of a module in all paths.
pub fn rename_module(text: &str, old: &str, new: &str) -> Result<String, InsertError> {
    let source = SourceText::parse(text)?;
    let mut edits = Vec::new();
    Scope::default().visit(source.tokens(), &mut |name| {
        if name.ident == old {
            edits.push((source.range(name.ident), new.to_owned()));
        }
    });
    Ok(source.replace(edits))
}

/// Visits the identifiers outside of literals and comments, each with the segment before it in its path.
pub(super) fn visit_names(tokens: TokenStream, visitor: &mut dyn FnMut(&Ident, Option<&Ident>)) {
    Scope::default().visit(tokens, &mut |name| visitor(name.ident, name.parent));
}

/// Returns the lines that call the method.
pub fn call_lines(text: &str, method: &str) -> Vec<usize> {
    let mut lines = Vec::new();
    method_calls(text.parse().unwrap_or_default(), method, &mut |ident, _| {
        lines.push(ident.span().start().line);
    });
    lines.dedup();
    lines
}

/// Returns the lines that call the method of the informer factory.
pub fn informer_lines(text: &str, method: &str) -> Vec<usize> {
    let mut lines = Vec::new();
    informer_calls(text.parse().unwrap_or_default(), method, &mut |ident| {
        lines.push(ident.span().start().line);
    });
    lines.dedup();
    lines
}

/// Visits the calls of a method of the informer factory: `….informers().foos()`. Another type may have a method of that name.
pub(super) fn informer_calls(tokens: TokenStream, method: &str, visitor: &mut dyn FnMut(&Ident)) {
    method_calls(tokens, method, &mut |ident, receiver| {
        if is_informers(receiver) {
            visitor(ident);
        }
    });
}

/// Visits the calls of a method, each with the tokens before its dot.
fn method_calls(tokens: TokenStream, method: &str, visitor: &mut dyn FnMut(&Ident, &[TokenTree])) {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    for (at, token) in tokens.iter().enumerate() {
        match token {
            TokenTree::Group(group) => method_calls(group.stream(), method, visitor),
            TokenTree::Ident(ident) if ident == method => {
                if let [receiver @ .., TokenTree::Punct(dot)] = &tokens[..at]
                    && dot.as_char() == '.'
                    && matches!(tokens.get(at + 1), Some(TokenTree::Group(_)))
                {
                    visitor(ident, receiver);
                }
            }
            _ => {}
        }
    }
}

/// Whether the tokens before a method call end with `informers` or `informers()`.
pub(super) fn is_informers(receiver: &[TokenTree]) -> bool {
    match receiver {
        [.., TokenTree::Ident(name)] => name == "informers",
        [.., TokenTree::Ident(name), TokenTree::Group(arguments)] => {
            name == "informers" && arguments.delimiter() == Delimiter::Parenthesis
        }
        _ => false,
    }
}

/// Returns the lines with a string literal.
pub fn literal_lines(text: &str, value: &str) -> Vec<usize> {
    let mut lines = Vec::new();
    literals(text.parse().unwrap_or_default(), value, &mut |literal| {
        lines.push(literal.span().start().line);
    });
    lines.dedup();
    lines
}

/// Returns the text with another value of a string literal.
pub fn replace_literals(text: &str, old: &str, new: &str) -> Result<String, InsertError> {
    let source = SourceText::parse(text)?;
    let mut edits = Vec::new();
    literals(source.tokens(), old, &mut |literal| {
        edits.push((source.range(literal), format!("{new:?}")));
    });
    Ok(source.replace(edits))
}

/// Visits the string literals with that value.
fn literals(tokens: TokenStream, value: &str, visitor: &mut dyn FnMut(&Literal)) {
    all_literals(tokens, &mut |literal, text| {
        if text == value {
            visitor(literal);
        }
    });
}

/// Visits the string literals, with their values.
pub(super) fn all_literals(tokens: TokenStream, visitor: &mut dyn FnMut(&Literal, &str)) {
    for token in tokens {
        match token {
            TokenTree::Group(group) => all_literals(group.stream(), visitor),
            TokenTree::Literal(literal) => {
                if let Ok(text) = syn::parse_str::<syn::LitStr>(&literal.to_string()) {
                    visitor(&literal, &text.value());
                }
            }
            _ => {}
        }
    }
}

/// An identifier, and where it is.
pub(super) struct Name<'a> {
    pub(super) ident: &'a Ident,
    /// The segment before it in its path.
    pub(super) parent: Option<&'a Ident>,
    /// All segments before it.
    pub(super) path: &'a [Ident],
    /// Whether another segment of its path follows; type arguments are none.
    pub(super) is_continued: bool,
    /// The count of `super`s in the path from here on.
    supers: usize,
    scope: &'a Scope,
}

impl Name<'_> {
    /// Returns the inline modules around it.
    pub(super) fn modules(&self) -> &[String] {
        &self.scope.modules
    }
}

/// The tokens of a group.
#[derive(Clone, Default)]
pub(super) struct Scope {
    /// The path that its paths continue: imports in braces.
    base: Vec<Ident>,
    /// The inline modules around it.
    modules: Vec<String>,
    /// Whether it is the group of `pub(super)`.
    is_visibility: bool,
}

impl Scope {
    pub(super) fn visit(&self, tokens: TokenStream, visitor: &mut dyn FnMut(&Name<'_>)) {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        let mut path = self.base.clone();
        for (at, token) in tokens.iter().enumerate() {
            match token {
                TokenTree::Ident(ident) => {
                    let is_continued = is_path_separator(&tokens[at + 1..]) && !is_less(tokens.get(at + 3));
                    visitor(&Name {
                        ident,
                        parent: path.last(),
                        path: &path,
                        is_continued,
                        supers: supers(&tokens[at..]),
                        scope: self,
                    });
                    if is_continued {
                        path.push(ident.clone());
                    } else {
                        path.clear();
                    }
                }
                TokenTree::Group(group) => {
                    let is_brace = group.delimiter() == Delimiter::Brace;
                    let base = std::mem::take(&mut path);
                    let module = module_name(&tokens[..at]).filter(|_| is_brace);
                    let module = module.map(ToString::to_string);
                    let scope = Self {
                        base: if is_brace { base } else { Vec::new() },
                        modules: self.modules.iter().cloned().chain(module).collect(),
                        is_visibility: matches!(&tokens[..at], [.., TokenTree::Ident(word)] if *word == "pub")
                            && group.stream().into_iter().count() == 1,
                    };
                    scope.visit(group.stream(), visitor);
                }
                TokenTree::Punct(punct) if punct.as_char() == ':' => {}
                TokenTree::Punct(punct) if punct.as_char() == ',' => path.clone_from(&self.base),
                _ => path.clear(),
            }
        }
    }
}

/// Whether `::` follows.
pub(super) fn is_path_separator(tokens: &[TokenTree]) -> bool {
    let is_colon = |token: &TokenTree| matches!(token, TokenTree::Punct(punct) if punct.as_char() == ':');
    matches!(tokens, [first, second, ..] if is_colon(first) && is_colon(second))
}

fn is_less(token: Option<&TokenTree>) -> bool {
    matches!(token, Some(TokenTree::Punct(punct)) if punct.as_char() == '<')
}

/// Returns the length of the chain of `super`s.
fn supers(mut tokens: &[TokenTree]) -> usize {
    let mut count = 0;
    while let [TokenTree::Ident(ident), rest @ ..] = tokens
        && *ident == "super"
    {
        count += 1;
        tokens = if is_path_separator(rest) { &rest[2..] } else { &[] };
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_out_of_a_moved_module_get_one_more_super() {
        let cases = [
            ("use super::a;", "use super::super::a;"),
            ("use super::super::a;", "use super::super::super::a;"),
            ("use self::super::a;", "use self::super::super::a;"),
            ("use {b::c, super::a};", "use {b::c, super::super::a};"),
            (
                "fn f() { vec![super::a::<super::B>()]; }",
                "fn f() { vec![super::super::a::<super::super::B>()]; }",
            ),
            (
                "pub(super) struct A(pub(in super::b) u8);",
                "pub(in super::super) struct A(pub(in super::super::b) u8);",
            ),
            (
                "mod tests { use super::*; use super::super::b; pub(super) fn f() {} }",
                "mod tests { use super::*; use super::super::super::b; pub(super) fn f() {} }",
            ),
            (
                "#[a(with = super::b)] struct A; // super::c",
                "#[a(with = super::super::b)] struct A; // super::c",
            ),
            (
                "#[serde(with = \"super::b\")] struct A;",
                "#[serde(with = \"super::super::b\")] struct A;",
            ),
            ("const A: &str = \"super::a\";", "const A: &str = \"super::a\";"),
        ];
        for (before, after) in cases {
            assert_eq!(move_down(before).unwrap(), after);
        }
    }

    #[test]
    fn modules_are_renamed_in_paths_and_attributes() {
        let text = "use super::v1beta1;\n#[convert(hub = super::v1beta1::A)] // v1beta1\nstruct A { x: v1beta1::B }\n";
        assert_eq!(
            rename_module(text, "v1beta1", "v1").unwrap(),
            "use super::v1;\n#[convert(hub = super::v1::A)] // v1beta1\nstruct A { x: v1::B }\n"
        );
    }

    #[test]
    fn calls_and_literals_are_found() {
        assert_eq!(call_lines("a.b.f;\na\n.f()", "f"), [3]);
        let calls = "pool.f(2);\ns.informers().f();\ns\n.informers()\n.f();\ninformers.f();\ninformers().f;";
        assert_eq!(informer_lines(calls, "f"), [2, 5, 6]);
        let replaced = replace_literals("x!(\"a\", [\"b\", r\"a\"]); // \"a\"\n", "a", "c");
        assert_eq!(replaced.unwrap(), "x!(\"c\", [\"b\", \"c\"]); // \"a\"\n");
        assert_eq!(literal_lines("f(\"a\");\nx!(b, [\"a\", \"b\"]);\n", "a"), [1, 2]);
    }
}

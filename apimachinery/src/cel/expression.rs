//! Compilation of expressions about admission requests, and of rules.

use super::limits::{self, Depth, with_stack};
use super::lowering::{lower, lower_typed};
use super::{literals, signs};
use kube_cel::cel::parser::{Expression as Ast, Parser};
use serde_json::Value;
use std::fmt;
use std::sync::Arc;

/// What [`limits`] allow, and more.
const MAX_RECURSION: u16 = 300;

/// A compiled expression about an admission request. Clones share it.
#[derive(Clone)]
pub struct Expression(Arc<Compiled>);

struct Compiled {
    text: String,
    depth: Depth,
    /// The expression as it is evaluated, or why it cannot be.
    program: Result<Ast, String>,
}

impl Expression {
    /// Compiles an expression. One that cannot be compiled fails when it is evaluated.
    pub fn compile(text: &str) -> Self {
        let depth = limits::depth(text);
        Self(Arc::new(Compiled {
            text: text.to_owned(),
            depth: depth.clone().unwrap_or_default(),
            program: depth.and_then(|depth| with_stack(depth, || parse(text).and_then(lower))),
        }))
    }

    pub(super) fn depth(&self) -> Depth {
        self.0.depth
    }

    pub(super) fn text(&self) -> &str {
        &self.0.text
    }

    pub(super) fn compiled(&self) -> Result<&Ast, &str> {
        self.0.program.as_ref().map_err(String::as_str)
    }
}

impl fmt::Debug for Expression {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.text.fmt(formatter)
    }
}

/// Compiles a rule of this schema, whose types are known. With optional syntax, values that may be missing are selected from, too.
pub(crate) fn compile_rule(text: &str, schema: &Value) -> Result<(Ast, Depth), String> {
    let depth = limits::depth(text)?;
    let simple = for_parser(text);
    let compiled = with_stack(depth, || {
        match Parser::new().max_recursion_depth(MAX_RECURSION).parse(&simple) {
            Ok(mut plain) => {
                literals::restore(&mut plain, text);
                lower_typed(plain, schema)
            }
            Err(_) => parse(text).and_then(lower),
        }
    });
    Ok((compiled?, depth))
}

/// Returns the text, as long as it is, that kube-cel's parser reads as cel-go's reads this one, but for the values of literals.
fn for_parser(text: &str) -> String {
    literals::simplified(&signs::normalized(text))
}

/// Parses an expression.
///
/// # Errors
///
/// Returns cel-go's message.
pub(super) fn parse(text: &str) -> Result<Ast, String> {
    let depth = limits::depth(text)?;
    let parse = |text: &str| {
        let parser = Parser::new().enable_optional_syntax(true);
        parser.max_recursion_depth(MAX_RECURSION).parse(text)
    };
    with_stack(depth, || {
        // An error quotes the text as it is.
        let parsed = parse(&for_parser(text)).or_else(|_| parse(text));
        let parsed = parsed.map(|mut parsed| {
            literals::restore(&mut parsed, text);
            parsed
        });
        parsed.map_err(|errors| {
            // The parser is a port of cel-go's, but for the lines that quote the text.
            let errors = errors.to_string();
            let start = errors.find("ERROR:").unwrap_or_default();
            errors[start..].replace("\n|", "\n |").replace('\t', " ")
        })
    })
}

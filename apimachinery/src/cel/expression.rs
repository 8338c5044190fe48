//! Compilation of expressions about admission requests, and of rules.

use super::lowering::{lower, lower_typed};
use kube_cel::cel::parser::{Expression as Ast, Parser};
use std::fmt;

/// A compiled expression about an admission request.
pub struct Expression {
    text: String,
    /// The expression as it is evaluated, or why it cannot be.
    compiled: Result<Ast, String>,
}

impl Expression {
    /// Compiles an expression. One that cannot be compiled fails when it is evaluated.
    pub fn compile(text: &str) -> Self {
        Self {
            text: text.to_owned(),
            compiled: parse(text).and_then(lower),
        }
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    pub(super) fn compiled(&self) -> Result<&Ast, &str> {
        self.compiled.as_ref().map_err(String::as_str)
    }
}

impl fmt::Debug for Expression {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.text.fmt(formatter)
    }
}

/// Compiles a rule, whose types are known. With optional syntax, values that may be missing are selected from, too.
pub(crate) fn compile_rule(text: &str) -> Result<Ast, String> {
    match Parser::default().parse(text) {
        Ok(plain) => lower_typed(plain),
        Err(_) => parse(text).and_then(lower),
    }
}

/// Parses an expression.
pub(super) fn parse(text: &str) -> Result<Ast, String> {
    let parser = Parser::new().enable_optional_syntax(true);
    parser.parse(text).map_err(|errors| errors.to_string())
}

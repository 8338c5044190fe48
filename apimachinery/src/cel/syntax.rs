//! What is known of expressions without their types.

use super::expression::parse;

/// Why no expression is evaluated: there is no reason.
pub(crate) const NO_CEL: Option<&str> = None;

/// Whether an expression reads a variable. Of one that cannot be parsed, all of the text counts.
pub(crate) fn reads_variable(expression: &str, variable: &str) -> bool {
    parse(expression).map_or_else(
        |_| expression.contains(variable),
        |parsed| parsed.references().has_variable(variable),
    )
}

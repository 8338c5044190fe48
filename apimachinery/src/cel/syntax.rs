//! The syntax of expressions.

use super::expression::parse;
use kube_cel::compile_schema;
use serde_json::json;

/// Why no expression is evaluated: there is no reason.
pub(crate) const NO_CEL: Option<&str> = None;

/// kube-cel's message for syntax that it parses but does not support.
const UNSUPPORTED_SYNTAX: &str = ": unsupported syntax '";

/// Returns the syntax error of an expression; none if it can be parsed, be it only by the real server.
pub(crate) fn syntax_error(expression: &str) -> Option<String> {
    let compiled = compile_schema(&json!({ "x-kubernetes-validations": [{ "rule": expression }] }));
    let text = compiled.compilation_errors().first()?.to_string();
    // The parser is a port of the real server's, with the same messages after another prefix.
    let start = text.find("ERROR:").unwrap_or_default();
    let text = text[start..].replace("\n|", "\n |");
    // Between errors, the message quotes the rule in lines that start with a bar.
    let mut errors = text.lines().filter(|line| line.starts_with("ERROR:"));
    (!errors.all(|error| error.contains(UNSUPPORTED_SYNTAX))).then_some(text)
}

/// Whether an expression reads a variable. Of one that only the real server can parse, all of the text counts.
pub(crate) fn reads_variable(expression: &str, variable: &str) -> bool {
    parse(expression).map_or_else(
        |_| expression.contains(variable),
        |parsed| parsed.references().has_variable(variable),
    )
}

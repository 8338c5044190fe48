//! Quantities, with Go's messages about texts that are none.

use super::original;
use kube_cel::cel::extractors::This;
use kube_cel::cel::{Context, ExecutionError, ResolveResult, Value};

/// Replaces the function.
pub(super) fn register(context: &mut Context<'_>) {
    context.add_function("quantity", quantity);
}

fn quantity(This(this): This<Value>) -> ResolveResult {
    const SUFFIX: &str = "unable to parse quantity's suffix";
    const FORM: &str =
        "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
    let Value::String(text) = &this else {
        return Err(ExecutionError::NoSuchOverload);
    };
    let number = text.strip_prefix(['+', '-']).unwrap_or(text);
    let suffix = number.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
    let letters = suffix.trim_end_matches(|c: char| c.is_ascii_digit());
    let letters = letters.strip_suffix(['+', '-']).unwrap_or(letters);
    let has_form = suffix.len() < number.len() && letters.chars().all(|c| "eEinumkKMGTP".contains(c));
    let why = if has_form { SUFFIX } else { FORM };
    original("quantity", this).map_err(|_| ExecutionError::function_error("@quantity", why))
}

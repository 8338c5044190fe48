//! Replaces `declarations` without the feature `cel`: expressions are not checked, and what would evaluate them is refused.

use super::syntax::NO_CEL;
use serde_json::Value;
use std::collections::BTreeMap;

/// The composed variables by their names, and whether their types are known: never.
pub(crate) type VariableTypes = BTreeMap<String, bool>;

/// The type of any variable.
pub(crate) const ANY_TYPE: bool = false;

/// The variables of an expression that not all expressions have.
#[derive(Clone, Copy, Debug, Default)]
#[expect(dead_code, reason = "expressions are not checked")]
pub(crate) struct Declarations<'a> {
    pub(crate) has_params: bool,
    pub(crate) has_authorizer: bool,
    pub(crate) variables: Option<&'a VariableTypes>,
    pub(crate) has_patch_types: bool,
}

/// The estimated cost of an expression, which is not estimated.
#[derive(Clone, Copy, Default)]
pub(crate) struct Cost {
    pub(crate) once: u64,
    pub(crate) values_per_request: u64,
}

/// Refuses all rules, so that none is silently ignored.
pub(crate) fn check_rule(_: &Value, _: &str, _: &Value, _: bool) -> Result<Cost, String> {
    match NO_CEL {
        Some(why) => Err(format!("compilation failed: {why}")),
        None => Ok(Cost::default()),
    }
}

/// True: all rules are refused for another reason.
pub(crate) fn has_rule_type(_: &Value, _: bool) -> bool {
    true
}

/// Accepts all expressions.
#[expect(clippy::unnecessary_wraps, reason = "as where expressions are checked")]
pub(crate) fn check_device_selector(_: &str) -> Result<u64, String> {
    Ok(0)
}

/// Accepts all expressions.
#[expect(clippy::unnecessary_wraps, reason = "as where expressions are checked")]
pub(crate) fn check_expression(_: &str, _: &Declarations<'_>, _: &[&str]) -> Result<bool, String> {
    Ok(ANY_TYPE)
}

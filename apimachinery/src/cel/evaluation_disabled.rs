//! Replaces `evaluation` without the feature `cel`: no condition can be evaluated, so each is an error.

use serde_json::Value;

/// A condition that cannot be evaluated.
#[derive(Debug)]
pub struct Condition;

impl Condition {
    /// Ignores the expression.
    pub fn compile(_: &str) -> Self {
        Self
    }
}

/// Ignores all variables.
#[derive(Debug)]
pub struct Variables;

impl Variables {
    /// Ignores the variables.
    pub fn new<'a>(_: impl IntoIterator<Item = (&'a str, &'a Value)>) -> Self {
        Self
    }

    /// Fails.
    ///
    /// # Errors
    ///
    /// Always.
    pub fn evaluate(&self, _: &Condition) -> Result<bool, String> {
        Err("this API server was built without the feature `cel`".to_owned())
    }
}

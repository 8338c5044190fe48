//! Replaces `activation` without the feature `cel`: no expression can be evaluated, so each is an error.

use super::access::{AccessCheck, Authorize};
use super::budget::Budget;
use super::expression::Expression;
use super::outcome::Outcome;
use serde_json::Value;
use std::sync::Arc;

/// A composed variable: a name, and the expression that it stands for.
pub type Variable = (String, Expression);

const WITHOUT_CEL: &str = "this API server was built without the feature `cel`";

/// Variables that no expression uses.
#[derive(Debug)]
pub struct Activation;

impl Activation {
    /// Ignores the variables.
    pub fn new<'a>(
        _: impl IntoIterator<Item = (&'a str, &'a Value)>,
        _: &Arc<[Variable]>,
        _: AccessCheck,
        _: Budget,
    ) -> Self {
        Self
    }

    /// Fails.
    ///
    /// # Errors
    ///
    /// Always.
    pub fn evaluate(&self, _: &Expression, _: Authorize<'_>) -> Result<Outcome, String> {
        Err(WITHOUT_CEL.to_owned())
    }

    /// Fails.
    ///
    /// # Errors
    ///
    /// Always.
    pub fn configuration(&self, _: &Expression, _: Authorize<'_>) -> Result<Value, String> {
        Err(WITHOUT_CEL.to_owned())
    }

    /// Fails.
    ///
    /// # Errors
    ///
    /// Always.
    pub fn json_patch(&self, _: &Expression, _: Authorize<'_>) -> Result<Value, String> {
        Err(WITHOUT_CEL.to_owned())
    }
}

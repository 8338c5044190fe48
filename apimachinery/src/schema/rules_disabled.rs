//! Replaces `rules` without the feature `cel`: definitions with rules are rejected, so that no rule is silently ignored.

use super::Violations;
use serde_json::Value;

/// Never constructed.
#[derive(Debug)]
pub(super) enum Rules {}

impl Rules {
    pub(super) fn compile(_: &Value) -> Option<Self> {
        None
    }

    pub(super) fn compile_checked(_: &Value, _: bool) -> Option<Self> {
        None
    }

    pub(super) fn check(&self, _: &Value, _: Option<&Value>, _: &Value, _: &mut Violations) {
        match *self {}
    }
}

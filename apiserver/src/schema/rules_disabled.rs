//! Replaces `rules` without the feature `cel`: definitions with rules are rejected, so that no rule is silently ignored.

use crate::field::FieldError;
use serde_json::Value;

/// Never constructed.
#[derive(Debug)]
pub(super) enum Rules {}

impl Rules {
    pub(super) fn compile(_: &Value) -> Option<Self> {
        None
    }

    pub(super) fn check(&self, _: &Value, _: Option<&Value>, _: &Value) -> Vec<FieldError> {
        match *self {}
    }
}

#[expect(clippy::unnecessary_wraps, reason = "as where rules are read")]
pub(super) fn syntax_error(_: &str) -> Option<String> {
    Some("this server was built without the feature `cel`, which evaluates rules: switch it on".to_owned())
}

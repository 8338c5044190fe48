//! Replaces `syntax` without the feature `cel`: every expression is an error, so that none is silently ignored.

#[expect(clippy::unnecessary_wraps, reason = "as where rules are read")]
pub(crate) fn syntax_error(_: &str) -> Option<String> {
    Some("this server was built without the feature `cel`, which evaluates rules: switch it on".to_owned())
}

//! Replaces `syntax` without the feature `cel`: every expression is an error, so that none is silently ignored.

/// Names the test crate, since applications reach this server through it; servers that are built by hand have the feature by default.
#[expect(clippy::unnecessary_wraps, reason = "as where rules are read")]
pub(crate) fn syntax_error(_: &str) -> Option<String> {
    Some(
        "this API server was built without the feature `cel`, which evaluates rules: in Cargo.toml, under [dev-dependencies], write \
         `kubewright-testkit = { …, features = [\"cel\"] }`"
            .to_owned(),
    )
}

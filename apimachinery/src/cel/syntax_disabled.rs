//! Replaces `syntax` without the feature `cel`.

/// Why no expression is evaluated. Names the test crate, since applications reach this server through it; servers that are built by hand have
/// the feature by default.
pub(crate) const NO_CEL: Option<&str> = Some(
    "this API server was built without the feature `cel`, which evaluates rules: in Cargo.toml, under [dev-dependencies], write \
     `kubewright-testkit = { …, features = [\"cel\"] }`",
);

/// No rule is compiled, so none is asked for.
pub(crate) fn reads_variable(_expression: &str, _variable: &str) -> bool {
    false
}

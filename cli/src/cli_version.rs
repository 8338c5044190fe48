//! The version of this command, which is that of all crates of kubewright.

/// As in `1.2.3`.
pub(crate) const CLI_VERSION: &str = env!("CARGO_PKG_VERSION");

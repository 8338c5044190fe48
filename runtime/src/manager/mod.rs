//! The manager: one process, many controllers.

mod leader;

/// Why the operator ended.
#[derive(Debug, thiserror::Error)]
pub enum Error {}

/// The result of an operator's `main`.
pub type Result<T> = std::result::Result<T, Error>;

/// Runs an operator.
pub struct Manager {}

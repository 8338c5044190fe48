//! The manager: one process, many controllers.
//!
//! Read [`Manager`] first.

mod address;
mod args;
mod command_line;
mod connect;
mod error;
mod health;
mod leader;
mod logging;
mod manifests;
mod place;
mod server;
mod suggest;
mod yaml;

pub use error::{ConfigError, DefinitionError, Error, IndexError, LostLease, ManifestError, Result};

/// Runs an operator.
pub struct Manager {}

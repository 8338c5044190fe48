//! The manager: one process, many controllers.
//!
//! Read [`Manager`] first.

mod address;
mod args;
mod command_line;
mod connect;
mod error;
mod group;
mod health;
mod leader;
mod logging;
#[expect(
    clippy::module_inception,
    reason = "the manager's main type has the folder's name, as in the other parts"
)]
mod manager;
mod manifests;
mod metrics;
mod operator;
mod place;
mod server;
mod servers;
mod signals;
mod suggest;
mod work;
mod yaml;

pub use error::{ConfigError, DefinitionError, Error, IndexError, LostLease, ManifestError, Result};
pub use manager::Manager;

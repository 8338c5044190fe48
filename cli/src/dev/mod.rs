//! The implementation of `kubewright dev`.
//!
//! A [`Session`] has an API server, embedded or of a cluster, and repeats: build the operator, write the files that `generate` would
//! write, apply CRDs and roles, restart the operator under its generated roles, apply the samples, wait for a change. An error is
//! printed, and the session waits for the next change; the running operator keeps running, and is restarted if it exits.
//!
//! Read in this order: [`session`], `session_folder`, `cluster` (the API server and our credentials), `simulated_cluster` (controllers and nodes),
//! `apply`, `sample_applier`, `service_account` (the operator's credentials), `process` (child processes and their output), `build_progress`, `restart_backoff`, `source_watcher`,
//! `object_watcher`, `object_filter` and `object_diff` (changes of objects as lines), `recurring_messages`, `console`.
//!
//! All of it uses the API server as a client, so that the embedded API server and a cluster take the same code path.

mod apply;
mod build_progress;
mod cluster;
mod console;
mod object_diff;
mod object_filter;
mod object_watcher;
mod process;
mod recurring_messages;
mod restart_backoff;
mod sample_applier;
mod service_account;
pub mod session;
mod session_folder;
mod simulated_cluster;
mod source_watcher;
mod webhooks;

pub(crate) use cluster::{client_of_context, config_of_context, write_private};
pub use console::{Console, Line};
pub use session::Session;

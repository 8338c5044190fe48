//! What `kubewright dev` is made of.
//!
//! A [`Session`] holds an API server, embedded or a cluster's, and goes round: build the operator, write what `generate` would write,
//! apply CRDs and roles, restart the operator under its generated Role, apply the samples; then wait for a change. What fails is said, and
//! the next change is waited for; the operator that ran before goes on meanwhile, and is started again when it ends.
//!
//! Read in this order: [`session`], `cluster` (the API server and who we are there), `apply`, `account` (who the operator is), `process`
//! (children and their output), `restarts`, `sources` (what is a change), `changes` and `difference` (the objects' changes, as lines), `console`.
//!
//! Everything here asks the API server as any client does, so the embedded one and a cluster's are one case.

mod account;
mod apply;
mod changes;
mod cluster;
mod console;
mod difference;
mod process;
mod restarts;
pub mod session;
mod sources;

pub use cluster::ClusterError;
pub use console::{Console, Line};
pub use session::Session;

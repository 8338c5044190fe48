//! The namespace controller, with exactly its permissions, where the API server's own housekeeping is off.
#![cfg(feature = "core")]
#![allow(clippy::unwrap_used, reason = "helpers of tests are tests")]

mod namespaces;
mod scenario;

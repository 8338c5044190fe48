//! The controller of DaemonSets on an API server. Includes the scenarios of Kubernetes' integration tests.

#![cfg(feature = "workloads")]
#![expect(clippy::unwrap_used, reason = "a failed step ends the test")]

mod nodes;
mod permissions;
mod pods;
mod revisions;
mod rollouts;
mod scenario;

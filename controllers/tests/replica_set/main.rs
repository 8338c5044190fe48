//! The controllers of ReplicaSets and ReplicationControllers on an API server. Includes the scenarios of Kubernetes' integration tests.

#![expect(clippy::unwrap_used, reason = "a failed step ends the test")]

mod claims;
mod counts;
mod failures;
mod scenario;

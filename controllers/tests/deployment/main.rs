//! The controller of Deployments on an API server, beside that of ReplicaSets. Includes the scenarios of Kubernetes' integration tests.

#![expect(clippy::unwrap_used, reason = "a failed step ends the test")]

mod claims;
mod permissions;
mod recreate;
mod revisions;
mod rollouts;
mod scaling;
mod scenario;
mod status;

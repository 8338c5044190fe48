//! The controller of StatefulSets on an API server. Includes the scenarios of Kubernetes' integration tests.

#![expect(clippy::unwrap_used, reason = "a failed step ends the test")]

mod claims;
mod permissions;
mod pods;
mod scenario;
mod updates;

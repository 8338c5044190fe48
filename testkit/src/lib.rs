//! API servers for tests, embedded in the process or real, with fault injection and an audit log.
//!
//! ```
//! use kubewright_testkit::{Cluster, Failure, Fault, PermissionUnit, RequestMatcher};
//! use serde_json::json;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let cluster = Cluster::embedded()?;
//! cluster.apply(&json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "shop" } }))?;
//!
//! // The operator is a service account with exactly these permissions.
//! let permissions = [PermissionUnit::new("", "configmaps", ["list", "watch"])];
//! let operator = cluster.operator("shop", &permissions)?;
//! let unavailable = cluster
//!     .faults()
//!     .once(RequestMatcher::verb("list").user(operator.user()), Fault::Respond(Failure::unavailable()));
//!
//! // … run it, with `operator.config()` or `operator.kubeconfig()`, and wait for its effects …
//!
//! let audit = cluster.audit()?;
//! # assert!(audit.check_exact(&permissions, operator.user()).is_err());
//! # const { let _ = stringify!(
//! audit.assert_exact(&permissions, operator.user());
//! # ); }
//! # Ok(())
//! # }
//! ```
//!
//! # Tests that need a real control plane
//!
//! The control plane is built once per machine with `cargo xtask control-plane`, or taken from the folder in `KUBEBUILDER_ASSETS`. A test
//! that needs it carries
//!
//! ```text
//! #[ignore = "needs a real control plane: cargo xtask control-plane, then cargo test -- --include-ignored"]
//! ```
//!
//! so that plain `cargo test` lists it by name with that reason. When the test does run, a missing control plane is an error that says how
//! to build one: nothing is skipped silently.
//!
//! # Cleanup
//!
//! Dropping a value ends its processes and removes its folders, also on a panic. They are also cleaned up shortly after the test process
//! ends in any way, `kill -9` included. So a `static` plane ([`ControlPlane::shared`]) is safe.
//!
//! Functions block the thread: a [`Cluster`] for some milliseconds, a [`ControlPlane`] and kubectl for longer. This crate does not depend
//! on the `kubewright` library, so that each can be trusted as the other's test.
//!
//! Read [`cluster`], [`faults`], [`audit`] in that order, and for real control planes [`binaries`], [`process`], [`plane`], [`kubectl`],
//! [`proxy`].

pub mod audit;
pub mod binaries;
mod client;
pub mod cluster;
pub mod eventually;
pub mod faults;
pub mod kubectl;
pub mod plane;
pub mod process;
pub mod proxy;
mod temp_folder;

pub use audit::{AuditEvent, AuditLog, PermissionUnit};
pub use client::client;
pub use cluster::{Cluster, ClusterError};
pub use eventually::{eventually, until};
pub use faults::{Failure, Fault, Faults, RequestMatcher};
pub use kubectl::Kubectl;
#[cfg(feature = "simulation")]
pub use kubewright_simulation::{Simulation, SimulationOptions};
pub use plane::{ControlPlane, Identity};
pub use process::{ChildProcess, Launch};
pub use proxy::Proxy;

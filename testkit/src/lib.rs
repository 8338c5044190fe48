//! One way for tests to get an API server, embedded in their process or real; to make requests to it fail; and to ask it afterwards what
//! it was asked.
//!
//! ```
//! use kubewright_testkit::{Cluster, Failure, Fault, Matching, Unit};
//! use serde_json::json;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let cluster = Cluster::embedded()?;
//! cluster.apply(&json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "shop" } }))?;
//!
//! // The operator is a service account, with exactly these rights.
//! let rights = [Unit::new("", "configmaps", ["list", "watch"])];
//! let operator = cluster.operator("shop", &rights)?;
//! let broken = cluster
//!     .faults()
//!     .once(Matching::verb("list").by(operator.user()), Fault::Answer(Failure::unavailable()));
//!
//! // … run it, with `operator.config()` or `operator.kubeconfig()`, and wait for what it does …
//!
//! let audit = cluster.audit()?;
//! # assert!(audit.check_exact(&rights, operator.user()).is_err());
//! # const { let _ = stringify!(
//! audit.assert_exact(&rights, operator.user());
//! # ); }
//! # Ok(())
//! # }
//! ```
//!
//! # Tests that need the real thing
//!
//! The control plane is built once per machine with `cargo xtask control-plane`, or comes from the folder that
//! `KUBEBUILDER_ASSETS` names. A test that needs it carries
//!
//! ```text
//! #[ignore = "needs a real control plane: cargo xtask control-plane, then cargo test -- --include-ignored"]
//! ```
//!
//! so that plain `cargo test` lists it by name with that reason. Where it does run, a missing control plane is a
//! failure that says how to get one: nothing here ever skips by itself.
//!
//! # What is cleaned up
//!
//! Processes end, and folders go, when their value is dropped, also by a panic; and a moment after the test
//! process ends in whatever way, `kill -9` included. That makes a `static` plane ([`ControlPlane::shared`]) safe.
//!
//! This library blocks the thread: where a [`Cluster`] is asked for some milliseconds, with a [`ControlPlane`] and kubectl for longer.
//! It knows nothing of the `kubewright` library, so that each can be trusted as the other's test.
//!
//! Read [`cluster`], [`faults`], [`audit`] in that order, and for the real one [`binaries`], [`process`], [`plane`], [`kubectl`], [`proxy`].

pub mod audit;
pub mod binaries;
pub mod cluster;
pub mod eventually;
pub mod faults;
mod folder;
pub mod kubectl;
pub mod plane;
pub mod process;
pub mod proxy;
pub mod recipe;

pub use audit::{AuditEvent, AuditLog, Unit};
pub use cluster::{Cluster, ClusterError};
pub use eventually::{eventually, until};
pub use faults::{Failure, Fault, Faults, Matching};
pub use kubectl::Kubectl;
#[cfg(feature = "simulation")]
pub use kubewright_simulation::{Simulation, Timing};
pub use plane::{ControlPlane, Identity};
pub use process::{ChildProcess, Launch};
pub use proxy::Proxy;

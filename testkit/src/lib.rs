//! One way for tests to get a real API server, and to ask it afterwards what it was asked.
//!
//! ```no_run
//! use kubewright_testkit::{ControlPlane, Unit, eventually};
//! use std::time::Duration;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let plane = ControlPlane::builder().controller_manager(&["garbage-collector-controller"]).start()?;
//! let namespace = plane.namespace("shop")?;
//! plane.kubectl().stdin(include_str!("../Cargo.toml")).run(["apply", "--server-side", "-f", "-"])?;
//!
//! // The operator runs as a service account, with no rights but those that a test binds to it.
//! let identity = plane.service_account(&namespace, "operator")?;
//! let mut operator = plane.launch(&identity, "target/debug/shop").env("RUST_LOG", "info").start()?;
//! eventually("the lease is held", Duration::from_secs(10), || {
//!     plane.kubectl().namespace(&namespace).json(["get", "lease", "shop"])
//! });
//! operator.kill()?;
//!
//! let leases = Unit::new("coordination.k8s.io", "leases", ["get", "create", "update"]);
//! plane.audit()?.assert_exact(&[leases], identity.user());
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
//! This library blocks; in an async test call it from `spawn_blocking`, or from a multi-threaded runtime.
//! It knows nothing of the `kubewright` library, so that each can be trusted as the other's test.
//!
//! Read [`binaries`], [`process`], [`plane`], [`kubectl`], [`audit`], [`proxy`] in that order.

pub mod audit;
pub mod binaries;
pub mod eventually;
pub mod kubectl;
pub mod plane;
pub mod process;
pub mod proxy;
pub mod recipe;

pub use audit::{AuditEvent, AuditLog, Unit};
pub use eventually::eventually;
pub use kubectl::Kubectl;
pub use plane::{ControlPlane, Identity};
pub use process::{ChildProcess, Launch};
pub use proxy::Proxy;

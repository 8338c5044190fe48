//! The controllers of kube-controller-manager on kubewright's runtime: what Kubernetes does in the documents that describe it, as operators
//! would be written.
//!
//! Each controller has a folder. Its `plan.rs` is pure: from what the caches hold it computes what to do. Its `controller.rs` registers
//! sources and clients, and carries the plan out. Behaviour is that of Kubernetes v1.36, whose source under `pkg/controller` is the specification.
//!
//! [`register`] adds controllers to an operator; [`start`] runs them within any other program, such as a test.
//!
//! Read in this order: [`catalog`] (which controllers there are), [`Options`], `registration`, `shared` (what several of them need), then a
//! controller: `service_account` is the smallest, `replica_set` the one that the others resemble.
//!
//! ```no_run
//! # async fn run() -> Result<(), Box<dyn std::error::Error>> {
//! use kubewright::Manager;
//! use kubewright_controllers::{Options, register};
//!
//! let options = Options::default().select("replicaset-controller,deployment-controller")?;
//! Manager::new("controllers").register(move |setup| register(setup, &options)).run().await?;
//! # Ok(())
//! # }
//! ```

#![cfg_attr(
    not(all(feature = "core", feature = "gc", feature = "workloads")),
    allow(dead_code, reason = "what controllers share is not needed by each feature")
)]

pub mod catalog;
mod feature_gates;
mod go_duration;
mod knobs;
mod options;
mod registration;
mod shared;
mod start;

#[cfg(feature = "workloads")]
mod cron_job;
#[cfg(feature = "workloads")]
mod daemon_set;
#[cfg(feature = "workloads")]
mod deployment;
#[cfg(feature = "gc")]
mod garbage_collector;
#[cfg(feature = "workloads")]
mod job;
#[cfg(feature = "core")]
mod legacy_token_cleaner;
#[cfg(feature = "core")]
mod namespace;
#[cfg(feature = "gc")]
mod pod_garbage_collector;
#[cfg(feature = "workloads")]
mod replica_set;
#[cfg(feature = "core")]
mod root_ca;
#[cfg(feature = "core")]
mod service_account;
#[cfg(feature = "core")]
mod service_account_token;
#[cfg(feature = "workloads")]
mod stateful_set;
#[cfg(feature = "workloads")]
mod ttl_after_finished;

pub use catalog::{Controller, UnknownController};
pub use feature_gates::{FeatureGates, InvalidGates};
pub use go_duration::{InvalidDuration, parse as parse_duration};
pub use knobs::{InvalidKnobs, Knobs};
pub use options::Options;
pub use registration::register;
pub use start::{Controllers, StartError, start, start_with};

//! Controllers: from the change of an object to the call of reconcile, and the handling of its result.
//!
//! Read in the order in which an operator's author meets them: [`Setup`] records the registrations, [`ControllerBuilder`] one controller
//! with its [`Source`]s ([`ControllerSources`] while it runs), [`Permission`] a rule of the operator's role; [`Reconciler`] is what the user writes, [`Action`] and
//! [`ReconcileError`] are its results; [`ControllerRunner`] connects the informers with the work queue and runs the workers.
//!
//! - `source_set` has the sources of a controller and connects them with its work queue.
//! - `enqueue` maps changes to keys and enqueues them: predicates, owner mapping (`owner_mapping`), priorities.
//! - `worker` takes keys, calls reconcile, and requeues them.
//! - `consistency` records the writes of each reconcile: the next call finds them in the cache, and their events are handled as
//!   [`OwnEvents`] says. [`Context`] attributes the writes of spawned tasks to the reconcile. [`Expectations`] cover writes without an
//!   answer.
//! - `versions` registers the versions of a kind.
//! - `component` has the parts of a program that work by themselves.
//! - `webhooks` registers validators and defaulters.
//! - `registration_checks` finds the errors of the registrations.
//! - [`finalizer`] and [`conditions`] are helpers for reconcilers.
//!
//! # The span of a reconcile
//!
//! Each reconcile runs within a tracing span `reconcile` with controller-runtime's fields: `controller`, `controllerGroup`,
//! `controllerKind`, `namespace`, `name` and `reconcileID`, a random UUID.

pub(crate) mod args;
mod builder;
pub(crate) mod certificate_permissions;
mod component;
pub mod conditions;
mod consistency;
mod context;
mod controller_sources;
mod enqueue;
mod error;
mod expectations;
pub mod finalizer;
mod health_check;
pub(crate) mod metrics;
mod owner_mapping;
mod pause;
mod permissions;
pub mod predicates;
mod reconciler;
mod registration_checks;
mod registration_error;
mod requeue;
mod runnable;
pub(crate) mod runner;
mod setup;
mod source;
mod source_set;
mod source_target;
mod source_waits;
#[cfg(test)]
mod tests;
mod versions;
mod webhooks;
mod worker;

pub(crate) use args::{ArgSource, FixedArgs};
pub use builder::ControllerBuilder;
pub(crate) use component::{Component, RegisteredComponents};
pub use consistency::OwnEvents;
pub use context::Context;
pub use controller_sources::{ControllerSources, SourceId};
pub use error::ReconcileError;
pub use expectations::Expectations;
pub(crate) use health_check::{HealthCheck, Probe};
pub(crate) use metrics::{ControllerMetrics, Outcome};
pub use owner_mapping::{controller_reference, is_controlled_by};
pub use pause::Pause;
pub use permissions::{Permission, PermissionScope};
pub(crate) use reconciler::BoxReconciler;
pub use reconciler::Reconciler;
pub use registration_error::RegistrationError;
pub use requeue::Action;
pub use runnable::Runnable;
pub(crate) use runner::ControllerRunner;
pub use setup::Setup;
pub use source::Source;
#[cfg(test)]
use {metrics::NoMetrics, runner::Drained};

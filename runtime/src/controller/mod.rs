//! Controllers: from a change to a call of reconcile, and what becomes of its result.
//!
//! Read in the order in which an operator meets them: [`Setup`] records what is registered, [`ControllerBuilder`] one
//! controller of it, [`Permission`] what the API server must allow; [`Reconciler`] is what the user writes, [`Action`] and
//! [`ReconcileError`] what it answers; [`ControllerRunner`] feeds the queue and runs the workers. `own_writes` is why a reconcile
//! finds what it wrote, and is not woken by it; [`Context`] lets tasks write in its name, [`Expectations`] count what cannot be known
//! otherwise. The rest helps inside reconcile: owner references, [`finalizer`] and [`conditions`].
//!
//! # The span of a reconcile
//!
//! Each runs within a tracing span `reconcile` with controller-runtime's fields: `controller`, `controllerGroup`, `controllerKind`,
//! `namespace`, `name` and `reconcileID`, a random UUID.

mod action;
mod args;
mod builder;
pub mod conditions;
mod consistency;
mod context;
mod enqueue;
mod error;
mod expectations;
pub mod finalizer;
mod health_check;
mod metrics;
mod owners;
mod pause;
mod permissions;
pub mod predicates;
mod reconciler;
mod runnable;
mod runner;
mod setup;
#[cfg(test)]
mod tests;
mod worker;

pub use action::Action;
pub use args::{ArgSource, FixedArgs};
pub use builder::ControllerBuilder;
pub use conditions::{ConditionStatus, condition, set_condition};
pub use consistency::OwnEvents;
pub use context::Context;
pub use error::ReconcileError;
pub use expectations::Expectations;
pub use health_check::{HealthCheck, Probe};
pub use metrics::{ControllerMetrics, NoMetrics, Outcome};
pub use owners::{controller_reference, is_controlled_by};
pub use pause::Pause;
pub use permissions::{Permission, PermissionScope};
pub use reconciler::{BoxReconciler, Reconciler};
pub use runnable::Runnable;
pub use runner::{ControllerRunner, Drained};
pub use setup::{RegistrationError, Setup};

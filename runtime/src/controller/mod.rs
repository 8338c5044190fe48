//! Controllers: from a change to a call of reconcile, and what becomes of its result.
//!
//! Read in the order in which an operator meets them: [`Setup`] records what is registered, [`ControllerSpec`] one
//! controller of it, [`Permission`] what the API server must allow; [`Reconciler`] is what the user writes, [`Action`] and
//! [`ReconcileError`] what it answers; the runner feeds the queue and runs the workers. The rest helps inside
//! reconcile: owner references, finalizer and conditions.

mod action;
mod args;
mod error;
mod metrics;
mod permissions;
mod reconciler;
mod runnable;
mod setup;
mod spec;

pub use action::Action;
pub use args::{ArgSource, FixedArgs};
pub use error::ReconcileError;
pub use metrics::{ControllerMetrics, NoMetrics, Outcome};
pub use permissions::{Permission, Place};
pub use reconciler::{BoxReconciler, Reconciler};
pub use runnable::Runnable;
pub use setup::{RegisteredKind, RegistrationError, Setup};
pub use spec::ControllerSpec;

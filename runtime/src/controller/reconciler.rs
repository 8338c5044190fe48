//! What the user writes.

use std::{fmt, sync::Arc};

use futures::future::BoxFuture;

use super::{Action, ReconcileError};
use crate::ObjectName;

/// Brings the world of one object to what the object asks for.
///
/// The method may be written as an `async fn`:
///
/// ```
/// # use kubewright::{ObjectName, controller::{Action, ReconcileError, Reconciler}};
/// struct FooController;
///
/// impl Reconciler for FooController {
///     async fn reconcile(&self, key: &ObjectName) -> Result<Action, ReconcileError> {
///         println!("{key} wants attention");
///         Ok(Action::done())
///     }
/// }
/// ```
///
/// Guaranteed: a key is reconciled by one worker at a time; a change that arrives meanwhile calls reconcile once more
/// afterwards; changes in quick succession may be one call. An error, and a panic, is retried with a growing delay and holds
/// up no other key. When the manager stops, running calls may finish within the grace period; after it they are dropped at
/// an await.
///
/// Not guaranteed: that the object still exists, that the cache already shows what the last call wrote, or that a change is
/// seen at all when a later one hides it. Read the state, do not count changes.
pub trait Reconciler: Send + Sync + 'static {
    /// Brings the world of `key` to what its object asks for.
    fn reconcile(&self, key: &ObjectName) -> impl Future<Output = Result<Action, ReconcileError>> + Send;
}

/// A reconciler of any type. Cloning copies a pointer.
#[derive(Clone)]
pub struct BoxReconciler(Arc<dyn Erased>);

trait Erased: Send + Sync {
    fn reconcile<'a>(&'a self, key: &'a ObjectName) -> BoxFuture<'a, Result<Action, ReconcileError>>;
}

impl<R: Reconciler> Erased for R {
    fn reconcile<'a>(&'a self, key: &'a ObjectName) -> BoxFuture<'a, Result<Action, ReconcileError>> {
        Box::pin(Reconciler::reconcile(self, key))
    }
}

impl BoxReconciler {
    /// Hides the type of a reconciler.
    pub fn new(reconciler: impl Reconciler) -> Self {
        Self(Arc::new(reconciler))
    }

    /// Calls the reconciler.
    pub fn reconcile<'a>(&'a self, key: &'a ObjectName) -> BoxFuture<'a, Result<Action, ReconcileError>> {
        self.0.reconcile(key)
    }
}

impl fmt::Debug for BoxReconciler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("BoxReconciler")
    }
}

//! Reconciler: the trait that an operator implements.

use std::{fmt, sync::Arc};

use futures::future::BoxFuture;

use super::{Action, ReconcileError};
use crate::NamespacedName;

/// Drives the cluster towards the desired state of one object.
///
/// The method may be written as an `async fn`:
///
/// ```
/// # use kubewright::{NamespacedName, controller::{Action, ReconcileError, Reconciler}};
/// struct FooController;
///
/// impl Reconciler for FooController {
///     async fn reconcile(&self, key: &NamespacedName) -> Result<Action, ReconcileError> {
///         println!("reconciling {key}");
///         Ok(Action::await_change())
///     }
/// }
/// ```
///
/// A reconcile that changed something is followed by one more call, once the cache shows the change; a reconcile that changed nothing is
/// not. So it may do everything in one call, and continue with what a write returned, or take one step, return, and continue in the next
/// call. [`OwnEvents`](super::OwnEvents) has the rules and the alternatives. Write only what differs: a reconcile that changes something
/// each time is called again each time, after 20 calls with growing delays.
///
/// Guarantees: one worker at a time reconciles a key; a change that arrives during a reconcile leads to another call after it; changes in
/// quick succession may be merged into one call. Errors and panics are retried with backoff, and do not delay other keys. When the manager
/// stops, running calls may finish within the grace period; after it they are cancelled at an await.
///
/// No guarantees: that the object still exists, or that every change is seen: a later change can hide it. Read the state, do not count
/// changes (level-triggered). Other controllers of the same kind can reconcile the same key concurrently. After a lost lease, a running
/// call can overlap with the next leader's; its writes are rejected by then.
///
/// # Reading own writes
///
/// Writes of typed clients during a reconcile are recorded from the API server's answers, in the reconcile's own task and in tasks that it
/// spawns through [`Context`](super::Context). The next call of the key reads a cache that shows them:
///
/// - If the operator's informers do not show the key's writes yet, the key is parked, without holding a worker, until they have reached the
///   answered resource versions. A deleted object must be gone from the cache, or have a deletion timestamp.
/// - The key does not wait for objects that no informer lists, because of their kind, namespace or labels, nor for resource versions that
///   are not decimal numbers, which is logged once.
/// - After 10 s ([`write_wait`](super::ControllerBuilder::write_wait)) the wait times out, which is logged and counted, and the key waits
///   again with backoff. After three timeouts it is reconciled with an old cache.
/// - Only the key itself waits: other keys and other controllers can read the cache before it shows the writes.
///
/// Deletions of collections are not recorded, nor are writes without an answer: see [`Expectations`](super::Expectations).
pub trait Reconciler: Send + Sync + 'static {
    /// Drives the cluster towards the desired state of the object `key`. The returned [`Action`] says when the key is called next:
    /// controller-runtime's `Result`, with its `RequeueAfter`.
    fn reconcile(&self, key: &NamespacedName) -> impl Future<Output = Result<Action, ReconcileError>> + Send;
}

/// A reconciler with its type erased. Cloning copies a pointer.
#[derive(Clone)]
pub struct BoxReconciler(Arc<dyn ErasedReconciler>);

trait ErasedReconciler: Send + Sync {
    fn reconcile<'a>(&'a self, key: &'a NamespacedName) -> BoxFuture<'a, Result<Action, ReconcileError>>;
}

impl<R: Reconciler> ErasedReconciler for R {
    fn reconcile<'a>(&'a self, key: &'a NamespacedName) -> BoxFuture<'a, Result<Action, ReconcileError>> {
        Box::pin(Reconciler::reconcile(self, key))
    }
}

impl BoxReconciler {
    /// Erases the type of a reconciler.
    pub fn new(reconciler: impl Reconciler) -> Self {
        Self(Arc::new(reconciler))
    }

    /// Calls the reconciler.
    pub fn reconcile<'a>(&'a self, key: &'a NamespacedName) -> BoxFuture<'a, Result<Action, ReconcileError>> {
        self.0.reconcile(key)
    }
}

impl fmt::Debug for BoxReconciler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("BoxReconciler")
    }
}

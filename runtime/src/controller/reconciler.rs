//! What the user writes.

use std::{fmt, sync::Arc};

use futures::future::BoxFuture;

use super::{Action, ReconcileError};
use crate::NamespacedName;

/// Brings the world of one object to what the object asks for.
///
/// **A reconcile that returns after it has created or changed something is not called again because of that.** The events of its own
/// writes do not wake the key that made them: go on in the same call with what the write returned, or ask for another with
/// [`Action::RequeueAfter`] or [`Action::Requeue`]. What others write wakes it, and so does what became of its writes: a Deployment's status,
/// say. [`OwnEvents::Enqueue`](super::OwnEvents::Enqueue) turns that off.
///
/// The method may be written as an `async fn`:
///
/// ```
/// # use kubewright::{NamespacedName, controller::{Action, ReconcileError, Reconciler}};
/// struct FooController;
///
/// impl Reconciler for FooController {
///     async fn reconcile(&self, key: &NamespacedName) -> Result<Action, ReconcileError> {
///         println!("{key} wants attention");
///         Ok(Action::await_change())
///     }
/// }
/// ```
///
/// Guaranteed: a key is reconciled by one worker at a time; a change that arrives meanwhile calls reconcile once more
/// afterwards; changes in quick succession may be one call. An error, and a panic, is retried with a growing delay and holds
/// up no other key. When the manager stops, running calls may finish within the grace period; after it they are dropped at
/// an await.
///
/// Not guaranteed: that the object still exists, or that a change is seen at all when a later one hides it. Read the state, do not
/// count changes. Nor that nobody else works on the object: another controller of the same kind may run at the same time with the same
/// key, and where the lease was lost, a call that runs still may overlap with the next leader's, though its writes are refused by then.
///
/// # What it wrote itself
///
/// What typed clients write while reconcile runs is noted from the API server's answers, in the reconcile's own task and in those that
/// it spawns through [`Context`](super::Context). Of that two things follow.
///
/// *The cache shows it to the next call.* A key whose writes the operator's informers do not show yet is put aside, without holding a
/// worker, until their resource version has reached them; an object that was deleted must be gone, or carry a deletion
/// timestamp. Objects that no informer lists, because of their kind, namespace or labels, are not waited for, nor are versions
/// that are no decimal numbers, which is logged once. After 10 s ([`write_wait`](super::ControllerBuilder::write_wait)) in vain, which is logged
/// and counted, the key waits on, after a growing delay; after three times it is reconciled on an old cache. Only the key itself
/// waits: other keys, and other controllers, may see the cache before it.
///
/// *Its event does not wake the key.* That holds for an addition or update that comes by a watch without a gap, with exactly the uid and
/// resource version that an answer had. A write of which the answer was lost is foreign, and so is one by another key, another
/// controller or a task that was spawned otherwise. What a list tells, a resync, and every deletion wakes, also one of its own.
/// Nothing of this holds up a requeue or the retry of an error. Deletions of whole collections are not noted: see
/// [`Expectations`](super::Expectations).
pub trait Reconciler: Send + Sync + 'static {
    /// Brings the world of `key` to what its object asks for.
    fn reconcile(&self, key: &NamespacedName) -> impl Future<Output = Result<Action, ReconcileError>> + Send;
}

/// A reconciler of any type. Cloning copies a pointer.
#[derive(Clone)]
pub struct BoxReconciler(Arc<dyn Erased>);

trait Erased: Send + Sync {
    fn reconcile<'a>(&'a self, key: &'a NamespacedName) -> BoxFuture<'a, Result<Action, ReconcileError>>;
}

impl<R: Reconciler> Erased for R {
    fn reconcile<'a>(&'a self, key: &'a NamespacedName) -> BoxFuture<'a, Result<Action, ReconcileError>> {
        Box::pin(Reconciler::reconcile(self, key))
    }
}

impl BoxReconciler {
    /// Hides the type of a reconciler.
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

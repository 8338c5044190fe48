//! Context of the running reconcile, for tasks that it spawns.

use std::{fmt, sync::Arc};

use http::HeaderValue;
use tokio::task::JoinHandle;
use tracing::{Instrument, Span};

use crate::client::{WriteObserver, agent_suffix, with_agent_suffix, with_write_observer, write_observer};

/// The running reconcile: attributes the writes of spawned tasks to it.
///
/// Writes of typed clients in the reconcile's own task are recorded as writes of its key: the key waits until the cache shows them, and their
/// events are handled as [`OwnEvents`](super::OwnEvents) says. A spawned task is another task: its writes count as foreign, unless it is
/// spawned here.
///
/// ```
/// # use kubewright::{NamespacedName, controller::{Action, Context, ReconcileError, Reconciler}};
/// # struct FooController;
/// impl Reconciler for FooController {
///     async fn reconcile(&self, key: &NamespacedName) -> Result<Action, ReconcileError> {
///         let write = Context::current().spawn(async { /* client.apply(…).await */ });
///         write.await?;
///         Ok(Action::await_change())
///     }
/// }
/// ```
#[derive(Clone)]
pub struct Context {
    write_observer: Option<Arc<dyn WriteObserver>>,
    /// The controller's part of the user agent.
    part: Option<HeaderValue>,
    span: Span,
}

impl Context {
    /// Returns the context of the running task. Outside of reconcile it is empty: the writes of tasks spawned there count as foreign.
    pub fn current() -> Self {
        Self {
            write_observer: write_observer(),
            part: agent_suffix(),
            span: Span::current(),
        }
    }

    /// Spawns a task within the reconcile's span, and attributes its writes to the reconcile.
    ///
    /// The task is not aborted with the reconcile: await it, or it can outlive the reconcile. Late writes delay the key's next call, and are
    /// followed by an extra call.
    ///
    /// # Panics
    /// Outside of a tokio runtime, as `tokio::spawn`.
    pub fn spawn<F>(&self, future: F) -> JoinHandle<F::Output>
    where
        F: Future<Output: Send> + Send + 'static,
    {
        tokio::spawn(self.clone().within(future))
    }

    /// Wraps `future` so that its writes are attributed to the reconcile, within its span. For other ways to spawn, such as a `JoinSet`.
    pub fn within<F: Future>(self, future: F) -> impl Future<Output = F::Output> + use<F> {
        let Self {
            write_observer,
            part,
            span,
        } = self;
        let with_write_observer = async move {
            match write_observer {
                Some(write_observer) => with_write_observer(write_observer, future).await,
                None => future.await,
            }
        };
        with_agent_suffix(part, with_write_observer).instrument(span)
    }
}

impl fmt::Debug for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context")
            .field("in_reconcile", &self.write_observer.is_some())
            .finish_non_exhaustive()
    }
}

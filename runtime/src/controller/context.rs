//! The running reconcile, for tasks that write in its name.

use std::{fmt, sync::Arc};

use http::HeaderValue;
use tokio::task::JoinHandle;
use tracing::{Instrument, Span};

use crate::client::{WriteObserver, agent_suffix, with_agent_suffix, with_write_observer, write_observer};

/// The running reconcile, in whose name tasks can write.
///
/// What typed clients write while a reconcile runs, in its own task, is known to be its own: the key waits until the cache shows it, and
/// the events of it do not wake the key. A task that reconcile starts is another task. What it writes counts as written by somebody
/// else, unless it was started here.
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
    /// The controller, as its requests name it.
    part: Option<HeaderValue>,
    span: Span,
}

impl Context {
    /// That of the task in which it is called. Outside of reconcile it stands for nobody: what is spawned then counts as foreign.
    pub fn current() -> Self {
        Self {
            write_observer: write_observer(),
            part: agent_suffix(),
            span: Span::current(),
        }
    }

    /// Spawns a task in the reconcile's name, and within its span. Nobody aborts it: await it, or it may go on after reconcile
    /// returned. What it writes then still holds back the next call for the key.
    ///
    /// # Panics
    /// Outside of a tokio runtime, as `tokio::spawn` does.
    pub fn spawn<F>(&self, future: F) -> JoinHandle<F::Output>
    where
        F: Future<Output: Send> + Send + 'static,
    {
        tokio::spawn(self.clone().within(future))
    }

    /// `future` in the reconcile's name, and within its span, for those who spawn in another way: a `JoinSet`, say.
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

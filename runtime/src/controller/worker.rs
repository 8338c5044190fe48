//! A worker: takes a key, calls reconcile, and does what its result asks for.

use std::{any::Any, fmt, panic::AssertUnwindSafe, sync::Arc, time::Duration};

use futures::FutureExt;
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;
use tracing::Instrument;

use super::{
    Action, BoxReconciler, ControllerMetrics, Outcome, Pause, ReconcileError,
    consistency::{ConsistencyStore, Readiness},
    pause::Watched,
};
use crate::{ApiResource, Clock, NamespacedName, client::with_write_observer, panics, workqueue::WorkQueue};

/// So many conflicts in a row are no error in the log: at 5 ms, 10 ms and so on, the cache catches up meanwhile.
const USUAL_CONFLICTS: usize = 5;

/// What the workers of a controller share.
pub(super) struct Worker {
    pub(super) name: Box<str>,
    pub(super) primary: ApiResource,
    pub(super) queue: Arc<WorkQueue>,
    pub(super) reconciler: BoxReconciler,
    pub(super) timeout: Option<Duration>,
    pub(super) clock: Clock,
    pub(super) pause: Pause,
    pub(super) own_writes: Arc<ConsistencyStore>,
    pub(super) metrics: Arc<dyn ControllerMetrics>,
}

impl Worker {
    /// Reconciles one key after the other until `stop` is cancelled or the queue is shut down and empty.
    pub(super) async fn run(&self, stop: &CancellationToken) {
        let mut pause = self.pause.watched();
        loop {
            let key = tokio::select! {
                biased;
                () = stop.cancelled() => return,
                key = self.next(&mut pause) => key,
            };
            let Some(key) = key else { return };
            match self.own_writes.begin(&key) {
                Readiness::Run => self.reconcile(key).await,
                Readiness::Parked => {}
                Readiness::Overdue => {
                    self.queue.add_rate_limited(key.clone());
                    self.queue.done(&key);
                }
            }
        }
    }

    async fn next(&self, pause: &mut Watched) -> Option<NamespacedName> {
        loop {
            pause.until(false).await;
            tokio::select! {
                biased;
                () = pause.until(true) => {}
                key = self.queue.get() => return key,
            }
        }
    }

    async fn reconcile(&self, key: NamespacedName) {
        let span = tracing::info_span!(
            "reconcile",
            controller = &*self.name,
            controllerGroup = &*self.primary.group,
            controllerKind = &*self.primary.kind,
            namespace = key.namespace(),
            name = key.name(),
            reconcileID = %ReconcileId::random(),
        );
        let mut running = Running::start(self, &key);
        async {
            // The call itself stands inside, too: a future may be made by code that panics.
            let call = AssertUnwindSafe(self.call(&key));
            let result = call.catch_unwind().await;
            running.outcome = Some(self.settle(&key, result));
        }
        .instrument(span)
        .await;
    }

    /// None when it took too long.
    async fn call(&self, key: &NamespacedName) -> Option<Result<Action, ReconcileError>> {
        let call = async {
            let call = async { self.clock.scope(self.reconciler.reconcile(key)).await };
            match self.timeout {
                Some(limit) => timeout(limit, call).await.ok(),
                None => Some(call.await),
            }
        };
        match self.own_writes.author(key) {
            Some(author) => with_write_observer(author, call).await,
            None => call.await,
        }
    }

    /// Does what the result asks for, while the worker still holds the key.
    fn settle(
        &self,
        key: &NamespacedName,
        result: Result<Option<Result<Action, ReconcileError>>, Panic>,
    ) -> Outcome {
        let queue = &self.queue;
        match result {
            Ok(Some(Ok(Action::AwaitChange))) => {
                queue.forget(key);
                tracing::debug!("reconciled");
                Outcome::Success
            }
            Ok(Some(Ok(Action::RequeueAfter(delay)))) => {
                queue.forget(key);
                queue.add_after(key.clone(), delay);
                tracing::debug!(?delay, "reconciled, once more later");
                Outcome::RequeueAfter
            }
            Ok(Some(Ok(Action::Requeue))) => {
                let delay = queue.add_rate_limited(key.clone());
                tracing::debug!(?delay, "reconciled, once more");
                Outcome::Requeue
            }
            Ok(Some(Err(error))) if error.is_terminal() => {
                queue.forget(key);
                tracing::error!(%error, "reconcile failed for good, not retried until something changes");
                Outcome::TerminalError
            }
            Ok(Some(Err(error))) if error.is_decode_of(&self.primary, key) => {
                // The same bytes never decode; other bytes wake the key. The cache has logged it, once per version.
                queue.forget(key);
                tracing::debug!(%error, "not retried until the object changes");
                Outcome::TerminalError
            }
            Ok(Some(Err(error))) => {
                let retry_in = queue.add_rate_limited(key.clone());
                let failures = queue.num_requeues(key);
                // What the cache has not seen yet is no mistake of anybody; a conflict that lasts is one.
                if failures <= USUAL_CONFLICTS && error.is_conflict() {
                    tracing::info!(%error, ?retry_in, failures, "out of date, tried again");
                } else {
                    tracing::error!(%error, ?retry_in, failures, "reconcile failed");
                }
                Outcome::Error
            }
            Ok(None) => {
                let retry_in = queue.add_rate_limited(key.clone());
                let failures = queue.num_requeues(key);
                tracing::error!(limit = ?self.timeout, ?retry_in, failures, "reconcile took too long and was dropped");
                Outcome::Timeout
            }
            Err(panic) => {
                let retry_in = queue.add_rate_limited(key.clone());
                let failures = queue.num_requeues(key);
                tracing::error!(
                    error = panics::message(&*panic),
                    ?retry_in,
                    failures,
                    "reconcile panicked"
                );
                Outcome::Panic
            }
        }
    }
}

type Panic = Box<dyn Any + Send>;

/// A running reconcile. When it ends, cancelled or not, the key goes back to the queue.
struct Running<'a> {
    worker: &'a Worker,
    key: NamespacedName,
    since: Instant,
    outcome: Option<Outcome>,
}

impl<'a> Running<'a> {
    fn start(worker: &'a Worker, key: &NamespacedName) -> Self {
        worker.metrics.started();
        Self {
            worker,
            key: key.clone(),
            since: Instant::now(),
            outcome: None,
        }
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.worker.metrics.finished(self.outcome, self.since.elapsed());
        if self.worker.own_writes.end(&self.key) {
            self.worker.queue.add(self.key.clone());
        }
        self.worker.queue.done(&self.key);
    }
}

/// A random UUID, as controller-runtime logs it.
struct ReconcileId(u64, u64);

impl ReconcileId {
    fn random() -> Self {
        let (first, last): (u64, u64) = rand::random();
        Self(first & !0xf000 | 0x4000, last & !(0x3 << 62) | 0x2 << 62)
    }
}

impl fmt::Display for ReconcileId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(first, last) = *self;
        let (time, version) = (first >> 32, first & 0xffff);
        write!(
            f,
            "{time:08x}-{:04x}-{version:04x}-{:04x}-{:012x}",
            first >> 16 & 0xffff,
            last >> 48,
            last & 0xffff_ffff_ffff
        )
    }
}

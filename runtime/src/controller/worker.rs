//! Worker: takes a key from the work queue, calls reconcile, and requeues the key as the result says.

use std::{any::Any, fmt, panic::AssertUnwindSafe, sync::Arc, time::Duration};

use futures::FutureExt;
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;
use tracing::Instrument;

use super::{
    Action, BoxReconciler, ControllerMetrics, Outcome, Pause, ReconcileError,
    consistency::{ConsistencyStore, Readiness},
    pause::PauseReceiver,
};
use crate::{ApiResource, Clock, NamespacedName, client::with_write_observer, panics, workqueue::WorkQueue};

/// So many conflicts in a row are logged at level info, not error: the cache catches up during the backoff of 5 ms, 10 ms and so on.
const MAX_EXPECTED_CONFLICTS: usize = 5;

/// What the workers of one controller share.
pub(super) struct Worker {
    pub(super) name: Box<str>,
    pub(super) primary: ApiResource,
    pub(super) queue: Arc<WorkQueue>,
    pub(super) reconciler: BoxReconciler,
    pub(super) timeout: Option<Duration>,
    pub(super) clock: Clock,
    pub(super) pause: Pause,
    pub(super) consistency: Arc<ConsistencyStore>,
    pub(super) metrics: Arc<dyn ControllerMetrics>,
}

impl Worker {
    /// Reconciles keys until `stop` is cancelled, or the queue is shut down and empty.
    pub(super) async fn run(&self, stop: &CancellationToken) {
        let mut pause = self.pause.subscribe();
        loop {
            let key = tokio::select! {
                biased;
                () = stop.cancelled() => return,
                key = self.next(&mut pause) => key,
            };
            let Some(key) = key else { return };
            match self.consistency.start_reconcile(&key) {
                Readiness::Ready => self.reconcile(key).await,
                Readiness::Parked => {}
                Readiness::TimedOut => {
                    self.queue.add_rate_limited(key.clone());
                    self.queue.done(&key);
                }
            }
        }
    }

    async fn next(&self, pause: &mut PauseReceiver) -> Option<NamespacedName> {
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
        let mut running = RunningReconcile::start(self, &key);
        async {
            // The call that makes the future is inside because it can panic as well.
            let call = AssertUnwindSafe(self.call(&key));
            let result = call.catch_unwind().await;
            running.outcome = Some(self.handle_result(&key, result));
        }
        .instrument(span)
        .await;
    }

    /// Calls the reconciler. None if the call exceeded the timeout.
    async fn call(&self, key: &NamespacedName) -> Option<Result<Action, ReconcileError>> {
        let call = async {
            let call = async { self.clock.scope(self.reconciler.reconcile(key)).await };
            match self.timeout {
                Some(limit) => timeout(limit, call).await.ok(),
                None => Some(call.await),
            }
        };
        match self.consistency.observer(key) {
            Some(observer) => with_write_observer(observer, call).await,
            None => call.await,
        }
    }

    /// Requeues or forgets the key as the result says, while the worker still holds it.
    fn handle_result(
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
                tracing::debug!(?delay, "reconciled, requeued with a delay");
                Outcome::RequeueAfter
            }
            Ok(Some(Ok(Action::Requeue))) => {
                let delay = queue.add_rate_limited(key.clone());
                tracing::debug!(?delay, "reconciled, requeued with backoff");
                Outcome::Requeue
            }
            Ok(Some(Err(error))) if error.is_terminal() => {
                queue.forget(key);
                tracing::error!(%error, "reconcile failed with a terminal error: not retried until a change enqueues the key");
                Outcome::TerminalError
            }
            Ok(Some(Err(error))) if error.is_decode_of(&self.primary, key) => {
                // A retry would read the same bytes; a change of the object enqueues the key. The cache logs it once per version.
                queue.forget(key);
                tracing::debug!(%error, "reconcile failed, not retried until the object changes");
                Outcome::TerminalError
            }
            Ok(Some(Err(error))) => {
                let retry_in = queue.add_rate_limited(key.clone());
                let failures = queue.num_requeues(key);
                // A conflict is normal while the cache is behind; one that lasts is an error.
                if failures <= MAX_EXPECTED_CONFLICTS && error.is_conflict() {
                    tracing::info!(%error, ?retry_in, failures, "reconcile failed with a conflict, retried with backoff");
                } else {
                    tracing::error!(%error, ?retry_in, failures, "reconcile failed");
                }
                Outcome::Error
            }
            Ok(None) => {
                let retry_in = queue.add_rate_limited(key.clone());
                let failures = queue.num_requeues(key);
                tracing::error!(limit = ?self.timeout, ?retry_in, failures, "reconcile exceeded the timeout and was cancelled");
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

/// A running reconcile. When it is dropped, cancelled or not, the worker gives the key back to the queue.
struct RunningReconcile<'a> {
    worker: &'a Worker,
    key: NamespacedName,
    since: Instant,
    outcome: Option<Outcome>,
}

impl<'a> RunningReconcile<'a> {
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

impl Drop for RunningReconcile<'_> {
    fn drop(&mut self) {
        self.worker.metrics.finished(self.outcome, self.since.elapsed());
        let next = self.worker.consistency.finish_reconcile(&self.key, self.outcome);
        if let Some(priority) = next {
            self.worker.queue.add_with_priority(self.key.clone(), priority);
        }
        self.worker.queue.done(&self.key);
    }
}

/// A random UUID (version 4), as controller-runtime logs it.
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

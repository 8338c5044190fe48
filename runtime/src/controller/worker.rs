//! A worker: takes a key, calls reconcile, and does what its result asks for.

use std::{
    any::Any,
    panic::AssertUnwindSafe,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use futures::FutureExt;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tracing::Instrument;

use super::{Action, BoxReconciler, ControllerMetrics, Outcome, ReconcileError};
use crate::{KindInfo, ObjectName, panics, workqueue::WorkQueue};

/// So many conflicts in a row are no error in the log: at 5 ms, 10 ms and so on, the cache catches up meanwhile.
const USUAL_CONFLICTS: usize = 5;

/// What the workers of a controller share.
pub(super) struct Worker {
    pub(super) name: Box<str>,
    pub(super) primary: KindInfo,
    pub(super) queue: Arc<WorkQueue>,
    pub(super) reconciler: BoxReconciler,
    pub(super) metrics: Arc<dyn ControllerMetrics>,
}

impl Worker {
    /// Reconciles one key after the other until `stop` is cancelled or the queue is shut down and empty.
    pub(super) async fn run(&self, stop: &CancellationToken) {
        loop {
            let key = tokio::select! {
                biased;
                () = stop.cancelled() => return,
                key = self.queue.get() => key,
            };
            let Some(key) = key else { return };
            self.reconcile(key).await;
        }
    }

    async fn reconcile(&self, key: ObjectName) {
        static NEXT_ID: AtomicU64 = AtomicU64::new(1);
        let span = tracing::info_span!(
            "reconcile",
            controller = &*self.name,
            namespace = key.namespace(),
            name = key.name(),
            reconcile_id = NEXT_ID.fetch_add(1, Ordering::Relaxed),
        );
        let mut running = Running::start(self, &key);
        async {
            // The call itself stands inside, too: a future may be made by code that panics.
            let call = AssertUnwindSafe(async { self.reconciler.reconcile(&key).await });
            let result = call.catch_unwind().await;
            running.outcome = Some(self.settle(&key, result));
        }
        .instrument(span)
        .await;
    }

    /// Does what the result asks for, while the worker still holds the key.
    fn settle(&self, key: &ObjectName, result: Result<Result<Action, ReconcileError>, Panic>) -> Outcome {
        let queue = &self.queue;
        match result {
            Ok(Ok(Action::Done)) => {
                queue.forget(key);
                tracing::debug!("reconciled");
                Outcome::Success
            }
            Ok(Ok(Action::After(delay))) => {
                queue.forget(key);
                queue.add_after(key.clone(), delay);
                tracing::debug!(?delay, "reconciled, once more later");
                Outcome::RequeueAfter
            }
            Ok(Ok(Action::Again)) => {
                let delay = queue.add_rate_limited(key.clone());
                tracing::debug!(?delay, "reconciled, once more");
                Outcome::Requeue
            }
            Ok(Err(error)) if error.is_terminal() => {
                queue.forget(key);
                tracing::error!(%error, "reconcile failed for good, not retried until something changes");
                Outcome::TerminalError
            }
            Ok(Err(error)) if error.is_decode_of(&self.primary, key) => {
                // The same bytes never decode; other bytes wake the key. The cache has logged it, once per version.
                queue.forget(key);
                tracing::debug!(%error, "not retried until the object changes");
                Outcome::TerminalError
            }
            Ok(Err(error)) => {
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
    key: ObjectName,
    since: Instant,
    outcome: Option<Outcome>,
}

impl<'a> Running<'a> {
    fn start(worker: &'a Worker, key: &ObjectName) -> Self {
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
        self.worker.queue.done(&self.key);
    }
}

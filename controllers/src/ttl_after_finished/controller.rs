//! The controller of finished Jobs.

use k8s_openapi::api::batch::v1::Job;
use kubewright::{
    Clock, NamespacedName,
    cache::{Lister, LookupError},
    client::{Delete, DeleteParams, Get, Preconditions, TypedClient},
    controller::{Action, OwnEvents, ReconcileError, Reconciler, Setup},
    prometheus_client::metrics::histogram::{Histogram, exponential_buckets},
};

use super::plan::{Decision, decide, expiry};
use crate::Options;

const NAME: &str = "ttl-after-finished-controller";

struct TtlAfterFinished {
    jobs: Lister<Job>,
    client: TypedClient<Job, (Get, Delete)>,
    clock: Clock,
    deletion_duration: Histogram,
}

/// Registers the controller. Its keys are Jobs.
pub(crate) fn register(setup: &mut Setup, options: &Options) {
    let jobs = setup.informers().of::<Job>();
    let deletion_duration = Histogram::new(exponential_buckets(0.1, 2.0, 14));
    setup.metrics().register(
        "ttl_after_finished_controller_job_deletion_duration_seconds",
        "Time between the expiry of a Job and its deletion",
        deletion_duration.clone(),
    );
    let reconciler = TtlAfterFinished {
        jobs: jobs.lister(),
        client: setup.client(),
        clock: setup.clock(),
        deletion_duration,
    };
    setup
        .controller(NAME, reconciler)
        .reconciles(&jobs)
        .workers(options.concurrent_ttl_after_finished_syncs)
        .own_events(OwnEvents::Ignore);
}

impl Reconciler for TtlAfterFinished {
    async fn reconcile(&self, key: &NamespacedName) -> Result<Action, ReconcileError> {
        let cached = match self.jobs.get(key) {
            Err(LookupError::NotFound { .. }) => return Ok(Action::await_change()),
            cached => cached?,
        };
        if let Some(action) = self.keeps(&cached)? {
            return Ok(action);
        }
        // The limit may have been raised since.
        let live = match self.client.get(key).await {
            Err(error) if error.is_not_found() => return Ok(Action::await_change()),
            live => live?,
        };
        if let Some(action) = self.keeps(&live)? {
            return Ok(action);
        }
        let mut params = DeleteParams::foreground();
        params.preconditions = Some(Preconditions {
            uid: live.metadata.uid.clone(),
            resource_version: None,
        });
        match self.client.delete(key, &params).await {
            Err(error) if error.is_not_found() => {}
            deleted => {
                deleted?;
                if let Ok(Some(expired)) = expiry(&live) {
                    let delay = self.clock.now().duration_since(expired);
                    self.deletion_duration.observe(delay.as_secs_f64());
                }
            }
        }
        Ok(Action::await_change())
    }
}

impl TtlAfterFinished {
    /// Returns when to look again at a Job that is not deleted.
    fn keeps(&self, job: &Job) -> Result<Option<Action>, ReconcileError> {
        Ok(match decide(job, self.clock.now())? {
            Decision::Keep => Some(Action::await_change()),
            Decision::Wait(time) => Some(Action::requeue_after(time)),
            Decision::Delete => None,
        })
    }
}

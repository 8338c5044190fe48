//! The controller of Jobs.

use std::{sync::Arc, time::Duration};

use k8s_openapi::api::{
    batch::v1::{Job, JobStatus},
    scheduling::v1alpha2::PodGroup,
};
use kubewright::{
    Clock, NamespacedName,
    cache::{Change, Lister, LookupError},
    client::{Get, Patch, TypedClient, UpdateStatus},
    controller::{
        Action, Expectations, OwnEvents, ReconcileError, Reconciler, Setup, Source,
        predicates::generation_changed,
    },
    events::{EventType, Recorder},
    workqueue::ItemExponential,
};
use tokio::time::Instant;

use super::{
    batch::KeyBatch,
    features::{Features, Limits},
    gang_objects::GangObjects,
    memory::JobMemory,
    metrics::{JobMetrics, action},
    orphan_pods::{JobOwners, OrphanPods, pods_of_deleted_job, tracked_pods},
    plan::{PodStep, assess},
    progress::Progress,
    rules::{InvalidJob, JobRules, external_manager, is_managed_externally},
    tracked_pods::TrackedPods,
};
use crate::{
    Options,
    feature_gates::Gate,
    shared::{
        ended::ended,
        finished_job::finished_condition,
        invalid_objects::{InvalidObject, InvalidObjects},
        metrics::stale_sync_counter,
        orphans::{Orphans, Selectors},
        pod::PodView,
        pod_control::PodControl,
    },
};

const NAME: &str = "job-controller";

pub(super) struct JobController {
    jobs: Lister<Job>,
    pub(super) selectors: Arc<Selectors<Job>>,
    pub(super) pods: Lister<PodView>,
    pub(super) orphans: Orphans<PodView>,
    pub(super) job_client: TypedClient<Job, (Get, UpdateStatus)>,
    pub(super) pod_patcher: TypedClient<PodView, (Patch,)>,
    pub(super) pod_control: PodControl,
    pub(super) expectations: Expectations,
    pub(super) memory: Arc<JobMemory>,
    gang: Option<GangObjects>,
    pub(super) recorder: Recorder,
    pub(super) metrics: JobMetrics,
    invalid: InvalidObjects,
    /// The pods of finished Jobs that still have the finalizer.
    orphan_batch: KeyBatch,
    pub(super) clock: Clock,
    features: Features,
    pub(super) limits: Limits,
}

/// Registers the controller of Jobs, and that of their orphan pods.
pub(crate) fn register(setup: &mut Setup, options: &Options, invalid: &InvalidObjects) {
    let (features, limits) = (Features::of(&options.gates), Limits::of(options));
    let jobs = setup.informers().of::<Job>();
    let pods = setup.informers().projected::<PodView>();
    let gang = options
        .gates
        .is_on(Gate::WorkloadWithJob)
        .then(|| GangObjects::new(setup));
    let (batch, batched_jobs) = KeyBatch::new(limits.batch_period);
    let (orphan_batch, orphan_keys) = KeyBatch::new(Duration::ZERO);
    let metrics = JobMetrics::register(setup.metrics());
    let tracked_pods = TrackedPods::register(setup.metrics(), pods.lister());
    let stale_syncs = stale_sync_counter(setup, "job_controller");
    let (expectations, selectors) = (
        Expectations::new(),
        Arc::new(Selectors::new(jobs.lister(), NAME, invalid)),
    );
    let reconciler = JobController {
        jobs: jobs.lister(),
        selectors: selectors.clone(),
        pods: pods.lister(),
        orphans: Orphans::of(&pods),
        job_client: setup.client(),
        pod_patcher: setup.client(),
        pod_control: PodControl::new(setup),
        expectations: expectations.clone(),
        memory: Arc::default(),
        gang,
        recorder: setup.recorder(),
        metrics: metrics.clone(),
        invalid: invalid.clone(),
        orphan_batch,
        clock: setup.clock(),
        features,
        limits,
    };
    let (ended_expectations, ended_selectors) = (expectations.clone(), selectors.clone());
    let (memory, job_batch, lister) = (reconciler.memory.clone(), batch.clone(), jobs.lister());
    jobs.add_sink(move |change| {
        if let Some(job) = ended(change) {
            ended_expectations.forget(job.name());
            ended_selectors.forget(job.uid());
            memory.forget(job.uid());
        }
        match change {
            Change::Added { new, .. } => {
                let job = lister.get(new.name());
                if let Some(manager) = job.as_ref().ok().and_then(|job| external_manager(job, features)) {
                    metrics.managed_by(manager);
                }
            }
            Change::Updated { old, new } if old.resource_version() != new.resource_version() => {
                job_batch.add(new.name().clone());
            }
            _ => {}
        }
    });
    let owners = JobOwners {
        jobs: jobs.lister(),
        features,
    };
    let adopters = selectors;
    setup
        .controller(NAME, reconciler)
        .workers(options.concurrent_job_syncs)
        .on_write_wait(stale_syncs)
        .rate_limiter(ItemExponential::new(
            limits.api_backoff_min,
            limits.api_backoff_max,
        ))
        .own_events(OwnEvents::Ignore)
        // Changes of the spec are handled at once, all others in batches.
        .reconciles(Source::of(&jobs).with_predicate(generation_changed))
        .watches_stream(batched_jobs)
        .owns(
            Source::of(&pods)
                .with_expectations(&expectations)
                .with_predicate(|_| false),
        );
    pods.add_sink(move |change| {
        tracked_pods.observe(change);
        let keys = job_keys(change).chain(adopters.adopters(change));
        keys.for_each(|key| batch.add(key));
    });
    let orphan_pods = OrphanPods {
        pods: pods.lister(),
        owners: owners.clone(),
        pod_patcher: setup.client(),
    };
    let lister = pods.lister();
    setup
        .controller("job-orphan-pod-controller", orphan_pods)
        .workers(options.concurrent_job_syncs)
        .rate_limiter(ItemExponential::new(
            limits.api_backoff_min,
            limits.api_backoff_max,
        ))
        .own_events(OwnEvents::Ignore)
        .reconciles(Source::of(&pods).with_predicate(move |change| owners.may_be_orphan(change)))
        .watches(&jobs, move |change| pods_of_deleted_job(&lister, change))
        .watches_stream(orphan_keys);
}

/// Returns the Jobs whose pods changed: the controller before and after the change.
fn job_keys(change: &Change<'_>) -> impl Iterator<Item = NamespacedName> + use<> {
    let (old, new) = match *change {
        Change::Added { new, .. } => (None, Some(new)),
        Change::Updated { old, new } if old.resource_version() == new.resource_version() => (None, None),
        Change::Updated { old, new } => (Some(old), Some(new)),
        Change::Deleted { old, .. } => (Some(old), None),
    };
    let keys = [old, new].map(|pod| {
        let pod = pod?;
        let controller = pod.controller().filter(|controller| {
            &*controller.kind == "Job" && controller.api_version.starts_with("batch/")
        })?;
        Some(NamespacedName::namespaced(
            pod.name().namespace()?,
            controller.name.clone(),
        ))
    });
    keys.into_iter().flatten()
}

impl Reconciler for JobController {
    async fn reconcile(&self, key: &NamespacedName) -> Result<Action, ReconcileError> {
        let job = match self.jobs.get(key) {
            Ok(job) => job,
            Err(LookupError::NotFound { .. }) => {
                self.expectations.forget(key);
                return Ok(Action::await_change());
            }
            Err(error) => return Err(error.into()),
        };
        if is_managed_externally(&job, self.features) {
            return Ok(Action::await_change());
        }
        if finished_condition(&job).is_some() {
            self.memory.forget(uid(&job));
            for pod in tracked_pods(&self.pods, &*job) {
                self.orphan_batch.add(pod);
            }
            return Ok(Action::await_change());
        }
        let rules = match JobRules::of(&job, self.features) {
            Ok(rules) => rules,
            Err(error) => {
                self.refuse(key, &job, &error);
                return Ok(Action::await_change());
            }
        };
        // Checked before the pods are read: if they are satisfied, the cache shows the expected changes.
        let is_satisfied = self.expectations.are_satisfied(key);
        let (start, mut action) = (Instant::now(), "reconciling");
        let synced = self.sync(key, &job, &rules, is_satisfied, &mut action).await;
        self.metrics
            .synced(&rules, action, synced.is_ok(), start.elapsed());
        synced
    }
}

impl JobController {
    async fn sync(
        &self,
        key: &NamespacedName,
        job: &Job,
        rules: &JobRules<'_>,
        is_satisfied: bool,
        step_name: &mut &'static str,
    ) -> Result<Action, ReconcileError> {
        let before = job.status.clone().unwrap_or_default();
        let pods = self.job_pods(key, job).await?;
        let group = self.pod_group(job, rules, &before, pods.len()).await?;
        let now = self.clock.now();
        let failures = self.memory.failures(uid(job));
        let assessment = assess(rules, &before, &pods, failures, now);
        let step = assessment.next_step(is_satisfied, &self.limits, now);
        *step_name = action(&step);
        let (changes, failed) = self.carry_out(key, job, &assessment, &step, group.as_ref()).await;
        self.metrics.pods_created(&assessment, changes);
        let progress = Progress::after(
            &assessment,
            &before,
            &step,
            changes,
            is_satisfied,
            self.clock.now(),
        );
        self.count(job, &before, &assessment, &progress).await?;
        if let Some(error) = failed {
            return Err(error);
        }
        let wait = match step {
            PodStep::Wait(wait) => Some(wait),
            _ => None,
        };
        let next = [wait, assessment.deadline].into_iter().flatten().min();
        Ok(next.map_or(Action::await_change(), Action::requeue_after))
    }

    async fn pod_group(
        &self,
        job: &Job,
        rules: &JobRules<'_>,
        status: &JobStatus,
        pods: usize,
    ) -> Result<Option<PodGroup>, ReconcileError> {
        match &self.gang {
            Some(gang) => gang.pod_group(job, rules, status, pods).await,
            None => Ok(None),
        }
    }

    fn refuse(&self, key: &NamespacedName, job: &Job, error: &InvalidJob) {
        let object = InvalidObject::decoded("Job", key, &job.metadata);
        self.invalid.report(NAME, object, error.reason(), error);
        if matches!(error, InvalidJob::CompletionMode(_)) {
            let note = "Skipped Job sync because completion mode is unknown";
            self.recorder.event(job, EventType::Warning, error.reason(), note);
        }
    }
}

pub(super) fn uid(job: &Job) -> &str {
    job.metadata.uid.as_deref().unwrap_or_default()
}

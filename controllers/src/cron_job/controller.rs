//! The controller of CronJobs.

use std::sync::Arc;

use k8s_openapi::{
    api::{
        batch::v1::{CronJob, Job},
        core::v1::ObjectReference,
    },
    apimachinery::pkg::apis::meta::v1::Time,
    jiff::{Timestamp, tz::TimeZone},
};
use kubewright::{
    Clock, NamespacedName,
    cache::{Lister, LookupError},
    client::{ClientError, Create, Delete, DeleteParams, Get, TypedClient, UpdateStatus},
    controller::{Action, ReconcileError, Reconciler, Setup},
    events::Recorder,
    prometheus_client::metrics::histogram::{Histogram, exponential_buckets},
};

use super::{
    job::{job, reference},
    missed::until_next,
    plan::{Decision, Note, decide},
    seen_schedules::SeenSchedules,
    status::{is_active, remove_active, settle, surplus_history},
};
use crate::{
    Options,
    shared::{
        invalid_objects::{InvalidObject, InvalidObjects},
        pod_control::message,
    },
};

const NAME: &str = "cronjob-controller";
/// The reasons of events about CronJobs that start no Jobs before they are changed.
const INVALID: [&str; 3] = ["InvalidSchedule", "UnknownTimeZone", "UnparseableSchedule"];

struct CronJobController {
    cron_jobs: Lister<CronJob>,
    jobs: Lister<Job>,
    client: TypedClient<CronJob, (Get, UpdateStatus)>,
    job_client: TypedClient<Job, (Get, Create, Delete)>,
    recorder: Recorder,
    clock: Clock,
    /// The zone of schedules without one, as upstream.
    local_zone: TimeZone,
    seen_schedules: SeenSchedules,
    creation_skew: Histogram,
    invalid: InvalidObjects,
}

/// A CronJob while it is reconciled.
struct Draft {
    cron_job: CronJob,
    has_changed: bool,
    notes: Vec<Note>,
}

/// Registers the controller. Its keys are CronJobs.
pub(crate) fn register(setup: &mut Setup, options: &Options, invalid: &InvalidObjects) {
    let cron_jobs = setup.informers().of::<CronJob>();
    let jobs = setup.informers().of::<Job>();
    let creation_skew = Histogram::new(exponential_buckets(1.0, 2.0, 10));
    setup.metrics().register(
        "cronjob_controller_job_creation_skew_duration_seconds",
        "Time between a scheduled time and the creation of its Job",
        creation_skew.clone(),
    );
    let reconciler = CronJobController {
        cron_jobs: cron_jobs.lister(),
        jobs: jobs.lister(),
        client: setup.client(),
        job_client: setup.client(),
        recorder: setup.recorder(),
        clock: setup.clock(),
        local_zone: TimeZone::system(),
        seen_schedules: SeenSchedules::default(),
        creation_skew,
        invalid: invalid.clone(),
    };
    setup
        .controller(NAME, reconciler)
        .reconciles(&cron_jobs)
        .owns(&jobs)
        .workers(options.concurrent_cron_job_syncs);
}

impl Reconciler for CronJobController {
    async fn reconcile(&self, key: &NamespacedName) -> Result<Action, ReconcileError> {
        let cron_job = match self.cron_jobs.get(key) {
            Err(LookupError::NotFound { .. }) => {
                self.seen_schedules.forget(key);
                return Ok(Action::await_change());
            }
            cached => cached?,
        };
        let jobs: Result<Vec<_>, _> = self.jobs.owned_by(&*cron_job)?.collect();
        let jobs: Vec<Arc<Job>> = jobs?;
        let mut draft = Draft {
            cron_job: (*cron_job).clone(),
            has_changed: false,
            notes: Vec::new(),
        };
        let outcome = self.sync(key, &mut draft, &jobs).await;
        for note in &draft.notes {
            self.recorder
                .event(&draft.cron_job, note.kind, note.reason, note.text.clone());
            if INVALID.contains(&note.reason) {
                let object = InvalidObject {
                    kind: "CronJob",
                    name: key,
                    uid: cron_job.metadata.uid.as_deref().unwrap_or_default(),
                    generation: cron_job.metadata.generation,
                };
                self.invalid.report(NAME, object, note.reason, &note.text);
            }
        }
        // What was done is recorded even if the rest failed.
        if draft.has_changed {
            self.client.update_status(&draft.cron_job).await?;
        }
        outcome
    }
}

impl CronJobController {
    async fn sync(
        &self,
        key: &NamespacedName,
        draft: &mut Draft,
        jobs: &[Arc<Job>],
    ) -> Result<Action, ReconcileError> {
        for job in surplus_history(&draft.cron_job, jobs) {
            // A failed deletion is reported, and tried again at the next look.
            let _ = self.delete(draft, &job).await;
        }
        self.settle(key, draft, jobs).await?;
        let now = self.clock.now();
        let has_new_schedule = self.seen_schedules.has_changed(key, &draft.cron_job);
        let mut notes = Vec::new();
        let mut decision = decide(&draft.cron_job, now, &self.local_zone, &mut notes);
        if has_new_schedule {
            notes.retain(|note| INVALID.contains(&note.reason));
            if let Decision::Start { schedule, .. } = &decision {
                let wait = until_next(&draft.cron_job, schedule, now);
                decision = wait.map_or(Decision::AwaitChange, Decision::Wait);
            }
        }
        draft.notes.append(&mut notes);
        match decision {
            Decision::AwaitChange => Ok(Action::await_change()),
            Decision::Wait(time) => Ok(Action::requeue_after(time)),
            Decision::Start {
                time,
                replaced,
                zone,
                schedule,
            } => {
                self.replace(draft, &replaced).await?;
                self.start(draft, time, &zone).await?;
                let wait = until_next(&draft.cron_job, &schedule, now);
                Ok(wait.map_or(Action::await_change(), Action::requeue_after))
            }
        }
    }

    /// Brings the list of active Jobs up to date. What the caches do not explain is asked of the API server.
    async fn settle(
        &self,
        key: &NamespacedName,
        draft: &mut Draft,
        jobs: &[Arc<Job>],
    ) -> Result<(), ReconcileError> {
        let mut settled = settle(&mut draft.cron_job, jobs, &mut draft.notes);
        draft.has_changed |= settled.has_changed;
        if !settled.unexpected.is_empty() {
            let live = self.client.get(key).await?;
            let knows = |job: &&Arc<Job>| is_active(&live, job.metadata.uid.as_deref());
            if live.metadata.uid == draft.cron_job.metadata.uid && jobs.iter().any(|job| knows(&job)) {
                // The cached status is old.
                draft.cron_job = live;
                settled = settle(&mut draft.cron_job, jobs, &mut draft.notes);
                draft.has_changed |= settled.has_changed;
            }
            for name in &settled.unexpected {
                let note = format!("Saw a job that the controller did not create or forgot: {name}");
                draft.notes.push(Note::warning("UnexpectedJob", note));
            }
        }
        for missing in settled.missing {
            match self.job_client.get(&name_of(&missing)).await {
                Err(error) if error.is_not_found() => {
                    let name = missing.name.as_deref().unwrap_or_default();
                    let note = format!("Active job went missing: {name}");
                    draft.notes.push(Note::normal("MissingJob", note));
                    remove_active(&mut draft.cron_job, missing.uid.as_deref());
                    draft.has_changed = true;
                }
                found => drop(found?),
            }
        }
        Ok(())
    }

    /// Deletes the Jobs that still run.
    async fn replace(&self, draft: &mut Draft, replaced: &[ObjectReference]) -> Result<(), ClientError> {
        for running in replaced {
            let job = self.job_client.get(&name_of(running)).await;
            if let Err(error) = &job {
                let note = format!("Get job: {}", message(error));
                draft.notes.push(Note::warning("FailedGet", note));
            }
            self.delete(draft, &job?).await?;
        }
        Ok(())
    }

    async fn delete(&self, draft: &mut Draft, job: &Job) -> Result<(), ClientError> {
        let Some(name) = NamespacedName::of(&job.metadata) else {
            return Ok(());
        };
        let deleted = self.job_client.delete(&name, &DeleteParams::background()).await;
        match &deleted {
            Ok(()) => {
                let uid = job.metadata.uid.as_deref();
                draft.has_changed |= is_active(&draft.cron_job, uid);
                remove_active(&mut draft.cron_job, uid);
                let note = format!("Deleted job {}", name.name());
                draft.notes.push(Note::normal("SuccessfulDelete", note));
            }
            Err(error) => {
                let note = format!("Deleted job: {}", message(error));
                draft.notes.push(Note::warning("FailedDelete", note));
            }
        }
        deleted
    }

    /// Creates the Job of the scheduled time, and notes it in the status. A Job of that name that exists is the one that an earlier call
    /// created without noting it, or a foreign one, which is left alone.
    async fn start(&self, draft: &mut Draft, time: Timestamp, zone: &TimeZone) -> Result<(), ClientError> {
        let wanted = job(&draft.cron_job, time, zone);
        let started = match self.job_client.create(&wanted).await {
            Ok(created) => {
                let name = created.metadata.name.as_deref().unwrap_or_default();
                let note = format!("Created job {name}");
                draft.notes.push(Note::normal("SuccessfulCreate", note));
                if let Some(at) = &created.metadata.creation_timestamp {
                    self.creation_skew
                        .observe(at.0.duration_since(time).as_secs_f64());
                }
                created
            }
            Err(error) if error.is_already_exists() => {
                let Some(name) = NamespacedName::of(&wanted.metadata) else {
                    return Err(error);
                };
                let existing = self.job_client.get(&name).await?;
                let mut owners = existing.metadata.owner_references.iter().flatten();
                let is_own = owners.any(|owner| {
                    owner.controller == Some(true) && Some(&owner.uid) == draft.cron_job.metadata.uid.as_ref()
                });
                if !is_own || is_active(&draft.cron_job, existing.metadata.uid.as_deref()) {
                    return Ok(());
                }
                existing
            }
            Err(error) => {
                // In a namespace that is being deleted every creation fails.
                if !error.is_namespace_terminating() {
                    let note = format!("Error creating job: {}", message(&error));
                    draft.notes.push(Note::warning("FailedCreate", note));
                }
                return Err(error);
            }
        };
        let status = draft.cron_job.status.get_or_insert_default();
        status.active.get_or_insert_default().push(reference(&started));
        status.last_schedule_time = Some(Time(time));
        draft.has_changed = true;
        Ok(())
    }
}

fn name_of(job: &ObjectReference) -> NamespacedName {
    let (namespace, name) = (job.namespace.as_deref(), job.name.as_deref());
    NamespacedName::namespaced(namespace.unwrap_or_default(), name.unwrap_or_default())
}

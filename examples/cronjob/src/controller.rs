//! The controller: reads the CronJob and its Jobs from the cache, plans, and does what the plan says.

use std::{sync::Arc, time::Duration};

use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::ObjectReference;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use k8s_openapi::jiff::Timestamp;
use kube::{
    Resource as _, ResourceExt as _,
    api::{DeleteParams, Preconditions},
    core::ObjectMeta,
};
use kubewright::{Clock, prelude::*};

use crate::{
    api::{CronJob, CronJobApply, CronJobClient, CronJobInformers, CronJobLister},
    plan::{Plan, SCHEDULED_AT, Step, plan},
    schedule::Schedule,
};

// ANCHOR: register
/// Reconciles CronJobs.
pub struct CronJobController {
    cron_jobs: CronJobLister,
    jobs: Lister<Job>,
    cron_job_status: CronJobClient<(ApplyStatus,)>,
    job_writer: TypedClient<Job, (Create, Delete)>,
    events: Recorder,
    clock: Clock,
}

impl CronJobController {
    /// Registers the controller with an operator.
    pub fn register(setup: &mut Setup) {
        let cron_jobs = setup.informers().cron_jobs();
        let jobs = setup.informers().of::<Job>();
        let reconciler = Self {
            cron_jobs: cron_jobs.lister(),
            jobs: jobs.lister(),
            cron_job_status: setup.client(),
            job_writer: setup.client(),
            events: setup.recorder(),
            clock: setup.clock(),
        };
        setup
            .controller("cronjob", reconciler)
            .reconciles(&cron_jobs)
            .owns(&jobs);
    }
}
// ANCHOR_END: register

// ANCHOR: reconcile
impl Reconciler for CronJobController {
    async fn reconcile(&self, key: &NamespacedName) -> Result<Action, ReconcileError> {
        let cron_job = match self.cron_jobs.get(key) {
            Ok(cron_job) => cron_job,
            // Deleted: the garbage collector deletes its Jobs.
            Err(LookupError::NotFound { .. }) => return Ok(Action::await_change()),
            Err(error) => return Err(error.into()),
        };
        if cron_job.metadata.deletion_timestamp.is_some() {
            return Ok(Action::await_change());
        }
        // An index over the uids of the controller owners: a hash look-up.
        let jobs = self.jobs.owned_by(&*cron_job)?;
        let jobs = jobs.into_iter().collect::<Result<Vec<_>, _>>()?;

        let schedule = match Schedule::parse(&cron_job.spec.schedule) {
            Ok(schedule) => schedule,
            Err(error) => {
                // A retry cannot succeed before the CronJob changes, and the change enqueues it.
                let ready = condition(&*cron_job, "Ready", false, "InvalidSchedule", error.to_string());
                self.apply_status(&cron_job, None, ready).await?;
                return Ok(Action::await_change());
            }
        };
        let now = self.clock.now();
        let plan = plan(&cron_job, &schedule, jobs, now);
        let ready = if cron_job.spec.suspend {
            condition(&*cron_job, "Ready", false, "Suspended", "spec.suspend is true")
        } else {
            condition(
                &*cron_job,
                "Ready",
                true,
                "Scheduled",
                "Jobs are created by the schedule",
            )
        };
        // The status first: it must remember the newest run before the Job of that run is deleted.
        self.apply_status(&cron_job, Some(&plan), ready).await?;
        self.carry_out(&cron_job, &plan).await?;

        Ok(match plan.next_run {
            Some(next) => {
                Action::requeue_after(Duration::try_from(next.duration_since(now)).unwrap_or_default())
            }
            None => Action::await_change(),
        })
    }
}
// ANCHOR_END: reconcile

impl CronJobController {
    // ANCHOR: carry_out
    /// Deletes and creates Jobs.
    async fn carry_out(&self, cron_job: &CronJob, plan: &Plan) -> Result<(), ReconcileError> {
        for job in &plan.expired {
            self.delete(job).await?;
        }
        match &plan.step {
            Step::Wait => {}
            Step::Blocked => {
                tracing::debug!(name = cron_job.name_any(), "not started: another Job is active");
            }
            Step::Run {
                scheduled_at,
                replaced,
            } => {
                for job in replaced {
                    self.delete(job).await?;
                }
                let job = new_job(cron_job, *scheduled_at);
                match self.job_writer.create(&job).await {
                    Ok(_) => {
                        let message = format!("Created Job {}", job.name_any());
                        self.events
                            .event(cron_job, EventType::Normal, "SuccessfulCreate", message);
                    }
                    // An earlier reconcile created it, and did not get the answer: the name stands for the run.
                    Err(error) if error.is_already_exists() => {}
                    Err(error) => return Err(error.into()),
                }
            }
        }
        Ok(())
    }

    /// Deletes exactly this Job, and its pods in the background.
    async fn delete(&self, job: &Job) -> Result<(), ReconcileError> {
        let Some(name) = NamespacedName::of(&job.metadata) else {
            return Ok(());
        };
        if job.metadata.deletion_timestamp.is_some() {
            return Ok(());
        }
        let params = DeleteParams::background().preconditions(Preconditions {
            uid: job.metadata.uid.clone(),
            resource_version: None,
        });
        match self.job_writer.delete(&name, &params).await {
            Err(error) if !error.is_not_found() => Err(error.into()),
            _ => Ok(()),
        }
    }
    // ANCHOR_END: carry_out

    // ANCHOR: status
    /// Applies the status if it changed. Without a plan only the condition changes.
    async fn apply_status(
        &self,
        cron_job: &CronJob,
        plan: Option<&Plan>,
        ready: Condition,
    ) -> Result<(), ReconcileError> {
        let mut status = cron_job.status.clone().unwrap_or_default();
        if let Some(plan) = plan {
            status.active = plan.active.iter().map(Arc::as_ref).map(reference).collect();
            status.last_schedule_time = plan.last_schedule_time.map(Time);
        }
        set_condition(&mut status.conditions, ready);
        if cron_job.status.as_ref() == Some(&status) {
            return Ok(());
        }
        let intent = CronJobApply::of(cron_job).status(status);
        self.cron_job_status.apply_status(&intent).await?;
        Ok(())
    }
    // ANCHOR_END: status
}

/// Returns a reference to a Job.
fn reference(job: &Job) -> ObjectReference {
    ObjectReference {
        api_version: Some(Job::api_version(&()).into_owned()),
        kind: Some(Job::kind(&()).into_owned()),
        name: job.metadata.name.clone(),
        namespace: job.metadata.namespace.clone(),
        uid: job.metadata.uid.clone(),
        ..ObjectReference::default()
    }
}

// ANCHOR: new_job
/// Returns the Job of a run. Its name is that of the run, so that a run cannot get two Jobs.
fn new_job(cron_job: &CronJob, scheduled_at: Timestamp) -> Job {
    let template = &cron_job.spec.job_template;
    let template_metadata = template.metadata.clone().unwrap_or_default();
    let mut annotations = template_metadata.annotations.unwrap_or_default();
    annotations.insert(SCHEDULED_AT.to_owned(), scheduled_at.to_string());
    Job {
        metadata: ObjectMeta {
            name: Some(format!("{}-{}", cron_job.name_any(), scheduled_at.as_second())),
            namespace: cron_job.metadata.namespace.clone(),
            labels: template_metadata.labels,
            annotations: Some(annotations),
            // Makes changes of the Job enqueue the CronJob, and deletes the Job with the CronJob.
            owner_references: Some(vec![controller_reference(cron_job)]),
            ..ObjectMeta::default()
        },
        spec: template.spec.clone(),
        status: None,
    }
}
// ANCHOR_END: new_job

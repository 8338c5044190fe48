//! The plan: what a CronJob needs at a point in time. Pure functions: no I/O, no clock.

use std::sync::Arc;

use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::jiff::{SignedDuration, Timestamp};

use crate::{
    api::{ConcurrencyPolicy, CronJob},
    schedule::Schedule,
};

/// Annotation of a Job: the schedule's time for which it was created.
pub const SCHEDULED_AT: &str = "batch.tutorial.kubebuilder.io/scheduled-at";

// ANCHOR: plan
/// What a CronJob needs.
#[derive(Debug, PartialEq)]
pub struct Plan {
    /// The Jobs that have not finished, the oldest first.
    pub active: Vec<Arc<Job>>,
    /// The finished Jobs to delete, because the history is full.
    pub expired: Vec<Arc<Job>>,
    /// The schedule's time of the newest Job.
    pub last_schedule_time: Option<Timestamp>,
    /// What to do now.
    pub step: Step,
    /// When it is time for the next Job; none if the CronJob is suspended or never fires again.
    pub next_run: Option<Timestamp>,
}

/// What to do now.
#[derive(Debug, PartialEq)]
pub enum Step {
    /// It is not time for a Job.
    Wait,
    /// It was time for a Job, but another one is active.
    Blocked,
    /// Create the Job of this time, after deleting the active ones that it replaces.
    Run {
        /// The schedule's time.
        scheduled_at: Timestamp,
        /// Active Jobs to delete.
        replaced: Vec<Arc<Job>>,
    },
}
// ANCHOR_END: plan

// ANCHOR: phase
/// Whether a Job has finished, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// It has not finished.
    Active,
    /// It is complete.
    Successful,
    /// It has failed.
    Failed,
}

/// Returns the phase of a Job, by its conditions.
pub fn phase(job: &Job) -> Phase {
    let status = job.status.iter();
    let conditions = status.flat_map(|status| status.conditions.iter().flatten());
    conditions
        .filter(|condition| condition.status == "True")
        .find_map(|condition| match condition.type_.as_str() {
            "Complete" => Some(Phase::Successful),
            "Failed" => Some(Phase::Failed),
            _ => None,
        })
        .unwrap_or(Phase::Active)
}
// ANCHOR_END: phase

// ANCHOR: decide
/// Plans what `cron_job` needs at the time `now`. `jobs` are the Jobs that it controls.
pub fn plan(cron_job: &CronJob, schedule: &Schedule, mut jobs: Vec<Arc<Job>>, now: Timestamp) -> Plan {
    jobs.sort_by_key(|job| (scheduled_at(job), job.metadata.name.clone()));
    let in_phase = |wanted| jobs.iter().filter(move |job| phase(job) == wanted).cloned();
    let active: Vec<_> = in_phase(Phase::Active).collect();
    let spec = &cron_job.spec;
    let mut expired = over_limit(in_phase(Phase::Successful), spec.successful_jobs_history_limit);
    expired.extend(over_limit(
        in_phase(Phase::Failed),
        spec.failed_jobs_history_limit,
    ));

    // The status remembers the newest Job if the history does not keep it.
    let recorded = cron_job
        .status
        .as_ref()
        .and_then(|status| status.last_schedule_time.as_ref());
    let newest = jobs.iter().filter_map(|job| scheduled_at(job)).max();
    let last_schedule_time = newest.max(recorded.map(|time| time.0));

    let (step, next_run) = if spec.suspend {
        (Step::Wait, None)
    } else {
        let due = schedule.latest(earliest(cron_job, last_schedule_time, now), now);
        (decide(spec.concurrency_policy, due, &active), schedule.next(now))
    };
    Plan {
        active,
        expired,
        last_schedule_time,
        step,
        next_run,
    }
}

/// Runs at this time and before it are not started: they have a Job, are older than the CronJob, or have missed the deadline.
fn earliest(cron_job: &CronJob, last_schedule_time: Option<Timestamp>, now: Timestamp) -> Timestamp {
    let created = cron_job.metadata.creation_timestamp.as_ref().map(|time| time.0);
    let start = last_schedule_time.or(created).unwrap_or(now);
    let deadline = cron_job
        .spec
        .starting_deadline_seconds
        .and_then(|seconds| now.checked_sub(SignedDuration::from_secs(seconds)).ok());
    deadline.map_or(start, |deadline| deadline.max(start))
}

fn decide(policy: ConcurrencyPolicy, due: Option<Timestamp>, active: &[Arc<Job>]) -> Step {
    let Some(scheduled_at) = due else {
        return Step::Wait;
    };
    let replaced = match policy {
        ConcurrencyPolicy::Forbid if !active.is_empty() => return Step::Blocked,
        ConcurrencyPolicy::Replace => active.to_vec(),
        ConcurrencyPolicy::Allow | ConcurrencyPolicy::Forbid => Vec::new(),
    };
    Step::Run {
        scheduled_at,
        replaced,
    }
}
// ANCHOR_END: decide

/// Returns the oldest of the sorted Jobs, without the newest `limit`.
fn over_limit(jobs: impl Iterator<Item = Arc<Job>>, limit: Option<u32>) -> Vec<Arc<Job>> {
    let mut jobs: Vec<_> = jobs.collect();
    let kept = limit.map_or(jobs.len(), |limit| limit as usize);
    jobs.truncate(jobs.len().saturating_sub(kept));
    jobs
}

/// Returns the schedule's time for which the Job was created.
fn scheduled_at(job: &Job) -> Option<Timestamp> {
    let annotations = job.metadata.annotations.as_ref()?;
    annotations.get(SCHEDULED_AT)?.parse().ok()
}

#[cfg(test)]
#[path = "plan_tests.rs"]
mod tests;

//! The status of a CronJob: which of its Jobs run, and when one succeeded last.

use std::sync::Arc;

use k8s_openapi::api::{
    batch::v1::{CronJob, Job},
    core::v1::ObjectReference,
};

use super::plan::Note;
use crate::shared::finished_job::finished_condition;

/// What the Jobs of a CronJob say about its status.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Settled {
    pub(super) has_changed: bool,
    /// Unfinished Jobs that are not in the status.
    pub(super) unexpected: Vec<String>,
    /// Jobs in the status that no cache has.
    pub(super) missing: Vec<ObjectReference>,
}

/// Takes finished Jobs out of the status. Returns what has to be asked of the API server.
pub(super) fn settle(cron_job: &mut CronJob, jobs: &[Arc<Job>], notes: &mut Vec<Note>) -> Settled {
    let mut settled = Settled::default();
    for job in jobs {
        let is_active = is_active(cron_job, job.metadata.uid.as_deref());
        let name = job.metadata.name.clone().unwrap_or_default();
        let Some(condition) = finished_condition(job) else {
            if !is_active {
                settled.unexpected.push(name);
            }
            continue;
        };
        if is_active {
            remove_active(cron_job, job.metadata.uid.as_deref());
            let note = format!("Saw completed job: {name}, condition: {}", condition.type_);
            notes.push(Note::normal("SawCompletedJob", note));
            settled.has_changed = true;
        }
        let completed = job
            .status
            .as_ref()
            .and_then(|status| status.completion_time.clone());
        let last = &mut cron_job.status.get_or_insert_default().last_successful_time;
        if condition.type_ == "Complete"
            && completed.as_ref().map(|time| time.0) > last.as_ref().map(|time| time.0)
        {
            *last = completed;
            settled.has_changed = true;
        }
    }
    let known = |active: &&ObjectReference| !jobs.iter().any(|job| job.metadata.uid == active.uid);
    settled.missing = active(cron_job).iter().filter(known).cloned().collect();
    settled
}

/// Returns the Jobs in the status.
pub(super) fn active(cron_job: &CronJob) -> &[ObjectReference] {
    let active = cron_job
        .status
        .as_ref()
        .and_then(|status| status.active.as_deref());
    active.unwrap_or_default()
}

pub(super) fn is_active(cron_job: &CronJob, uid: Option<&str>) -> bool {
    active(cron_job).iter().any(|job| job.uid.as_deref() == uid)
}

pub(super) fn remove_active(cron_job: &mut CronJob, uid: Option<&str>) {
    let active = cron_job.status.get_or_insert_default().active.as_mut();
    if let Some(active) = active {
        active.retain(|job| job.uid.as_deref() != uid);
    }
}

/// Returns the finished Jobs that exceed the limits of the history, the oldest first.
pub(super) fn surplus_history(cron_job: &CronJob, jobs: &[Arc<Job>]) -> Vec<Arc<Job>> {
    let spec = &cron_job.spec;
    let limits = [
        ("Complete", spec.successful_jobs_history_limit),
        ("Failed", spec.failed_jobs_history_limit),
    ];
    let mut surplus = Vec::new();
    for (kind, limit) in limits {
        let Some(limit) = limit.and_then(|limit| usize::try_from(limit).ok()) else {
            continue;
        };
        let ended =
            |job: &&Arc<Job>| finished_condition(job).is_some_and(|condition| condition.type_ == kind);
        let mut ended: Vec<_> = jobs.iter().filter(ended).cloned().collect();
        ended.sort_by_key(|job| {
            let started = job
                .status
                .as_ref()
                .and_then(|status| status.start_time.as_ref().map(|time| time.0));
            // Jobs that never started are the newest.
            (started.is_none(), started, job.metadata.name.clone())
        });
        let count = ended.len().saturating_sub(limit);
        surplus.extend(ended.into_iter().take(count));
    }
    surplus
}

#[cfg(test)]
#[path = "status_tests.rs"]
mod tests;

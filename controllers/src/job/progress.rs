//! The status after the pods were changed: counts of pods, suspension, start time, and the verdict that remains.

use k8s_openapi::{api::batch::v1::JobStatus, apimachinery::pkg::apis::meta::v1::Time, jiff::Timestamp};

use super::{
    conditions::{self, SUSPENDED, condition},
    plan::{Assessment, PodStep},
    verdict::Verdict,
};

/// What a step changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct PodChanges {
    pub(super) created: usize,
    pub(super) failed_creations: usize,
    pub(super) deleted: usize,
    /// Ready pods among the deleted ones.
    pub(super) deleted_ready: usize,
}

/// The status after a step, before finished pods are counted.
#[derive(Clone, Debug)]
pub(super) struct Progress {
    pub(super) status: JobStatus,
    pub(super) verdict: Option<Verdict>,
    pub(super) suspension: Option<Suspension>,
    /// Pods that are being deleted, now included.
    pub(super) terminating: usize,
}

/// A change of the condition Suspended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Suspension {
    Suspended,
    Resumed,
}

impl Progress {
    pub(super) fn after(
        assessment: &Assessment<'_>,
        before: &JobStatus,
        step: &PodStep<'_>,
        changes: PodChanges,
        is_satisfied: bool,
        now: Timestamp,
    ) -> Self {
        let mut status = before.clone();
        let rules = assessment.rules;
        if !rules.is_suspended {
            status.start_time.get_or_insert(Time(now));
        }
        let active = assessment.active.len().saturating_sub(changes.deleted) + changes.created;
        let mut verdict = assessment.verdict.clone();
        let mut suspension = None;
        if verdict.is_some() {
            // Pods that remain active, or that the cache does not show yet, must be counted first.
            verdict = verdict.filter(|_| active == 0 && is_satisfied);
        } else if assessment.is_complete(active) {
            verdict = Some(Verdict::completions_reached(rules.features));
        } else if !matches!(step, PodStep::Await) {
            suspension = set_suspension(assessment, &mut status, now);
        }
        let ready = assessment.active.iter().filter(|pod| pod.view.is_ready()).count();
        let terminating = assessment.terminating + changes.deleted;
        status.active = Some(to_i32(active));
        status.ready = Some(to_i32(ready.saturating_sub(changes.deleted_ready)));
        status.terminating = rules.features.pod_replacement_policy.then(|| to_i32(terminating));
        Self {
            status,
            verdict,
            suspension,
            terminating,
        }
    }
}

fn set_suspension(assessment: &Assessment<'_>, status: &mut JobStatus, now: Timestamp) -> Option<Suspension> {
    let rules = assessment.rules;
    if rules.is_suspended {
        let suspended = condition(SUSPENDED, true, "JobSuspended", "Job suspended", now);
        if !conditions::set(status, suspended) {
            return None;
        }
        if rules.features.mutable_scheduling_directives {
            status.start_time = None;
        }
        return Some(Suspension::Suspended);
    }
    let resumed = condition(SUSPENDED, false, "JobResumed", "Job resumed", now);
    conditions::set(status, resumed).then(|| {
        // The active deadline begins anew.
        status.start_time = Some(Time(now));
        Suspension::Resumed
    })
}

/// Whether a status differs, for the API: an absent number or list is an empty one.
pub(super) fn differs(before: &JobStatus, after: &JobStatus) -> bool {
    normalized(before) != normalized(after)
}

fn normalized(status: &JobStatus) -> JobStatus {
    let mut status = status.clone();
    for counter in [&mut status.active, &mut status.succeeded, &mut status.failed] {
        counter.get_or_insert(0);
    }
    let uncounted = status.uncounted_terminated_pods.get_or_insert_default();
    for list in [&mut uncounted.succeeded, &mut uncounted.failed] {
        list.get_or_insert_default();
    }
    status.conditions.get_or_insert_default();
    status.completed_indexes.get_or_insert_default();
    status
}

pub(super) fn to_i32(count: usize) -> i32 {
    i32::try_from(count).unwrap_or(i32::MAX)
}

#[cfg(test)]
#[path = "progress_tests.rs"]
mod tests;

//! The plan: what the caches say about a Job, and the next step for its pods.

use std::{collections::HashSet, time::Duration};

use k8s_openapi::{
    api::batch::v1::JobStatus,
    jiff::{SignedDuration, Timestamp},
};

use super::{
    backoff::FailureRecord,
    failure_policy,
    features::Limits,
    indexes::{Indexes, active},
    job_pod::JobPod,
    removal::pods_to_remove,
    rules::JobRules,
    verdict::{Verdict, judge},
};

/// What the caches say about a Job.
#[derive(Clone, Debug)]
pub(super) struct Assessment<'p> {
    pub(super) rules: &'p JobRules<'p>,
    pub(super) pods: &'p [JobPod],
    pub(super) active: Vec<&'p JobPod>,
    pub(super) terminating: usize,
    /// Succeeded pods, or indexes of an indexed Job.
    pub(super) succeeded: usize,
    /// Failed pods that count towards the backoff limit.
    pub(super) failed: usize,
    pub(super) indexes: Indexes<'p>,
    /// The failures before the pods that have finished since the last write of the status.
    pub(super) failures: FailureRecord,
    /// Pods that have finished since the last write of the status.
    pub(super) newly_succeeded: Vec<&'p JobPod>,
    pub(super) newly_failed: Vec<&'p JobPod>,
    pub(super) verdict: Option<Verdict>,
    /// After how long the Job reaches its active deadline.
    pub(super) deadline: Option<Duration>,
}

/// The next step for a Job's pods.
#[derive(Clone, Debug)]
pub(super) enum PodStep<'p> {
    /// The Job has ended: delete its active pods, which are counted before they go.
    End(Vec<&'p JobPod>),
    /// Delete pods that are not needed. They are not counted.
    Remove(Vec<&'p JobPod>),
    /// Create pods, with these indexes.
    Create(Vec<Option<u32>>),
    /// Failed pods are replaced after this time.
    Wait(Duration),
    /// There are as many pods as needed.
    Keep,
    /// The cache does not show all pods yet, or the Job is being deleted.
    Await,
}

/// Assesses a Job. `failures` are those before the pods that have finished since the last write of the status.
pub(super) fn assess<'p>(
    rules: &'p JobRules<'p>,
    status: &JobStatus,
    pods: &'p [JobPod],
    failures: FailureRecord,
    now: Timestamp,
) -> Assessment<'p> {
    let uncounted = status.uncounted_terminated_pods.as_ref();
    let succeeded_before = uncounted.and_then(|uncounted| uncounted.succeeded.as_deref());
    let failed_before = uncounted.and_then(|uncounted| uncounted.failed.as_deref());
    // A deleted pod that is listed as failed may still succeed. It stays a failure; upstream would complete the Job with no success counted.
    let listed: HashSet<&str> = [succeeded_before, failed_before]
        .into_iter()
        .flatten()
        .flatten()
        .map(String::as_str)
        .collect();
    let succeeded = new_pods(rules, pods, &listed, JobPod::has_succeeded);
    let failed = new_pods(rules, pods, &listed, |pod| pod.has_failed(rules));
    let counted = failed
        .iter()
        .filter(|pod| failure_policy::counts(rules, pod))
        .count();
    let total = |counter: Option<i32>, before: Option<&[String]>, new: usize| {
        usize::try_from(counter.unwrap_or(0)).unwrap_or(0) + before.map_or(0, <[_]>::len) + new
    };
    let failed_total = total(status.failed, failed_before, counted);
    let mut succeeded_total = total(status.succeeded, succeeded_before, succeeded.len());
    let mut indexes = Indexes::default();
    if rules.indexes.is_some() {
        indexes = Indexes::of(rules, status, pods);
        succeeded_total = indexes.succeeded.len();
    }
    let deadline = remaining_time(rules, status, now);
    let is_past_deadline = deadline.is_some_and(|remaining| remaining.is_zero());
    let verdict = judge(rules, status, pods, &indexes, failed_total, is_past_deadline);
    Assessment {
        rules,
        pods,
        active: active(pods).collect(),
        terminating: pods.iter().filter(|pod| pod.view.is_terminating()).count(),
        succeeded: succeeded_total,
        failed: failed_total,
        failures,
        newly_succeeded: succeeded,
        newly_failed: failed,
        deadline: deadline.filter(|_| verdict.is_none()),
        verdict,
        indexes,
    }
}

impl<'p> Assessment<'p> {
    /// Returns the next step. `is_satisfied`: the cache shows all pods that were created and deleted before.
    pub(super) fn next_step(&self, is_satisfied: bool, limits: &Limits, now: Timestamp) -> PodStep<'p> {
        if self.verdict.is_some() {
            return PodStep::End(self.active.clone());
        }
        if !is_satisfied || self.rules.is_deleting {
            return PodStep::Await;
        }
        if self.rules.is_suspended {
            return PodStep::Remove(self.active.clone());
        }
        let (wanted, active) = (self.wanted(), self.active.len());
        let mut removed = pods_to_remove(self.rules, &self.active, active.saturating_sub(wanted));
        removed.truncate(limits.max_pods_per_sync);
        if !removed.is_empty() {
            return PodStep::Remove(removed);
        }
        let occupied = if self.rules.replaces_only_failed {
            active + self.terminating
        } else {
            active
        };
        match wanted.saturating_sub(occupied) {
            0 => PodStep::Keep,
            missing => self.create(missing.min(limits.max_pods_per_sync), limits, now),
        }
    }

    fn create(&self, count: usize, limits: &Limits, now: Timestamp) -> PodStep<'p> {
        let wait = |remaining: Duration| PodStep::Wait(remaining.max(limits.batch_period));
        let is_per_index = self.rules.backoff_limit_per_index.is_some();
        if !is_per_index {
            let failures = self.failures.after(&self.newly_succeeded, &self.newly_failed);
            let remaining = failures.remaining(limits, now);
            if !remaining.is_zero() {
                return wait(remaining);
            }
        }
        if self.rules.indexes.is_none() {
            return PodStep::Create(vec![None; count]);
        }
        let pending = self.indexes.pending(self.rules, self.pods, count);
        if !is_per_index {
            return PodStep::Create(pending.into_iter().map(Some).collect());
        }
        let remaining: Vec<_> = pending
            .into_iter()
            .map(|index| (index, self.indexes.remaining_backoff(index, limits, now)))
            .collect();
        let ready = remaining.iter().filter(|(_, remaining)| remaining.is_zero());
        let ready: Vec<_> = ready.map(|(index, _)| Some(*index)).collect();
        match remaining.iter().map(|(_, remaining)| *remaining).min() {
            Some(shortest) if ready.is_empty() => wait(shortest),
            _ => PodStep::Create(ready),
        }
    }

    /// Returns how many pods should be active.
    fn wanted(&self) -> usize {
        let parallelism = usize::try_from(self.rules.parallelism).unwrap_or(usize::MAX);
        match self.rules.completions {
            // The first success ends it: running pods may finish.
            None if self.succeeded > 0 => self.active.len(),
            None => parallelism,
            Some(completions) => {
                let completions = usize::try_from(completions).unwrap_or(usize::MAX);
                completions.saturating_sub(self.succeeded).min(parallelism)
            }
        }
    }

    /// Returns the failures with these pods, which the status lists now.
    pub(super) fn failures_with(&self, counted: &[&JobPod]) -> FailureRecord {
        let counted: HashSet<&str> = counted.iter().map(|pod| &*pod.uid).collect();
        let among = |pods: &[&'p JobPod]| -> Vec<&'p JobPod> {
            let pods = pods.iter().copied();
            pods.filter(|pod| counted.contains(&*pod.uid)).collect()
        };
        self.failures
            .after(&among(&self.newly_succeeded), &among(&self.newly_failed))
    }

    /// Whether enough pods have succeeded, with this number of active pods.
    pub(super) fn is_complete(&self, active: usize) -> bool {
        let is_enough = match self.rules.completions {
            None => self.succeeded > 0,
            Some(completions) => self.succeeded >= usize::try_from(completions).unwrap_or(usize::MAX),
        };
        is_enough && active == 0
    }
}

/// Returns the tracked pods with a valid index that the filter accepts and that the status does not list.
fn new_pods<'p>(
    rules: &JobRules<'_>,
    pods: &'p [JobPod],
    listed: &HashSet<&str>,
    filter: impl Fn(&JobPod) -> bool,
) -> Vec<&'p JobPod> {
    let pods = pods.iter().filter(|pod| pod.is_tracked && filter(pod));
    pods.filter(|pod| pod.is_valid(rules) && !listed.contains(&*pod.uid))
        .collect()
}

/// Returns the time until the active deadline, zero if it has passed. Suspended Jobs have none. A Job that starts now has all of it.
fn remaining_time(rules: &JobRules<'_>, status: &JobStatus, now: Timestamp) -> Option<Duration> {
    let allowed = SignedDuration::from_secs(rules.active_deadline_seconds.filter(|_| !rules.is_suspended)?);
    let start = status.start_time.as_ref();
    let elapsed = start.map_or(SignedDuration::ZERO, |start| now.duration_since(start.0));
    // A Job that has no start time written is not past its deadline.
    let remaining = allowed.checked_sub(elapsed).unwrap_or(SignedDuration::ZERO);
    Some(Duration::try_from(remaining).unwrap_or(Duration::ZERO))
}

#[cfg(test)]
#[path = "plan_tests.rs"]
mod tests;

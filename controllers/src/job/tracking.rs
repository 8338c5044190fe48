//! Counting finished pods exactly once. The status first lists their uids as uncounted; then they lose their finalizers, after which they
//! may disappear; then the status counts them instead. A success of an indexed Job needs no uid: its index is counted once.

use std::collections::{BTreeMap, HashSet};

use k8s_openapi::{api::batch::v1::JobStatus, jiff::Timestamp};

use super::{
    conditions::{self, condition, is_true},
    failure_policy::{FailureAction, matched_rule},
    job_pod::JobPod,
    plan::Assessment,
    progress::{Progress, to_i32},
    verdict::{SUCCESS_CRITERIA_MET, Verdict},
};

/// The pods to count.
#[derive(Clone, Debug)]
pub(super) struct Tracking<'p> {
    /// The status that lists them.
    pub(super) status: JobStatus,
    /// Those that lose their finalizers after the status was written.
    pub(super) finished: Vec<&'p JobPod>,
    /// The uids of all pods with the finalizer.
    pub(super) tracked: HashSet<&'p str>,
    /// Whether pods were left out, because the status lists as many as it may.
    pub(super) is_limited: bool,
    /// How many failed pods matched rules of the failure policy, by action.
    pub(super) policy_actions: BTreeMap<&'static str, u64>,
}

impl<'p> Tracking<'p> {
    /// Lists the finished pods in the status, at most `limit`.
    pub(super) fn plan(
        assessment: &Assessment<'p>,
        progress: &Progress,
        limit: usize,
        now: Timestamp,
    ) -> Self {
        let rules = assessment.rules;
        let mut tracking = Self {
            status: progress.status.clone(),
            finished: Vec::new(),
            tracked: tracked_uids(assessment.pods),
            is_limited: false,
            policy_actions: BTreeMap::new(),
        };
        count_untracked(&mut tracking.status, &tracking.tracked);
        let mut pods: Vec<_> = assessment.pods.iter().filter(|pod| pod.is_tracked).collect();
        if rules.indexes.is_some() {
            pods.sort_by_key(|pod| pod.index);
        }
        let uids = |list: Option<&Vec<String>>| list.into_iter().flatten().cloned().collect::<HashSet<_>>();
        let uncounted = tracking.status.uncounted_terminated_pods.get_or_insert_default();
        let listed = (
            uids(uncounted.succeeded.as_ref()),
            uids(uncounted.failed.as_ref()),
        );
        let (mut succeeded, mut failed) = (Vec::new(), Vec::new());
        let mut new_indexes = Vec::new();
        let already = listed.0.len() + listed.1.len();
        for pod in pods {
            let has_failed = pod.has_failed(rules);
            if !may_be_counted(assessment, progress.verdict.as_ref(), pod, has_failed) {
                continue;
            }
            tracking.finished.push(pod);
            let is_listed_as_failed = listed.1.contains(&*pod.uid);
            if pod.has_succeeded() && !is_listed_as_failed {
                if rules.indexes.is_some() {
                    let index = pod.valid_index(rules);
                    new_indexes.extend(index.filter(|index| !assessment.indexes.counted.contains(*index)));
                } else if !listed.0.contains(&*pod.uid) {
                    succeeded.push(pod.uid.to_string());
                }
            } else if has_failed
                || progress
                    .verdict
                    .as_ref()
                    .is_some_and(Verdict::fails_unfinished_pods)
            {
                if !is_listed_as_failed && pod.is_valid(rules) {
                    let action = matched_rule(rules, pod).map(|rule| rule.action);
                    if let Some(action) = action {
                        *tracking.policy_actions.entry(action.as_str()).or_default() += 1;
                    }
                    if action != Some(FailureAction::Ignore) {
                        failed.push(pod.uid.to_string());
                    }
                }
            }
            if new_indexes.len() + already + succeeded.len() + failed.len() >= limit {
                tracking.is_limited = true;
                break;
            }
        }
        uncounted.succeeded.get_or_insert_default().extend(succeeded);
        uncounted.failed.get_or_insert_default().extend(failed);
        if rules.indexes.is_some() {
            let indexes = assessment.indexes.succeeded.with(new_indexes);
            tracking.status.succeeded = Some(to_i32(indexes.len()));
            tracking.status.completed_indexes = Some(indexes.to_string());
            tracking.status.failed_indexes = assessment.indexes.failed.as_ref().map(ToString::to_string);
        }
        if let Some(interim) = progress
            .verdict
            .as_ref()
            .and_then(|verdict| verdict.new_interim_condition(now))
        {
            let is_known = interim.type_ == SUCCESS_CRITERIA_MET
                && is_true(&tracking.status, SUCCESS_CRITERIA_MET).is_some();
            if !is_known {
                tracking.status.conditions.get_or_insert_default().push(interim);
            }
        }
        tracking
    }

    /// Counts the pods that have lost their finalizers. Returns whether the status changed.
    pub(super) fn count(&mut self, status: &mut JobStatus, removed: &[&'p JobPod]) -> bool {
        for pod in removed {
            self.tracked.remove(&*pod.uid);
        }
        count_untracked(status, &self.tracked)
    }

    /// Sets the final condition, once all pods are counted. Returns whether the Job is finished.
    pub(super) fn finish(
        &self,
        status: &mut JobStatus,
        progress: &Progress,
        delays: bool,
        now: Timestamp,
    ) -> bool {
        let Some(verdict) = progress.verdict.as_ref().filter(|_| !self.is_limited) else {
            return false;
        };
        let uncounted = status.uncounted_terminated_pods.as_ref();
        let is_counted = uncounted.is_none_or(|uncounted| {
            let lists = [&uncounted.succeeded, &uncounted.failed];
            lists.iter().all(|list| list.as_ref().is_none_or(Vec::is_empty))
        });
        if !is_counted || delays && progress.terminating > 0 {
            return false;
        }
        let condition = condition(
            verdict.condition_type(),
            true,
            &verdict.reason,
            &verdict.message,
            now,
        );
        if verdict.is_success {
            status.completion_time.clone_from(&condition.last_transition_time);
        }
        conditions::set(status, condition);
        true
    }
}

fn tracked_uids(pods: &[JobPod]) -> HashSet<&str> {
    let tracked = pods.iter().filter(|pod| pod.is_tracked);
    tracked.map(|pod| &*pod.uid).collect()
}

/// Whether a pod may lose its finalizer: it has finished, or its Job has. A failed pod whose index needs another one keeps it until then.
fn may_be_counted(
    assessment: &Assessment<'_>,
    verdict: Option<&Verdict>,
    pod: &JobPod,
    has_failed: bool,
) -> bool {
    if assessment.rules.is_deleting || verdict.is_some() || pod.has_succeeded() {
        return true;
    }
    let replaced = pod
        .index
        .and_then(|index| assessment.indexes.replaced.get(&index));
    has_failed && replaced.is_none_or(|replaced| replaced.uid != pod.uid)
}

/// Counts the listed pods that are no longer tracked. Returns whether the status changed.
fn count_untracked(status: &mut JobStatus, tracked: &HashSet<&str>) -> bool {
    let Some(uncounted) = &mut status.uncounted_terminated_pods else {
        return false;
    };
    let count = |list: &mut Option<Vec<String>>, counter: &mut Option<i32>| {
        let Some(list) = list else { return false };
        let before = list.len();
        list.retain(|uid| tracked.contains(uid.as_str()));
        let counted = before - list.len();
        *counter = Some(counter.unwrap_or(0).saturating_add(to_i32(counted)));
        counted > 0
    };
    let succeeded = count(&mut uncounted.succeeded, &mut status.succeeded);
    let failed = count(&mut uncounted.failed, &mut status.failed);
    succeeded || failed
}

#[cfg(test)]
#[path = "tracking_tests.rs"]
mod tests;

//! Counting finished pods exactly once. The status first lists their uids as uncounted; then they lose their finalizers, after which they
//! may disappear; then the status counts them instead. A success of an indexed Job needs no uid: its index is counted once.

use std::collections::{BTreeMap, HashSet};

use k8s_openapi::{
    api::batch::v1::{JobCondition, JobStatus},
    jiff::Timestamp,
};

use super::{
    conditions::{self, condition, is_true},
    failure_policy::{FailureAction, matched_rule},
    job_pod::JobPod,
    plan::Assessment,
    progress::{Progress, to_i32},
    verdict::Verdict,
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
        let (rules, verdict) = (assessment.rules, progress.verdict.as_ref());
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
        let mut uncounted = Uncounted::of(&tracking.status);
        for pod in pods {
            if !may_be_counted(assessment, verdict, pod) {
                continue;
            }
            let (result, action) = result(assessment, verdict, pod);
            let was_listed = uncounted.known.contains(&*pod.uid);
            if !uncounted.add(pod, result, limit) {
                tracking.is_limited = true;
                continue;
            }
            tracking.finished.push(pod);
            // The removal of the finalizer of a listed pod is retried: its action was counted before.
            if let Some(action) = action.filter(|_| !was_listed) {
                *tracking.policy_actions.entry(action.as_str()).or_default() += 1;
            }
        }
        let lists = tracking.status.uncounted_terminated_pods.get_or_insert_default();
        lists.succeeded = Some(uncounted.succeeded);
        lists.failed = Some(uncounted.failed);
        if rules.indexes.is_some() {
            let indexes = &assessment.indexes;
            tracking.status.succeeded = Some(to_i32(indexes.succeeded.len()));
            tracking.status.completed_indexes = Some(indexes.succeeded.to_string());
            tracking.status.failed_indexes = indexes.failed.as_ref().map(ToString::to_string);
        }
        let interim = verdict.and_then(|verdict| verdict.new_interim_condition(now));
        let is_known = |interim: &JobCondition| is_true(&tracking.status, &interim.type_).is_some();
        if let Some(interim) = interim.filter(|interim| !is_known(interim)) {
            tracking.status.conditions.get_or_insert_default().push(interim);
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
fn may_be_counted(assessment: &Assessment<'_>, verdict: Option<&Verdict>, pod: &JobPod) -> bool {
    if assessment.rules.is_deleting || verdict.is_some() || pod.has_succeeded() {
        return true;
    }
    let replaced = pod
        .index
        .and_then(|index| assessment.indexes.replaced.get(&index));
    pod.has_failed(assessment.rules) && replaced.is_none_or(|replaced| replaced.uid != pod.uid)
}

/// What a pod adds to the status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PodResult {
    Succeeded,
    /// The success of an index that was not counted before.
    NewIndex,
    Failed,
    /// It does not count.
    None,
}

/// Returns the result of a pod, and the action of the failure policy that it matched.
fn result(
    assessment: &Assessment<'_>,
    verdict: Option<&Verdict>,
    pod: &JobPod,
) -> (PodResult, Option<FailureAction>) {
    let rules = assessment.rules;
    if pod.has_succeeded() {
        let is_new = |index: u32| !assessment.indexes.counted.contains(index);
        let result = match (rules.indexes, pod.valid_index(rules)) {
            (None, _) => PodResult::Succeeded,
            (Some(_), Some(index)) if is_new(index) => PodResult::NewIndex,
            (Some(_), _) => PodResult::None,
        };
        return (result, None);
    }
    let has_failed = pod.has_failed(rules) || verdict.is_some_and(Verdict::fails_unfinished_pods);
    if !has_failed || !pod.is_valid(rules) {
        return (PodResult::None, None);
    }
    let action = matched_rule(rules, pod).map(|rule| rule.action);
    match action {
        Some(FailureAction::Ignore) => (PodResult::None, action),
        _ => (PodResult::Failed, action),
    }
}

/// The pods that the status lists.
struct Uncounted {
    succeeded: Vec<String>,
    failed: Vec<String>,
    /// The uids in both lists.
    known: HashSet<String>,
    new_indexes: usize,
}

impl Uncounted {
    fn of(status: &JobStatus) -> Self {
        let lists = status.uncounted_terminated_pods.clone().unwrap_or_default();
        let [succeeded, failed] = [lists.succeeded, lists.failed].map(Option::unwrap_or_default);
        Self {
            known: succeeded.iter().chain(&failed).cloned().collect(),
            succeeded,
            failed,
            new_indexes: 0,
        }
    }

    /// Adds the result of a pod, unless it is listed. Returns false if there is no room for it.
    fn add(&mut self, pod: &JobPod, result: PodResult, limit: usize) -> bool {
        if result == PodResult::None || self.known.contains(&*pod.uid) {
            return true;
        }
        if self.known.len() + self.new_indexes >= limit {
            return false;
        }
        let list = match result {
            PodResult::NewIndex => {
                self.new_indexes += 1;
                return true;
            }
            PodResult::Failed => &mut self.failed,
            _ => &mut self.succeeded,
        };
        list.push(pod.uid.to_string());
        self.known.insert(pod.uid.to_string());
        true
    }
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

//! The completion indexes of an indexed Job: which have succeeded, which have failed, which need a pod.

use std::collections::{BTreeSet, HashMap};

use super::{
    backoff::FailureRecord,
    failure_policy::{self, FailureAction, matched_rule},
    features::Limits,
    finish_time::finish_time,
    index_set::IndexSet,
    job_pod::JobPod,
    rules::JobRules,
};
use k8s_openapi::{api::batch::v1::JobStatus, jiff::Timestamp};

/// The state of the indexes.
#[derive(Clone, Debug, Default)]
pub(super) struct Indexes<'p> {
    /// Those that had succeeded before.
    pub(super) counted: IndexSet,
    pub(super) succeeded: IndexSet,
    /// None without a backoff limit per index.
    pub(super) failed: Option<IndexSet>,
    /// The last failed pod of each index that still needs a pod: it keeps its finalizer until there is another one, which continues its
    /// count of failures.
    pub(super) replaced: HashMap<u32, &'p JobPod>,
}

/// The failures of an index before a new pod.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct IndexFailures {
    pub(super) counted: u32,
    pub(super) ignored: u32,
}

impl<'p> Indexes<'p> {
    pub(super) fn of(rules: &JobRules<'_>, status: &JobStatus, pods: &'p [JobPod]) -> Self {
        let completions = rules.indexes.unwrap_or(0);
        let parse = |text: &Option<String>| IndexSet::parse(text.as_deref().unwrap_or_default(), completions);
        // A pod without the finalizer is counted already.
        let tracked = || {
            let pods = pods.iter().filter(|pod| pod.is_tracked);
            pods.filter_map(|pod| Some((pod.valid_index(rules)?, pod)))
        };
        let counted = parse(&status.completed_indexes);
        let succeeded = tracked().filter(|(_, pod)| pod.has_succeeded());
        let succeeded = counted.with(succeeded.map(|(index, _)| index));
        let failed = rules.backoff_limit_per_index.map(|limit| {
            let failed = tracked().filter(|(_, pod)| has_index_failed(rules, pod, limit));
            parse(&status.failed_indexes).with(failed.map(|(index, _)| index))
        });
        let mut indexes = Self {
            counted,
            succeeded,
            failed,
            replaced: HashMap::new(),
        };
        if rules.backoff_limit_per_index.is_some() {
            let active: BTreeSet<u32> = active(pods).filter_map(|pod| pod.index).collect();
            let failed = tracked().filter(|(_, pod)| pod.has_failed(rules));
            for (index, pod) in failed {
                if !active.contains(&index) && !indexes.is_finished(index) {
                    let last = indexes.replaced.entry(index).or_insert(pod);
                    if all_failures(&pod.view) >= all_failures(&last.view)
                        && finish_time(&pod.view) >= finish_time(&last.view)
                    {
                        *last = pod;
                    }
                }
            }
        }
        indexes
    }

    fn is_finished(&self, index: u32) -> bool {
        self.succeeded.contains(index) || self.failed.as_ref().is_some_and(|failed| failed.contains(index))
    }

    /// Returns the first `count` indexes that need a pod.
    pub(super) fn pending(&self, rules: &JobRules<'_>, pods: &[JobPod], count: usize) -> Vec<u32> {
        let occupies =
            |pod: &&JobPod| pod.view.is_active() || rules.replaces_only_failed && pod.view.is_terminating();
        let indexes = pods.iter().filter(occupies).filter_map(|pod| pod.index);
        let mut taken = self.succeeded.with(indexes);
        if let Some(failed) = &self.failed {
            taken = taken.union(failed);
        }
        taken.missing(rules.indexes.unwrap_or(0)).take(count).collect()
    }

    /// Returns after how long an index may have a new pod.
    pub(super) fn remaining_backoff(
        &self,
        index: u32,
        limits: &Limits,
        now: Timestamp,
    ) -> std::time::Duration {
        let record = self.replaced.get(&index).map(|pod| {
            let failures = all_failures(&pod.view).saturating_add(1);
            FailureRecord::new(failures, finish_time(&pod.view))
        });
        record.unwrap_or_default().remaining(limits, now)
    }

    /// Returns the failures of an index, for the annotations of its next pod.
    pub(super) fn failures(&self, rules: &JobRules<'_>, index: u32) -> IndexFailures {
        let Some(pod) = self.replaced.get(&index) else {
            return IndexFailures::default();
        };
        let mut failures = IndexFailures {
            counted: number(pod.view.index_failures.as_deref()),
            ignored: number(pod.view.index_ignored_failures.as_deref()),
        };
        let counter = if failure_policy::counts(rules, pod) {
            &mut failures.counted
        } else {
            &mut failures.ignored
        };
        *counter = counter.saturating_add(1);
        failures
    }
}

/// Returns the pods that run or will run.
pub(super) fn active(pods: &[JobPod]) -> impl Iterator<Item = &JobPod> {
    pods.iter().filter(|pod| pod.view.is_active())
}

fn has_index_failed(rules: &JobRules<'_>, pod: &JobPod, limit: i32) -> bool {
    if !pod.has_failed(rules) {
        return false;
    }
    match matched_rule(rules, pod).map(|rule| rule.action) {
        Some(FailureAction::FailIndex) => true,
        Some(FailureAction::Ignore) => false,
        Some(FailureAction::Count | FailureAction::FailJob) | None => {
            i64::from(number(pod.view.index_failures.as_deref())) >= i64::from(limit)
        }
    }
}

/// The failures of the index before this pod, with those that do not count.
fn all_failures(pod: &crate::shared::pod::PodView) -> u32 {
    number(pod.index_failures.as_deref()).saturating_add(number(pod.index_ignored_failures.as_deref()))
}

/// Parses the number of an annotation. Zero if there is none.
fn number(text: Option<&str>) -> u32 {
    let number: Option<i32> = text.and_then(|text| text.parse().ok());
    number.and_then(|number| u32::try_from(number).ok()).unwrap_or(0)
}

#[cfg(test)]
#[path = "indexes_tests.rs"]
mod tests;

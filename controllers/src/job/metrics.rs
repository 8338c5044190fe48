//! The metrics of Jobs, with upstream's names.

use std::time::Duration;

use k8s_openapi::api::batch::v1::JobStatus;
use kubewright::prometheus_client::{
    metrics::{
        counter::Counter,
        family::Family,
        histogram::{Histogram, exponential_buckets},
    },
    registry::Registry,
};

use super::{
    index_set::IndexSet, plan::Assessment, plan::PodStep, progress::PodChanges, rules::JobRules,
    verdict::Verdict,
};
use crate::shared::metrics::Labels;

/// The metrics of the controller. Cloning copies pointers.
#[derive(Clone, Debug)]
pub(super) struct JobMetrics {
    sync_duration: Family<Labels, Histogram, fn() -> Histogram>,
    syncs: Family<Labels, Counter>,
    finished: Family<Labels, Counter>,
    by_external_controller: Family<Labels, Counter>,
    pods_finished: Family<Labels, Counter>,
    failures_by_policy: Family<Labels, Counter>,
    indexes_finished: Family<Labels, Counter>,
    pods_created: Family<Labels, Counter>,
}

impl JobMetrics {
    pub(super) fn register(registry: &mut Registry) -> Self {
        let buckets: fn() -> Histogram = || Histogram::new(exponential_buckets(0.004, 2.0, 15));
        let metrics = Self {
            sync_duration: Family::new_with_constructor(buckets),
            syncs: Family::default(),
            finished: Family::default(),
            by_external_controller: Family::default(),
            pods_finished: Family::default(),
            failures_by_policy: Family::default(),
            indexes_finished: Family::default(),
            pods_created: Family::default(),
        };
        registry.register(
            "job_controller_job_sync_duration_seconds",
            "Duration of Job syncs",
            metrics.sync_duration.clone(),
        );
        for (name, help, counter) in [
            ("job_syncs", "Job syncs", &metrics.syncs),
            ("jobs_finished", "Jobs that have finished", &metrics.finished),
            (
                "jobs_by_external_controller",
                "Jobs that another controller manages",
                &metrics.by_external_controller,
            ),
            (
                "job_pods_finished",
                "Finished pods that are counted",
                &metrics.pods_finished,
            ),
            (
                "pod_failures_handled_by_failure_policy",
                "Failed pods that matched a rule of the failure policy, by its action",
                &metrics.failures_by_policy,
            ),
            (
                "job_finished_indexes",
                "Finished indexes",
                &metrics.indexes_finished,
            ),
            (
                "job_pods_creation",
                "Created pods, by the reason of their creation",
                &metrics.pods_created,
            ),
        ] {
            registry.register(format!("job_controller_{name}"), help, counter.clone());
        }
        metrics
    }

    pub(super) fn synced(&self, rules: &JobRules<'_>, action: &str, is_success: bool, duration: Duration) {
        let labels = vec![
            ("completion_mode", rules.completion_mode().to_owned()),
            ("result", if is_success { "success" } else { "error" }.to_owned()),
            ("action", action.to_owned()),
        ];
        self.sync_duration
            .get_or_create(&labels)
            .observe(duration.as_secs_f64());
        self.syncs.get_or_create(&labels).inc();
    }

    pub(super) fn job_finished(&self, rules: &JobRules<'_>, verdict: &Verdict) {
        let labels = vec![
            ("completion_mode", rules.completion_mode().to_owned()),
            ("result", result(verdict.is_success)),
            ("reason", verdict.reason.clone()),
        ];
        self.finished.get_or_create(&labels).inc();
    }

    pub(super) fn managed_by(&self, controller: &str) {
        let labels = vec![("controller_name", controller.to_owned())];
        self.by_external_controller.get_or_create(&labels).inc();
    }

    pub(super) fn policy_action(&self, action: &'static str, count: u64) {
        let labels = vec![("action", action.to_owned())];
        self.failures_by_policy.get_or_create(&labels).inc_by(count);
    }

    /// Counts the pods and indexes that the new status counts and the old one did not.
    pub(super) fn counted(&self, rules: &JobRules<'_>, before: &JobStatus, after: &JobStatus) {
        let count = |counter: Option<i32>| counter.unwrap_or(0);
        let mut succeeded = increase(count(before.succeeded), count(after.succeeded));
        let failed = increase(count(before.failed), count(after.failed));
        if let Some(completions) = rules.indexes {
            let len = |text: &Option<String>| {
                IndexSet::parse(text.as_deref().unwrap_or_default(), completions).len()
            };
            // Not the difference of the counts: fewer completions remove indexes.
            succeeded = increase(len(&before.completed_indexes), len(&after.completed_indexes));
            let failed = increase(len(&before.failed_indexes), len(&after.failed_indexes));
            let limit = if rules.backoff_limit_per_index.is_some() {
                "perIndex"
            } else {
                "global"
            };
            for (is_success, count) in [(true, succeeded), (false, failed)] {
                let labels = vec![("status", result(is_success)), ("backoffLimit", limit.to_owned())];
                if count > 0 {
                    self.indexes_finished.get_or_create(&labels).inc_by(count);
                }
            }
        }
        for (is_success, count) in [(true, succeeded), (false, failed)] {
            let labels = vec![
                ("completion_mode", rules.completion_mode().to_owned()),
                ("result", result(is_success)),
            ];
            if count > 0 {
                self.pods_finished.get_or_create(&labels).inc_by(count);
            }
        }
    }

    pub(super) fn pods_created(&self, assessment: &Assessment<'_>, changes: PodChanges) {
        let rules = assessment.rules;
        let reason = match (assessment.failed > 0, rules.features.pod_replacement_policy) {
            (true, true) if rules.replaces_only_failed => "recreate_failed",
            (true, true) => "recreate_terminating_or_failed",
            (false, true) if assessment.terminating > 0 => "recreate_terminating_or_failed",
            (_, false) | (false, true) => "new",
        };
        for (is_success, count) in [(true, changes.created), (false, changes.failed_creations)] {
            let labels = vec![("reason", reason.to_owned()), ("status", result(is_success))];
            if count > 0 {
                let count = u64::try_from(count).unwrap_or(u64::MAX);
                self.pods_created.get_or_create(&labels).inc_by(count);
            }
        }
    }
}

/// The label of a step.
pub(super) fn action(step: &PodStep<'_>) -> &'static str {
    match step {
        PodStep::End(_) | PodStep::Await => "reconciling",
        PodStep::Remove(_) => "pods_deleted",
        PodStep::Create(_) | PodStep::Wait(_) => "pods_created",
        PodStep::Keep => "tracking",
    }
}

fn result(is_success: bool) -> String {
    if is_success { "succeeded" } else { "failed" }.to_owned()
}

/// The difference of two counts, zero if the second is less.
fn increase<T: TryInto<u64>>(before: T, after: T) -> u64 {
    let count = |count: T| count.try_into().unwrap_or(0);
    count(after).saturating_sub(count(before))
}

//! The verdict: whether a Job has ended, and why.

use k8s_openapi::{
    api::batch::v1::{JobCondition, JobStatus},
    jiff::Timestamp,
};

use super::{
    conditions::{condition, is_true},
    failure_policy::{FailureAction, matched_rule},
    features::Features,
    indexes::Indexes,
    job_pod::JobPod,
    rules::JobRules,
    success_policy,
};

pub(super) const FAILED: &str = "Failed";
pub(super) const COMPLETE: &str = "Complete";
pub(super) const FAILURE_TARGET: &str = "FailureTarget";
pub(super) const SUCCESS_CRITERIA_MET: &str = "SuccessCriteriaMet";

/// A Job's end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Verdict {
    pub(super) is_success: bool,
    pub(super) interim: Interim,
    pub(super) reason: String,
    pub(super) message: String,
}

/// The interim condition, which a Job has until all of its pods have been counted and have terminated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Interim {
    /// It has none.
    None,
    /// It gets one.
    New,
    /// It has one.
    Written,
}

impl Verdict {
    fn failure(interim: Interim, reason: &str, message: impl Into<String>) -> Self {
        Self {
            is_success: false,
            interim,
            reason: reason.to_owned(),
            message: message.into(),
        }
    }

    fn success(interim: Interim, reason: &str, message: impl Into<String>) -> Self {
        Self {
            is_success: true,
            ..Self::failure(interim, reason, message)
        }
    }

    /// The verdict on a Job with enough succeeded pods.
    pub(super) fn completions_reached(features: Features) -> Self {
        let (reason, message) = if features.success_policy {
            ("CompletionsReached", "Reached expected number of succeeded pods")
        } else {
            ("", "")
        };
        Self::success(final_interim(features), reason, message)
    }

    fn written(is_success: bool, condition: &JobCondition) -> Self {
        Self {
            is_success,
            interim: Interim::Written,
            reason: condition.reason.clone().unwrap_or_default(),
            message: condition.message.clone().unwrap_or_default(),
        }
    }

    /// The type of the final condition.
    pub(super) fn condition_type(&self) -> &'static str {
        if self.is_success { COMPLETE } else { FAILED }
    }

    /// Returns the interim condition, if the Job does not have it yet.
    pub(super) fn new_interim_condition(&self, now: Timestamp) -> Option<JobCondition> {
        let kind = if self.is_success {
            SUCCESS_CRITERIA_MET
        } else {
            FAILURE_TARGET
        };
        (self.interim == Interim::New).then(|| condition(kind, true, &self.reason, &self.message, now))
    }

    /// Whether pods that have not terminated count as failed.
    pub(super) fn fails_unfinished_pods(&self) -> bool {
        !self.is_success || self.interim == Interim::None
    }
}

/// Judges a Job by its interim condition, the failure policy, and its limits, in this order. `failed` is the number of failed pods.
pub(super) fn judge(
    rules: &JobRules<'_>,
    status: &JobStatus,
    pods: &[JobPod],
    indexes: &Indexes<'_>,
    failed: usize,
    is_past_deadline: bool,
) -> Option<Verdict> {
    let features = rules.features;
    let has_success_criteria = features.success_policy || features.delays_final_condition();
    if let Some(condition) = is_true(status, SUCCESS_CRITERIA_MET).filter(|_| has_success_criteria) {
        return Some(Verdict::written(true, condition));
    }
    if let Some(condition) = is_true(status, FAILURE_TARGET) {
        return Some(Verdict::written(false, condition));
    }
    if let Some(message) = failed_by_policy(rules, pods) {
        return Some(Verdict::failure(Interim::New, "PodFailurePolicy", message));
    }
    let failure = |reason, message| Some(Verdict::failure(final_interim(features), reason, message));
    if exceeds(failed, rules.backoff_limit) || has_too_many_restarts(rules, pods) {
        return failure(
            "BackoffLimitExceeded",
            "Job has reached the specified backoff limit",
        );
    }
    if is_past_deadline {
        return failure(
            "DeadlineExceeded",
            "Job was active longer than specified deadline",
        );
    }
    if let Some(completions) = rules.indexes
        && let Some(failed) = &indexes.failed
    {
        let is_above = |limit| failed.len() > usize::try_from(limit).unwrap_or(usize::MAX);
        let finished = failed.len() + indexes.succeeded.len();
        if rules.max_failed_indexes.is_some_and(is_above) {
            return failure(
                "MaxFailedIndexesExceeded",
                "Job has exceeded the specified maximal number of failed indexes",
            );
        }
        if !failed.is_empty() && finished >= usize::try_from(completions).unwrap_or(usize::MAX) {
            return failure("FailedIndexes", "Job has failed indexes");
        }
    }
    rules.indexes?;
    let position = success_policy::matched_rule(rules, &indexes.succeeded)?;
    let message = format!("Matched rules at index {position}");
    Some(Verdict::success(Interim::New, "SuccessPolicy", message))
}

fn final_interim(features: Features) -> Interim {
    if features.delays_final_condition() {
        Interim::New
    } else {
        Interim::None
    }
}

/// Returns the message of the first pod that fails the Job by its policy.
fn failed_by_policy(rules: &JobRules<'_>, pods: &[JobPod]) -> Option<String> {
    rules.failure_policy?;
    let failed = pods.iter().filter(|pod| pod.has_failed(rules));
    failed.into_iter().find_map(|pod| {
        let rule = matched_rule(rules, pod)?;
        (rule.action == FailureAction::FailJob).then(|| rule.message(pod))
    })
}

/// Whether the restarts of containers have reached the backoff limit, where containers are restarted in their pods.
fn has_too_many_restarts(rules: &JobRules<'_>, pods: &[JobPod]) -> bool {
    if !rules.restarts_on_failure {
        return false;
    }
    let restarts = pods
        .iter()
        .map(|pod| i64::from(pod.view.current_restarts()))
        .sum::<i64>();
    match rules.backoff_limit {
        0 => restarts > 0,
        limit => restarts >= i64::from(limit),
    }
}

fn exceeds(count: usize, limit: i32) -> bool {
    i64::try_from(count).unwrap_or(i64::MAX) > i64::from(limit)
}

#[cfg(test)]
#[path = "verdict_tests.rs"]
mod tests;

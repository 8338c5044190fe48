//! What a Job's spec asks for.

use k8s_openapi::api::batch::v1::{Job, PodFailurePolicy, SuccessPolicy};

use super::features::Features;

/// The name of this controller in `spec.managedBy`.
const OWN_NAME: &str = "kubernetes.io/job-controller";

/// The API server's default for `spec.backoffLimit`.
const DEFAULT_BACKOFF_LIMIT: i32 = 6;

/// The rules of one Job, with defaults and feature gates applied. Negative numbers, which API servers refuse, count as zero.
#[derive(Clone, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "as in the API")]
pub(super) struct JobRules<'j> {
    pub(super) parallelism: u32,
    /// How many pods must succeed. Without: one, after which no more are created.
    pub(super) completions: Option<u32>,
    /// The number of indexes. None for Jobs without.
    pub(super) indexes: Option<u32>,
    pub(super) backoff_limit: i32,
    pub(super) backoff_limit_per_index: Option<i32>,
    pub(super) max_failed_indexes: Option<u32>,
    pub(super) active_deadline_seconds: Option<i64>,
    pub(super) failure_policy: Option<&'j PodFailurePolicy>,
    pub(super) success_policy: Option<&'j SuccessPolicy>,
    /// A pod that is being deleted is replaced when it has failed, not before.
    pub(super) replaces_only_failed: bool,
    /// Failed containers are restarted in their pods.
    pub(super) restarts_on_failure: bool,
    pub(super) is_suspended: bool,
    pub(super) is_deleting: bool,
    pub(super) features: Features,
}

/// Why a Job has no rules.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum InvalidJob {
    #[error("completion mode {0:?} is unknown")]
    CompletionMode(String),
    #[error("an indexed Job needs completions")]
    NoCompletions,
    #[error("it has no spec")]
    NoSpec,
}

impl InvalidJob {
    pub(super) fn reason(&self) -> &'static str {
        match self {
            Self::CompletionMode(_) => "UnknownCompletionMode",
            Self::NoCompletions => "NoCompletions",
            Self::NoSpec => "NoSpec",
        }
    }
}

impl<'j> JobRules<'j> {
    pub(super) fn of(job: &'j Job, features: Features) -> Result<Self, InvalidJob> {
        let spec = job.spec.as_ref().ok_or(InvalidJob::NoSpec)?;
        let completions = spec.completions.map(not_negative);
        let indexes = match spec.completion_mode.as_deref() {
            None | Some("NonIndexed") => None,
            Some("Indexed") => Some(completions.ok_or(InvalidJob::NoCompletions)?),
            Some(other) => return Err(InvalidJob::CompletionMode(other.to_owned())),
        };
        let backoff_limit_per_index = spec
            .backoff_limit_per_index
            .filter(|_| features.backoff_limit_per_index);
        let template = spec.template.spec.as_ref();
        let replacement = spec
            .pod_replacement_policy
            .as_deref()
            .filter(|_| features.pod_replacement_policy);
        Ok(Self {
            parallelism: not_negative(spec.parallelism.unwrap_or(1)),
            completions,
            indexes,
            backoff_limit: spec.backoff_limit.unwrap_or(DEFAULT_BACKOFF_LIMIT),
            backoff_limit_per_index,
            max_failed_indexes: spec.max_failed_indexes.map(not_negative),
            active_deadline_seconds: spec.active_deadline_seconds,
            failure_policy: spec.pod_failure_policy.as_ref(),
            success_policy: spec.success_policy.as_ref().filter(|_| features.success_policy),
            replaces_only_failed: replacement == Some("Failed") || spec.pod_failure_policy.is_some(),
            restarts_on_failure: template
                .and_then(|pod| pod.restart_policy.as_deref())
                .is_some_and(|policy| policy == "OnFailure"),
            is_suspended: spec.suspend == Some(true),
            is_deleting: job.metadata.deletion_timestamp.is_some(),
            features,
        })
    }

    /// The completion mode, as metrics name it.
    pub(super) fn completion_mode(&self) -> &'static str {
        if self.indexes.is_some() {
            "Indexed"
        } else {
            "NonIndexed"
        }
    }
}

/// Whether another controller manages the Job.
pub(super) fn is_managed_externally(job: &Job, features: Features) -> bool {
    external_manager(job, features).is_some()
}

/// Returns the controller that manages the Job, if it is another one.
pub(super) fn external_manager(job: &Job, features: Features) -> Option<&str> {
    let manager = job.spec.as_ref()?.managed_by.as_deref()?;
    (features.managed_by && manager != OWN_NAME).then_some(manager)
}

fn not_negative(number: i32) -> u32 {
    u32::try_from(number).unwrap_or(0)
}

//! The pod failure policy: what a failed pod means for its Job.

use k8s_openapi::api::batch::v1::{
    PodFailurePolicyOnExitCodesRequirement, PodFailurePolicyOnPodConditionsPattern, PodFailurePolicyRule,
};

use super::{job_pod::JobPod, rules::JobRules};

/// The action of a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FailureAction {
    /// The failure does not count towards the backoff limit.
    Ignore,
    /// The failure counts, as it does without a policy.
    Count,
    /// The index fails, whatever its backoff limit.
    FailIndex,
    /// The Job fails.
    FailJob,
}

/// The first rule that a failed pod matches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct MatchedRule<'p> {
    pub(super) action: FailureAction,
    position: usize,
    cause: FailureCause<'p>,
}

/// What a rule matched.
#[derive(Clone, Debug, PartialEq, Eq)]
enum FailureCause<'p> {
    ExitCode { container: &'p str, code: i32 },
    Condition(&'p str),
}

impl FailureAction {
    fn parse(text: &str, rules: &JobRules<'_>) -> Option<Self> {
        match text {
            "Ignore" => Some(Self::Ignore),
            "Count" => Some(Self::Count),
            "FailIndex" if rules.features.backoff_limit_per_index => Some(Self::FailIndex),
            "FailJob" => Some(Self::FailJob),
            _ => None,
        }
    }

    /// The action as the API and metrics name it.
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Ignore => "Ignore",
            Self::Count => "Count",
            Self::FailIndex => "FailIndex",
            Self::FailJob => "FailJob",
        }
    }
}

impl MatchedRule<'_> {
    /// The message of a Job that fails because of this pod.
    pub(super) fn message(&self, pod: &JobPod) -> String {
        let (name, action, position) = (&pod.name, self.action.as_str(), self.position);
        match self.cause {
            FailureCause::ExitCode { container, code } => format!(
                "Container {container} for pod {name} failed with exit code {code} matching {action} rule at index {position}"
            ),
            FailureCause::Condition(condition) => {
                format!("Pod {name} has condition {condition} matching {action} rule at index {position}")
            }
        }
    }
}

/// Returns the first rule of the Job's policy that the failed pod matches.
pub(super) fn matched_rule<'p>(rules: &JobRules<'_>, pod: &'p JobPod) -> Option<MatchedRule<'p>> {
    let policy = rules.failure_policy?;
    policy.rules.iter().enumerate().find_map(|(position, rule)| {
        Some(MatchedRule {
            cause: cause(rule, pod)?,
            action: FailureAction::parse(&rule.action, rules)?,
            position,
        })
    })
}

/// Whether the failure of this pod counts towards the backoff limit.
pub(super) fn counts(rules: &JobRules<'_>, pod: &JobPod) -> bool {
    matched_rule(rules, pod).is_none_or(|rule| rule.action != FailureAction::Ignore)
}

fn cause<'p>(rule: &PodFailurePolicyRule, pod: &'p JobPod) -> Option<FailureCause<'p>> {
    match (&rule.on_exit_codes, &rule.on_pod_conditions) {
        (Some(requirement), _) => exit_code(requirement, pod),
        (None, Some(patterns)) => condition(patterns, pod),
        (None, None) => None,
    }
}

fn exit_code<'p>(
    requirement: &PodFailurePolicyOnExitCodesRequirement,
    pod: &'p JobPod,
) -> Option<FailureCause<'p>> {
    let view = &pod.view;
    let containers = view.container_names.iter().zip(&view.exit_codes);
    let init_containers = view.init_statuses.iter().zip(&view.init_exit_codes);
    containers.chain(init_containers).find_map(|(name, code)| {
        let (container, code) = (name.as_deref().unwrap_or_default(), (*code)?);
        let is_named = requirement
            .container_name
            .as_deref()
            .is_none_or(|wanted| wanted == container);
        let is_listed = requirement.values.contains(&code);
        let is_matched = match requirement.operator.as_str() {
            "In" => is_listed,
            "NotIn" => !is_listed,
            _ => false,
        };
        (is_named && code != 0 && is_matched).then_some(FailureCause::ExitCode { container, code })
    })
}

fn condition<'p>(
    patterns: &[PodFailurePolicyOnPodConditionsPattern],
    pod: &'p JobPod,
) -> Option<FailureCause<'p>> {
    let is_matched = |(kind, status): &(&str, &str)| {
        let mut patterns = patterns.iter();
        // The API server's default.
        patterns
            .any(|pattern| pattern.type_ == *kind && pattern.status.as_deref().unwrap_or("True") == *status)
    };
    let mut conditions = pod
        .view
        .conditions()
        .map(|(kind, status)| (kind.as_str(), status.as_str()));
    conditions
        .find(is_matched)
        .map(|(kind, _)| FailureCause::Condition(kind))
}

#[cfg(test)]
#[path = "failure_policy_tests.rs"]
mod tests;

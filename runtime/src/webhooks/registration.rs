//! The registered webhooks of an operator: options, names and paths.

use std::{fmt, time::Duration};

use k8s_openapi::{
    api::admissionregistration::v1::MatchCondition, apimachinery::pkg::apis::meta::v1::LabelSelector,
};
use tokio_util::sync::CancellationToken;

use super::{AdmissionRequest, Operation, admission::AdmissionHandler, metrics::WebhookMetrics};
use crate::ApiResource;

/// The API server's bounds of a webhook's timeout.
const TIMEOUTS: std::ops::RangeInclusive<Duration> = Duration::from_secs(1)..=Duration::from_secs(30);

/// The failure policy by which writes are refused.
const FAIL: &str = "Fail";

/// The match policy by which only writes in the versions of a rule are reviewed.
pub(super) const EXACT: &str = "Exact";

/// One registered webhook; see [`Setup::validator`](crate::controller::Setup::validator) and
/// [`Setup::defaulter`](crate::controller::Setup::defaulter).
///
/// # Defaults
///
/// A validator is called for creations, updates and deletions, a defaulter for creations and updates, of the kind itself and not of its
/// subresources. While the operator cannot answer, writes are accepted ([`fail_closed`](Self::fail_closed)); objects in the operator's own
/// namespace are never reviewed, so that the operator can always be repaired. Leases, and webhook configurations, cannot have webhooks.
/// Webhooks have no side effects, and a timeout of 10 s.
pub struct WebhookBuilder {
    pub(super) is_mutating: bool,
    pub(super) kind: ApiResource,
    pub(super) handler: AdmissionHandler,
    pub(super) operations: Vec<Operation>,
    /// An empty text is the object itself.
    pub(super) subresources: Vec<String>,
    pub(super) failure_policy: &'static str,
    pub(super) match_conditions: Vec<MatchCondition>,
    pub(super) match_policy: &'static str,
    pub(super) side_effects: &'static str,
    pub(super) timeout: Duration,
    pub(super) reinvocation_policy: &'static str,
    pub(super) namespace_selector: LabelSelector,
    pub(super) object_selector: Option<LabelSelector>,
    pub(super) waits_for_caches: bool,
    /// Whether no error may quote the objects. Known when all kinds are registered.
    pub(crate) is_sensitive: bool,
    /// The index of the component that it is part of.
    pub(crate) component: Option<usize>,
}

/// Why a webhook cannot be registered.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{webhook}: {problem}")]
pub struct WebhookError {
    webhook: String,
    problem: String,
}

impl WebhookBuilder {
    pub(crate) fn new(is_mutating: bool, kind: ApiResource, handler: AdmissionHandler) -> Self {
        let mut operations = vec![Operation::Create, Operation::Update];
        if !is_mutating {
            operations.push(Operation::Delete);
        }
        Self {
            is_mutating,
            kind,
            handler,
            operations,
            subresources: vec![String::new()],
            failure_policy: "Ignore",
            match_conditions: Vec::new(),
            match_policy: "Equivalent",
            side_effects: "None",
            timeout: Duration::from_secs(10),
            reinvocation_policy: "Never",
            namespace_selector: LabelSelector::default(),
            object_selector: None,
            waits_for_caches: true,
            is_sensitive: false,
            component: None,
        }
    }

    /// Sets the operations that are reviewed.
    pub fn operations(&mut self, operations: impl IntoIterator<Item = Operation>) -> &mut Self {
        self.operations = operations.into_iter().collect();
        self
    }

    /// Reviews writes of these subresources, in place of writes of the object itself; an empty text is the object itself. Their objects must
    /// be of the same kind, as with `status`, or `ephemeralcontainers` and `resize` of Pods.
    pub fn subresources(&mut self, subresources: impl IntoIterator<Item = impl Into<String>>) -> &mut Self {
        self.subresources = subresources.into_iter().map(Into::into).collect();
        self
    }

    /// Refuses writes while the webhook does not answer, or fails (failure policy `Fail`). By default they are accepted (`Ignore`).
    ///
    /// For rules that must hold. While the operator is down, these objects cannot be created, changed or deleted; if they are Pods, that can
    /// stop a cluster.
    pub fn fail_closed(&mut self) -> &mut Self {
        self.failure_policy = FAIL;
        self
    }

    /// Whether writes are refused while it does not answer.
    pub(super) fn fails_closed(&self) -> bool {
        self.failure_policy == FAIL
    }

    /// Adds a match condition: a CEL expression, which must be true for a write to be reviewed. The API server evaluates it, so that other
    /// writes do not depend on the operator; but it converts writes in other versions for it, which the operator serves.
    pub fn match_condition(&mut self, name: impl Into<String>, expression: impl Into<String>) -> &mut Self {
        self.match_conditions.push(MatchCondition {
            name: name.into(),
            expression: expression.into(),
        });
        self
    }

    /// Reviews only writes in the version of the kind (match policy `Exact`). By default writes in other versions are converted and reviewed
    /// as well (`Equivalent`): otherwise a writer evades the webhook with another version. Versions of [`Setup::versions`](crate::controller::Setup::versions)
    /// are converted in the webhook, so that no write depends on another call.
    pub fn match_exact(&mut self) -> &mut Self {
        self.match_policy = EXACT;
        self
    }

    /// Declares side effects, which a dry run must not have: check [`AdmissionRequest::dry_run`](super::AdmissionRequest::dry_run). By
    /// default a webhook has none.
    pub fn side_effects_none_on_dry_run(&mut self) -> &mut Self {
        self.side_effects = "NoneOnDryRun";
        self
    }

    /// Sets how long the API server waits for an answer: 1 s to 30 s, in whole seconds. Default: 10 s.
    pub fn timeout(&mut self, timeout: Duration) -> &mut Self {
        self.timeout = timeout;
        self
    }

    /// Calls a defaulter again if another webhook changed the object after it (reinvocation policy `IfNeeded`). Default: `Never`.
    pub fn reinvoke_if_needed(&mut self) -> &mut Self {
        self.reinvocation_policy = "IfNeeded";
        self
    }

    /// Reviews only objects in namespaces with these labels, and not in the operator's own one.
    pub fn namespace_selector(&mut self, selector: LabelSelector) -> &mut Self {
        self.namespace_selector = selector;
        self
    }

    /// Reviews only objects with these labels; for an update, if the old or the new object has them. Writers can evade it by leaving out a
    /// label.
    pub fn object_selector(&mut self, selector: LabelSelector) -> &mut Self {
        self.object_selector = Some(selector);
        self
    }

    /// Answers before the operator's caches have synced: for a webhook that reads no lister. By default a review waits for them, within its
    /// timeout.
    pub fn without_caches(&mut self) -> &mut Self {
        self.waits_for_caches = false;
        self
    }

    /// The name of the webhook: a domain name of at least three labels, as the API server requires.
    pub(super) fn name(&self, operator: &str) -> String {
        let ApiResource {
            group, version, kind, ..
        } = &self.kind;
        let action = if self.is_mutating { "mutate" } else { "validate" };
        let name = format!("{action}-{version}-{}", kind.to_lowercase());
        // Groups such as `apps` are no domain names. The operator's name tells apart the webhooks of several operators.
        match &**group {
            "" => format!("{name}.core.{operator}"),
            group if group.contains('.') => format!("{name}.{group}"),
            group => format!("{name}.{group}.{operator}"),
        }
    }

    /// The path in URLs, as controller-runtime's.
    pub(crate) fn path(&self) -> String {
        let ApiResource {
            group, version, kind, ..
        } = &self.kind;
        let action = if self.is_mutating { "mutate" } else { "validate" };
        let group = group.replace('.', "-");
        format!("/{action}-{group}-{version}-{}", kind.to_lowercase())
    }

    pub(crate) fn kind(&self) -> &ApiResource {
        &self.kind
    }

    pub(crate) fn is_mutating(&self) -> bool {
        self.is_mutating
    }

    /// Whether the request's operation and subresource are reviewed.
    pub(crate) fn reviews(&self, request: &AdmissionRequest) -> bool {
        let subresource = request.subresource.as_deref().unwrap_or_default();
        let mut subresources = self.subresources.iter();
        self.operations.contains(&request.operation) && subresources.any(|reviewed| reviewed == subresource)
    }

    pub(crate) fn handler(&self) -> &AdmissionHandler {
        &self.handler
    }

    fn what(&self) -> &'static str {
        if self.is_mutating {
            "defaulter"
        } else {
            "validator"
        }
    }

    fn problems(&self) -> Vec<String> {
        let mut problems = Vec::new();
        if self.kind.group == "coordination.k8s.io" && self.kind.kind == "Lease" {
            problems.push(
                "leases cannot have webhooks: the operators' own leader election would depend on them".into(),
            );
        }
        if self.kind.group == "admissionregistration.k8s.io" {
            problems.push("the API server calls no webhooks for webhook configurations".into());
        }
        if self.operations.is_empty() {
            problems.push("it has no operations: name at least one in `.operations(…)`".into());
        }
        if self.is_mutating && self.operations.contains(&Operation::Delete) {
            problems.push("a deletion has no object to change: leave `Operation::Delete` out".into());
        }
        if self.reinvocation_policy != "Never" && !self.is_mutating {
            problems.push("only defaulters are reinvoked: leave `.reinvoke_if_needed()` out".into());
        }
        if !TIMEOUTS.contains(&self.timeout) || self.timeout.subsec_nanos() != 0 {
            problems.push(format!(
                "the timeout of {:?} is not possible: use whole seconds from 1 to 30",
                self.timeout
            ));
        }
        if self.subresources.is_empty() {
            problems.push("`.subresources(…)` names none".into());
        }
        problems
    }
}

impl fmt::Debug for WebhookBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WebhookBuilder")
            .field("path", &self.path())
            .field("operations", &self.operations)
            .field("failure_policy", &self.failure_policy)
            .finish_non_exhaustive()
    }
}

/// The webhooks of an operator.
#[derive(Debug, Default)]
pub(crate) struct Webhooks {
    pub(crate) all: Vec<WebhookBuilder>,
    /// Cancelled when the operator's caches have synced.
    pub(crate) synced: CancellationToken,
    pub(crate) metrics: WebhookMetrics,
}

impl Webhooks {
    /// Adds a webhook.
    pub(crate) fn add(&mut self, webhook: WebhookBuilder) -> &mut WebhookBuilder {
        self.all.push(webhook);
        let last = self.all.len() - 1;
        &mut self.all[last]
    }

    /// Returns what is wrong with the webhooks.
    pub(crate) fn errors(&self) -> Vec<WebhookError> {
        let mut errors = Vec::new();
        for (index, webhook) in self.all.iter().enumerate() {
            let mut problems = webhook.problems();
            let earlier = &self.all[..index];
            if let Some(other) = earlier.iter().find(|other| other.path() == webhook.path()) {
                problems.push(if other.kind == webhook.kind {
                    "it is registered twice: call both from one".to_owned()
                } else {
                    format!(
                        "its path {} is also that of {}: rename one of the kinds or groups",
                        webhook.path(),
                        other.kind.group_resource()
                    )
                });
            }
            let name = format!(
                "{} of {} ({})",
                webhook.what(),
                webhook.kind.kind,
                webhook.kind.api_version()
            );
            errors.extend(problems.into_iter().map(|problem| WebhookError {
                webhook: name.clone(),
                problem,
            }));
        }
        errors
    }
}

#[cfg(test)]
#[path = "registration_tests.rs"]
mod tests;

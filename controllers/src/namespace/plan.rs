//! What follows from the state of a namespace's content: conditions, how long to wait, whether the namespace is empty.

use std::{collections::BTreeMap, time::Duration};

use k8s_openapi::{
    api::core::v1::NamespaceCondition, apimachinery::pkg::apis::meta::v1::Time, jiff::Timestamp,
};
use kubewright::ApiResource;

/// How long objects with finalizers are given until the next look.
const FINALIZER_ESTIMATE: Duration = Duration::from_secs(15);

/// The types of conditions, in their order, with reason and message of the good state.
const CONDITIONS: [(&str, &str, &str); 5] = [
    (
        "NamespaceDeletionDiscoveryFailure",
        "ResourcesDiscovered",
        "All resources successfully discovered",
    ),
    (
        "NamespaceDeletionGroupVersionParsingFailure",
        "ParsedGroupVersions",
        "All legacy kube types successfully parsed",
    ),
    (
        "NamespaceDeletionContentFailure",
        "ContentDeleted",
        "All content successfully deleted, may be waiting on finalization",
    ),
    (
        "NamespaceContentRemaining",
        "ContentRemoved",
        "All content successfully removed",
    ),
    (
        "NamespaceFinalizersRemaining",
        "ContentHasNoFinalizers",
        "All content-preserving finalizers finished",
    ),
];

/// What is left of one resource in the namespace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Remaining {
    /// The number of objects.
    pub(super) objects: usize,
    /// How many objects have each finalizer.
    pub(super) finalizers: BTreeMap<String, usize>,
    /// How long graceful deletions may take.
    pub(super) grace: Duration,
}

/// What was found and what failed, of all resources together.
#[derive(Debug, Default)]
pub(super) struct Outcome {
    /// By `plural.group`.
    objects: BTreeMap<String, usize>,
    finalizers: BTreeMap<String, usize>,
    estimate: Duration,
    discovery_problem: Option<String>,
    /// The messages of failed deletions, for the condition.
    failures: Vec<String>,
    /// The same, for the returned error.
    errors: Vec<String>,
    /// Whether the totals are left out of the conditions: pods remain, and other resources were not looked at.
    waits_for_pods: bool,
}

impl Remaining {
    /// Returns how long to wait for the objects. An object without a finalizer and a grace period should have been gone: that is a failure.
    fn estimate(&self) -> Result<Duration, ()> {
        match (self.objects, self.grace.is_zero(), self.finalizers.is_empty()) {
            (0, ..) => Ok(Duration::ZERO),
            (_, false, _) => Ok(self.grace),
            (_, true, false) => Ok(FINALIZER_ESTIMATE),
            (_, true, true) => Err(()),
        }
    }
}

impl Outcome {
    /// Discovery failed for all groups.
    pub(super) fn discovery_failed(&mut self, problem: String) {
        self.discovery_problem = Some(problem);
    }

    /// Discovery failed for these group versions.
    pub(super) fn discovery_failed_for(&mut self, group_versions: &[String]) {
        let mut causes: Vec<_> = group_versions
            .iter()
            .map(|name| format!("{name}: stale GroupVersion discovery: {name}"))
            .collect();
        causes.sort_unstable();
        self.discovery_failed(format!(
            "Discovery failed for some groups, {} failing: unable to retrieve the complete list of server APIs: {}",
            causes.len(),
            causes.join(", ")
        ));
    }

    /// The deletion of a resource's objects failed. As upstream's, only the returned error names pods.
    pub(super) fn failed(&mut self, namespace: &str, resource: &ApiResource, message: String) {
        self.errors.push(if is_pods(resource) {
            format!("failed to delete pods for namespace: {namespace}, err: {message}")
        } else {
            message.clone()
        });
        self.failures.push(message);
    }

    /// Adds what is left of a resource.
    pub(super) fn add(&mut self, namespace: &str, resource: &ApiResource, remaining: Remaining) {
        let ApiResource {
            group,
            version,
            plural,
            ..
        } = resource;
        if let Ok(estimate) = remaining.estimate() {
            self.estimate = self.estimate.max(estimate);
        } else {
            let message = format!(
                "unexpected items still remain in namespace: {namespace} for gvr: {group}/{version}, Resource={plural}"
            );
            self.failed(namespace, resource, message);
        }
        if remaining.objects > 0 {
            self.objects
                .insert(format!("{plural}.{group}"), remaining.objects);
        }
        for (finalizer, count) in remaining.finalizers {
            *self.finalizers.entry(finalizer).or_default() += count;
        }
    }

    /// Pods remain: other resources wait for them.
    pub(super) fn wait_for_pods(&mut self) {
        self.waits_for_pods = true;
    }

    /// Whether any object is known to be left.
    pub(super) fn has_remaining(&self) -> bool {
        !self.objects.is_empty()
    }

    /// Returns what failed; none if nothing did.
    pub(super) fn problem(&self) -> Option<String> {
        let problems: Vec<_> = self
            .discovery_problem
            .iter()
            .chain(&self.errors)
            .cloned()
            .collect();
        (!problems.is_empty()).then(|| problems.join(", "))
    }

    /// Returns when to look again, if objects are left that are expected to go.
    pub(super) fn next_look(&self) -> Option<Duration> {
        (!self.estimate.is_zero()).then(|| Duration::from_secs(self.estimate.as_secs() / 2 + 1))
    }

    /// Sets the conditions. Returns whether one changed.
    pub(super) fn set_conditions(&self, conditions: &mut Vec<NamespaceCondition>, now: Timestamp) -> bool {
        let mut has_changed = false;
        for (kind, reason, message) in CONDITIONS {
            let problem = self.problem_of(kind);
            let (status, reason, message) = match problem {
                Some((reason, message)) => ("True", reason, message),
                None => ("False", reason, message.to_owned()),
            };
            let wanted = |since: Option<Time>| NamespaceCondition {
                type_: kind.to_owned(),
                status: status.to_owned(),
                reason: Some(reason.to_owned()),
                message: Some(message.clone()),
                last_transition_time: since,
            };
            match conditions.iter_mut().find(|condition| condition.type_ == kind) {
                None => conditions.push(wanted(Some(Time(now)))),
                Some(known) => {
                    let since = if known.status == status {
                        known.last_transition_time.clone()
                    } else {
                        Some(Time(now))
                    };
                    let wanted = wanted(since);
                    if *known == wanted {
                        continue;
                    }
                    *known = wanted;
                }
            }
            has_changed = true;
        }
        has_changed
    }

    fn problem_of(&self, kind: &str) -> Option<(&'static str, String)> {
        let totals = |counts: &BTreeMap<String, usize>, describe: fn(&str, usize) -> String| {
            let texts: Vec<_> = counts
                .iter()
                .map(|(name, count)| describe(name, *count))
                .collect();
            (!self.waits_for_pods && !texts.is_empty()).then(|| texts.join(", "))
        };
        match kind {
            "NamespaceDeletionDiscoveryFailure" => Some(("DiscoveryFailed", self.discovery_problem.clone()?)),
            "NamespaceDeletionContentFailure" if !self.failures.is_empty() => {
                let mut failures = self.failures.clone();
                failures.sort();
                let message = format!(
                    "Failed to delete all resource types, {} remaining: {}",
                    failures.len(),
                    failures.join(", ")
                );
                Some(("ContentDeletionFailed", message))
            }
            "NamespaceContentRemaining" => {
                let texts = totals(&self.objects, |name, count| {
                    format!("{name} has {count} resource instances")
                })?;
                Some((
                    "SomeResourcesRemain",
                    format!("Some resources are remaining: {texts}"),
                ))
            }
            "NamespaceFinalizersRemaining" => {
                let texts = totals(&self.finalizers, |name, count| {
                    format!("{name} in {count} resource instances")
                })?;
                Some((
                    "SomeFinalizersRemain",
                    format!("Some content in the namespace has finalizers remaining: {texts}"),
                ))
            }
            _ => None,
        }
    }
}

/// Whether the resource is core's pods.
pub(super) fn is_pods(resource: &ApiResource) -> bool {
    resource.group.is_empty() && resource.plural == "pods"
}

#[cfg(test)]
#[path = "plan_tests.rs"]
mod tests;

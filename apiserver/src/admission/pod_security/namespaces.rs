//! Writes of namespaces: the labels must be valid, and a stricter level is compared with the pods that exist.

use super::levels::{Level, LevelVersion, Policy};
use super::pod::PodView;
use super::standards;
use crate::admission::{AdmissionReport, Attributes, Operation};
use crate::meta;
use crate::quote::quoted;
use crate::status::{ApiError, Cause};
use serde_json::Value;
use std::collections::{BTreeMap, HashSet};

/// How many pods are checked. kube-apiserver also stops after a second, in which this server checks them all.
const MAX_CHECKED_PODS: usize = 3000;

/// Refuses invalid labels that are new, and warns about pods that violate a stricter level than before.
pub(super) fn validate(attributes: &Attributes<'_>, namespace: &Value) -> Result<(), ApiError> {
    let read = |namespace: &Value| Policy::from_labels(&namespace["metadata"]["labels"]);
    let (policy, causes) = read(namespace);
    let old = match attributes.operation {
        Operation::Update { old } => Some(read(old)),
        _ => None,
    };
    let is_unchanged = |(_, old_causes): &(_, Vec<Cause>)| *old_causes == causes;
    if !causes.is_empty() && !old.as_ref().is_some_and(is_unchanged) {
        return Err(ApiError::invalid(attributes.kind, meta::name(namespace), &causes));
    }
    if let (Some((old, _)), Some(report)) = (old, attributes.report)
        && is_stricter(policy.enforce, old.enforce)
    {
        warn_of_pods(attributes, meta::name(namespace), policy.enforce, report);
    }
    Ok(())
}

/// True if pods that were allowed may violate the new level.
fn is_stricter(new: LevelVersion, old: LevelVersion) -> bool {
    new.level > Level::Privileged && (new.version != old.version || new.level > old.level)
}

/// Warns about the pods of a namespace that violate a level.
fn warn_of_pods(
    attributes: &Attributes<'_>,
    namespace: &str,
    enforced: LevelVersion,
    report: &AdmissionReport,
) {
    let pods = attributes.list("", "pods", namespace);
    let total = pods.len();
    // Of the pods of a controller, all but one come last.
    let mut controllers = HashSet::new();
    let (first, replicas): (Vec<_>, Vec<_>) = pods.into_iter().partition(|pod| {
        let mut owners = meta::owners(pod.value()).iter();
        let controller = owners.find(|owner| owner["controller"] == true);
        controller.is_none_or(|controller| controllers.insert(controller["uid"].to_string()))
    });
    let mut violating: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for pod in first.iter().chain(&replicas).take(MAX_CHECKED_PODS) {
        if let Some(violations) = standards::violations(enforced, &PodView::new(pod.value())) {
            let names = violating.entry(violations.reasons()).or_default();
            names.push(meta::name(pod.value()).to_owned());
        }
    }
    if total > MAX_CHECKED_PODS {
        report.warn(&format!(
            "new PodSecurity enforce level only checked against the first {MAX_CHECKED_PODS} of {total} existing pods"
        ));
    }
    if !violating.is_empty() {
        report.warn(&format!(
            "existing pods in namespace {} violate the new PodSecurity enforce level {}",
            quoted(namespace),
            quoted(&enforced.to_string())
        ));
    }
    let mut warnings: Vec<String> = violating.iter().map(pod_warning).collect();
    warnings.sort_unstable();
    for warning in warnings {
        report.warn(&warning);
    }
}

/// The warning about the pods that violate the same checks: the first name stands for all.
fn pod_warning((reasons, names): (&String, &Vec<String>)) -> String {
    let first = names.iter().min().map(String::as_str).unwrap_or_default();
    match names.len() {
        1 => format!("{first}: {reasons}"),
        2 => format!("{first} (and 1 other pod): {reasons}"),
        count => format!("{first} (and {} other pods): {reasons}", count - 1),
    }
}

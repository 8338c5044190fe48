//! PodSecurity: the Pod Security Standards that the labels of a namespace select. Pods that violate the enforced level are refused; for pods and
//! the pod templates of workloads, violations of two other levels are warnings and audit annotations. No user, namespace or runtime class is
//! exempt: that needs a configuration file, which this server does not read.
//!
//! Reading order: `levels` (the labels), `pod` (what checks see, and the parts of their messages), `baseline` and `restricted` (the checks),
//! `standards` (which checks a level has in which version), `namespaces` (writes of the labels).

mod baseline;
mod levels;
mod namespaces;
mod pod;
mod restricted;
mod standards;
#[cfg(test)]
mod tests;

use super::{Attributes, Operation};
use crate::quote::quoted;
use crate::status::{ApiError, Cause};
use crate::strategy;
use levels::{Level, LevelVersion, Policy};
use pod::{PodView, items};
use serde_json::Value;

/// The prefix of the labels and of the audit annotations.
const PREFIX: &str = "pod-security.kubernetes.io/";
const ENFORCED_ANNOTATION: &str = "enforce-policy";
const VIOLATIONS_ANNOTATION: &str = "audit-violations";
const ERROR_ANNOTATION: &str = "error";

/// The subresources that write a pod's spec.
const POD_SUBRESOURCES: [&str; 3] = ["", "ephemeralcontainers", "resize"];

/// Refuses pods that violate the enforced level, and invalid labels of namespaces.
pub(super) fn validate(attributes: &Attributes<'_>, object: &Value) -> Result<(), ApiError> {
    if attributes.is_kind("", "Pod") && POD_SUBRESOURCES.contains(&attributes.subresource) {
        return validate_pod(attributes, object);
    }
    if attributes.is_object("", "Namespace") {
        return namespaces::validate(attributes, object);
    }
    let path = strategy::pod_path(attributes.kind).filter(|path| !path.is_empty());
    let template = path
        .filter(|_| attributes.subresource.is_empty())
        .and_then(|path| object.pointer(path));
    if let Some(template) = template.filter(|template| template.is_object()) {
        check_template(attributes, template);
    }
    Ok(())
}

fn validate_pod(attributes: &Attributes<'_>, pod: &Value) -> Result<(), ApiError> {
    let Some((policy, causes)) = namespace_policy(attributes) else {
        let why = format!("failed to lookup namespace {}", quoted(attributes.namespace));
        annotate(attributes, ERROR_ANNOTATION, why.as_str());
        return Err(ApiError::internal(why));
    };
    if causes.is_empty() && policy.is_privileged() {
        annotate(
            attributes,
            ENFORCED_ANNOTATION,
            LevelVersion::default().to_string(),
        );
        return Ok(());
    }
    if let Operation::Update { old } = attributes.operation
        && !is_significant_update(&pod["spec"], &old["spec"])
    {
        return Ok(());
    }
    annotate(attributes, ENFORCED_ANNOTATION, policy.enforce.to_string());
    let view = PodView::new(pod);
    let refused = standards::violations(policy.enforce, &view).map(|violations| {
        let policy = quoted(&policy.enforce.to_string());
        attributes.forbidden(
            pod,
            format!("violates PodSecurity {policy}: {}", violations.details()),
        )
    });
    report_violations(attributes, &policy, &causes, &view, refused.is_none());
    refused.map_or(Ok(()), Err)
}

/// Reports the violations of the pod template of a workload.
fn check_template(attributes: &Attributes<'_>, template: &Value) {
    let Some((policy, causes)) = namespace_policy(attributes) else {
        let namespace = quoted(attributes.namespace);
        let why = format!("failed to lookup namespace {namespace}: namespaces {namespace} not found");
        return annotate(attributes, ERROR_ANNOTATION, why);
    };
    if !causes.is_empty() || policy.warn.level > Level::Privileged || policy.audit.level > Level::Privileged {
        report_violations(attributes, &policy, &causes, &PodView::new(template), true);
    }
}

/// Returns the policy of the object's namespace and its invalid labels; None if there is no such namespace.
fn namespace_policy(attributes: &Attributes<'_>) -> Option<(Policy, Vec<Cause>)> {
    let namespace = attributes.get("", "namespaces", attributes.namespace)?;
    Some(Policy::from_labels(&namespace.value()["metadata"]["labels"]))
}

/// Reports the violations of the levels for audit and, unless the write is refused, for warnings.
fn report_violations(
    attributes: &Attributes<'_>,
    policy: &Policy,
    causes: &[Cause],
    view: &PodView<'_>,
    warns: bool,
) {
    let message = |level: LevelVersion| {
        let violations = standards::violations(level, view)?;
        let level = quoted(&level.to_string());
        Some(format!(
            "would violate PodSecurity {level}: {}",
            violations.details()
        ))
    };
    if !causes.is_empty() {
        let why = format!("Failed to parse policy: {}", Cause::join(causes));
        annotate(attributes, ERROR_ANNOTATION, why);
    }
    if let Some(message) = message(policy.audit) {
        annotate(attributes, VIOLATIONS_ANNOTATION, message);
    }
    if let (true, Some(report), Some(message)) = (warns, attributes.report, message(policy.warn)) {
        report.warn(&message);
    }
}

fn annotate(attributes: &Attributes<'_>, key: &str, value: impl Into<String>) {
    if let Some(report) = attributes.report {
        report.annotate(format!("{PREFIX}{key}"), value);
    }
}

/// True if an update of a pod adds or removes containers, or changes their images: it may change nothing else that is checked.
fn is_significant_update(new: &Value, old: &Value) -> bool {
    fn images<'a>(spec: &'a Value, field: &str) -> Vec<&'a Value> {
        items(&spec[field]).map(|container| &container["image"]).collect()
    }
    let is_new_or_changed = |container: &Value| {
        let mut old = items(&old["ephemeralContainers"]);
        let old = old.find(|old| old["name"] == container["name"]);
        old.is_none_or(|old| old["image"] != container["image"])
    };
    ["initContainers", "containers"]
        .iter()
        .any(|field| images(new, field) != images(old, field))
        || items(&new["ephemeralContainers"]).any(is_new_or_changed)
}

//! Warnings about jobs and stateful sets beyond those about their pods.

use super::{items, pods};
use crate::kinds::Kind;
use serde_json::Value;

/// Warns about the resources of claim templates.
pub(super) fn warn_claim_templates(kind: &Kind, object: &Value, infix: &str, warnings: &mut Vec<String>) {
    if kind.group != "apps" {
        return;
    }
    for (at, claim) in items(&object["spec"]["volumeClaimTemplates"]) {
        let path = format!("spec.volumeClaimTemplates[{at}]{infix}.resources");
        pods::warn_fractional_bytes(&claim["spec"]["resources"], &path, &["storage"], warnings);
    }
}

/// Warns about indexed jobs with more indexes than Kubernetes can track.
pub(super) fn warn_many_indexes(kind: &Kind, object: &Value, warnings: &mut Vec<String>) {
    let (spec, path) = match kind.kind.as_str() {
        "Job" => (&object["spec"], "spec"),
        "CronJob" => (&object["spec"]["jobTemplate"]["spec"], "spec.jobTemplate.spec"),
        _ => return,
    };
    let is_above = |name: &str, limit: i64| spec[name].as_i64() > Some(limit);
    if spec["completionMode"] == "Indexed"
        && is_above("completions", 100_000)
        && is_above("parallelism", 10_000)
    {
        warnings.push(format!(
            "{path}: In Indexed Jobs with a number of completions higher than 10^5 and a parallelism higher than 10^4, Kubernetes \
             might not be able to track completedIndexes when a big number of indexes fail"
        ));
    }
}

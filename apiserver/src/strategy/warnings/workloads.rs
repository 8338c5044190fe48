//! What is said of jobs and stateful sets, beside what is said of their pods.

use super::{items, pods};
use crate::kinds::Kind;
use serde_json::Value;

/// What a stateful set's claims ask for.
pub(super) fn claims(kind: &Kind, object: &Value, below: &str, warnings: &mut Vec<String>) {
    if kind.group != "apps" {
        return;
    }
    for (at, claim) in items(&object["spec"]["volumeClaimTemplates"]) {
        let path = format!("spec.volumeClaimTemplates[{at}]{below}.resources");
        pods::fractions(&claim["spec"]["resources"], &path, &["storage"], warnings);
    }
}

/// Jobs of more indexes than can be kept account of.
pub(super) fn many_indexes(kind: &Kind, object: &Value, warnings: &mut Vec<String>) {
    let (spec, path) = match kind.kind.as_str() {
        "Job" => (&object["spec"], "spec"),
        "CronJob" => (&object["spec"]["jobTemplate"]["spec"], "spec.jobTemplate.spec"),
        _ => return,
    };
    let above = |name: &str, most: i64| spec[name].as_i64() > Some(most);
    if spec["completionMode"] == "Indexed" && above("completions", 100_000) && above("parallelism", 10_000) {
        warnings.push(format!(
            "{path}: In Indexed Jobs with a number of completions higher than 10^5 and a parallelism higher than 10^4, Kubernetes \
             might not be able to track completedIndexes when a big number of indexes fail"
        ));
    }
}

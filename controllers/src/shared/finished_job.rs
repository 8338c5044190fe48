//! Whether a Job has finished, and how.

use k8s_openapi::api::batch::v1::{Job, JobCondition};

/// Returns the condition, Complete or Failed, with which the Job has finished.
pub(crate) fn finished_condition(job: &Job) -> Option<&JobCondition> {
    let conditions = job.status.as_ref()?.conditions.as_ref()?;
    let finishes = |condition: &&JobCondition| {
        matches!(&*condition.type_, "Complete" | "Failed") && condition.status == "True"
    };
    conditions.iter().find(finishes)
}

//! Validation of a job's status: terminal conditions stay, and counts, times and indexes are consistent.

use super::{Check, array, items, job_indexes, text};
use crate::field::FieldError;
use serde_json::Value;

const COUNT_FIELDS: [&str; 5] = ["active", "failed", "ready", "succeeded", "terminating"];
/// Conditions that must not be removed once they are true.
const TERMINAL_CONDITIONS: [&str; 3] = ["Complete", "Failed", "FailureTarget"];

/// A job's status with access to its conditions.
struct JobStatus<'a> {
    status: &'a Value,
}

impl<'a> JobStatus<'a> {
    fn new(job: &'a Value) -> Self {
        Self {
            status: &job["status"],
        }
    }

    fn is_complete(&self) -> bool {
        has_condition(self.status, "Complete", "True")
    }

    fn is_failed(&self) -> bool {
        has_condition(self.status, "Failed", "True")
    }

    fn is_failing(&self) -> bool {
        has_condition(self.status, "FailureTarget", "True")
    }

    fn is_succeeding(&self) -> bool {
        has_condition(self.status, "SuccessCriteriaMet", "True")
    }

    fn is_finished(&self) -> bool {
        self.is_complete() || self.is_failed()
    }

    fn count(&self, name: &str) -> i64 {
        self.status[name].as_i64().unwrap_or_default()
    }
}

/// Whether the condition has this status.
fn has_condition(status: &Value, condition: &str, expected: &str) -> bool {
    let mut conditions = items(status, "conditions", "").map(|(condition, _)| condition);
    conditions.any(|condition_item| {
        text(condition_item, "type") == condition && text(condition_item, "status") == expected
    })
}

/// Validates only what changed, because the job may have changed since the controller observed it.
pub(super) fn validate_job_status(check: &mut Check, job: &Value, old: &Value) {
    let (new, before) = (JobStatus::new(job), JobStatus::new(old));
    check.require_non_negative(new.status, &COUNT_FIELDS, "status");
    validate_uncounted_pods(check, new.status);
    validate_conditions(check, job, &new, &before);
    validate_times(check, job, &new, &before);
    validate_counts(check, job, &new, &before);
    validate_indexes(check, job, &new, &before);
}

fn has_changed(new: &JobStatus<'_>, before: &JobStatus<'_>, name: &str) -> bool {
    new.status[name] != before.status[name]
}

fn validate_uncounted_pods(check: &mut Check, status: &Value) {
    let path = "status.uncountedTerminatedPods";
    let mut seen = vec![];
    for list in ["succeeded", "failed"] {
        for (uid, path) in items(&status["uncountedTerminatedPods"], list, path) {
            let uid = uid.as_str().unwrap_or_default();
            if uid.is_empty() {
                check.invalid(&path, uid, "must not be empty");
            } else if seen.contains(&uid) {
                check.duplicate(&path, uid);
            } else {
                seen.push(uid);
            }
        }
    }
}

fn validate_conditions(check: &mut Check, job: &Value, new: &JobStatus<'_>, before: &JobStatus<'_>) {
    let complete_changed = new.is_complete() != before.is_complete();
    let failed_changed = new.is_failed() != before.is_failed();
    let has_success_policy = !job["spec"]["successPolicy"].is_null();
    let rules = [
        (
            (complete_changed || failed_changed) && new.is_complete() && new.is_failed(),
            "cannot set Complete=True and Failed=true conditions",
        ),
        (
            (complete_changed || new.is_failing() != before.is_failing())
                && new.is_complete()
                && new.is_failing(),
            "cannot set Complete=True and FailureTarget=true conditions",
        ),
        (
            (failed_changed || has_changed(new, before, "failedIndexes"))
                && new.is_failed()
                && !new.is_failing(),
            "cannot set Failed=True condition without the FailureTarget=true condition",
        ),
        (
            (complete_changed || new.is_succeeding() != before.is_succeeding())
                && new.is_complete()
                && !new.is_succeeding(),
            "cannot set Complete=True condition without the SuccessCriteriaMet=true condition",
        ),
        (
            new.is_succeeding() && new.is_failed(),
            "cannot set SuccessCriteriaMet=True and Failed=true conditions",
        ),
        (
            new.is_succeeding() && new.is_failing(),
            "cannot set SuccessCriteriaMet=True and FailureTarget=true conditions",
        ),
        (
            has_success_policy && !new.is_succeeding() && new.is_complete(),
            "cannot set Complete=True for Job with SuccessPolicy unless SuccessCriteriaMet=True",
        ),
        (
            before.is_succeeding() && !new.is_succeeding(),
            "cannot disable the SuccessCriteriaMet=True condition",
        ),
        (
            before.is_complete() && !before.is_succeeding() && new.is_succeeding(),
            "cannot set SuccessCriteriaMet=True for Job already has Complete=true conditions",
        ),
    ];
    let removed = TERMINAL_CONDITIONS.into_iter().filter(|condition| {
        has_condition(before.status, condition, "True") && !has_condition(new.status, condition, "True")
    });
    let removed = removed.map(|condition| format!("cannot disable the terminal {condition}=True condition"));
    let violated = rules.into_iter().filter(|(violated, _)| *violated);
    for detail in violated.map(|(_, detail)| detail.to_owned()).chain(removed) {
        check.push(FieldError::invalid("status.conditions", "", detail).without_value());
    }
}

fn validate_times(check: &mut Check, job: &Value, new: &JobStatus<'_>, before: &JobStatus<'_>) {
    let (start, end) = (&new.status["startTime"], &new.status["completionTime"]);
    let started = has_changed(new, before, "startTime");
    let ended = has_changed(new, before, "completionTime");
    let field = "status.completionTime";
    if new.is_complete() != before.is_complete() || ended {
        if !end.is_null() && !new.is_complete() {
            let detail = "cannot set completionTime when there is no Complete=True condition";
            check.invalid(field, end.clone(), detail);
        }
        if end.is_null() && new.is_complete() {
            check.required(field, "completionTime is required for Complete jobs");
        }
    }
    // The times have the same format, so they compare as text.
    if (started || ended) && end.as_str().is_some_and(|end| Some(end) < start.as_str()) {
        check.invalid(field, end.clone(), "must be equal to or after `startTime`");
    }
    if ended && !end.is_null() && !before.status["completionTime"].is_null() {
        check.invalid(field, end.clone(), "field is immutable");
    }
    let field = "status.startTime";
    let nothing_to_do = job["spec"]["suspend"] == true && job["spec"]["completions"] == 0;
    let finished = new.is_finished() != before.is_finished();
    if (finished || started) && !nothing_to_do && start.is_null() && new.is_finished() {
        check.required(field, "startTime is required for finished job");
    }
    let resumes =
        has_condition(before.status, "Suspended", "True") && has_condition(new.status, "Suspended", "False");
    let set = !before.status["startTime"].is_null();
    if started && set && !resumes && job["spec"]["suspend"] != true {
        let detail = "field is immutable for unsuspended job once set";
        check.invalid(field, start.clone(), detail);
    }
}

fn validate_counts(check: &mut Check, job: &Value, new: &JobStatus<'_>, before: &JobStatus<'_>) {
    let finished = new.is_finished() != before.is_finished();
    let mut reject = |name: &str, detail: &str| {
        check.invalid(&format!("status.{name}"), new.count(name), detail);
    };
    for (name, detail) in [
        ("active", "active>0 is invalid for finished job"),
        ("terminating", "terminating>0 is invalid for finished job"),
    ] {
        let changed = finished || has_changed(new, before, name);
        if changed && new.is_finished() && new.count(name) > 0 {
            reject(name, detail);
        }
    }
    let changed = has_changed(new, before, "ready") || has_changed(new, before, "active");
    if changed && new.count("ready") > new.count("active") {
        reject("ready", "cannot set more ready pods than active");
    }
    if new.count("failed") < before.count("failed") {
        reject("failed", "cannot decrease the failed counter");
    }
    let spec = &job["spec"];
    let may_shrink = spec["completionMode"] == "Indexed" && spec["completions"] == spec["parallelism"];
    if !may_shrink && new.count("succeeded") < before.count("succeeded") {
        reject("succeeded", "cannot decrease the succeeded counter");
    }
    let pods = &new.status["uncountedTerminatedPods"];
    let has_uncounted = ["failed", "succeeded"]
        .into_iter()
        .any(|list| !array(&pods[list]).is_empty());
    if (finished || has_changed(new, before, "uncountedTerminatedPods")) && new.is_finished() && has_uncounted
    {
        let detail = "must be empty for finished job";
        check.invalid("status.uncountedTerminatedPods", pods.clone(), detail);
    }
}

fn validate_indexes(check: &mut Check, job: &Value, new: &JobStatus<'_>, before: &JobStatus<'_>) {
    let spec = &job["spec"];
    let (completed, failed) = ("completedIndexes", "failedIndexes");
    let changed = |name: &str| has_changed(new, before, name);
    let per_index = !spec["backoffLimitPerIndex"].is_null();
    let completions = spec["completions"].as_i64();
    for (name, counts) in [(completed, true), (failed, per_index)] {
        let (Some(indexes), Some(completions)) = (new.status[name].as_str(), completions) else {
            continue;
        };
        if let (true, true, Err(reason)) = (changed(name), counts, job_indexes::count(indexes, completions)) {
            let detail = format!("error parsing {name}: {reason}");
            check.invalid(&format!("status.{name}"), indexes, detail);
        }
    }
    let completed_indexes = text(new.status, completed);
    if changed(completed) && !completed_indexes.is_empty() && spec["completionMode"] != "Indexed" {
        let detail = "cannot set non-empty completedIndexes when non-indexed completion mode";
        check.invalid("status.completedIndexes", completed_indexes, detail);
    }
    let Some(indexes) = new.status[failed].as_str() else {
        return;
    };
    let field = "status.failedIndexes";
    if changed(failed) && !per_index {
        let detail = "cannot set non-null failedIndexes when backoffLimitPerIndex is null";
        check.invalid(field, indexes, detail);
    }
    if let Some(completions) = completions
        && (changed(failed) || changed(completed))
        && let Some(index) = job_indexes::overlap(completed_indexes, indexes, completions)
    {
        let detail = format!("failedIndexes and completedIndexes overlap at index: {index}");
        check.invalid(field, indexes, detail);
    }
}

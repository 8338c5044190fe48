//! What is said of a job: a job that ended stays so, and its counts, times and indexes fit together.

use super::{Check, items, job_indexes, text};
use crate::field::FieldError;
use serde_json::Value;

const COUNTS: [&str; 5] = ["active", "failed", "ready", "succeeded", "terminating"];
/// Conditions that do not go away.
const LASTING: [&str; 3] = ["Complete", "Failed", "FailureTarget"];

/// A status, and what its conditions say.
struct Said<'a> {
    status: &'a Value,
}

impl<'a> Said<'a> {
    fn new(job: &'a Value) -> Self {
        Self {
            status: &job["status"],
        }
    }

    fn complete(&self) -> bool {
        is(self.status, "Complete", "True")
    }

    fn failed(&self) -> bool {
        is(self.status, "Failed", "True")
    }

    fn failing(&self) -> bool {
        is(self.status, "FailureTarget", "True")
    }

    fn succeeding(&self) -> bool {
        is(self.status, "SuccessCriteriaMet", "True")
    }

    fn is_finished(&self) -> bool {
        self.complete() || self.failed()
    }

    fn count(&self, name: &str) -> i64 {
        self.status[name].as_i64().unwrap_or_default()
    }
}

/// Whether the condition has this status.
fn is(status: &Value, condition: &str, expected: &str) -> bool {
    let mut conditions = items(status, "conditions", "").map(|(condition, _)| condition);
    conditions.any(|one| text(one, "type") == condition && text(one, "status") == expected)
}

/// What changed is looked at: the job may have been changed since its status was told.
pub(super) fn job_status(check: &mut Check, job: &Value, old: &Value) {
    let (new, before) = (Said::new(job), Said::new(old));
    check.not_negative(new.status, &COUNTS, "status");
    uncounted(check, new.status);
    conditions(check, job, &new, &before);
    times(check, job, &new, &before);
    counts(check, job, &new, &before);
    indexes(check, job, &new, &before);
}

fn differs(new: &Said<'_>, before: &Said<'_>, name: &str) -> bool {
    new.status[name] != before.status[name]
}

fn uncounted(check: &mut Check, status: &Value) {
    let path = "status.uncountedTerminatedPods";
    let mut seen = vec![];
    for list in ["succeeded", "failed"] {
        for (uid, path) in items(&status["uncountedTerminatedPods"], list, path) {
            let uid = uid.as_str().unwrap_or_default();
            if uid.is_empty() {
                check.push(FieldError::invalid(&path, uid, "must not be empty"));
            } else if seen.contains(&uid) {
                check.push(FieldError::duplicate(&path, uid));
            } else {
                seen.push(uid);
            }
        }
    }
}

fn conditions(check: &mut Check, job: &Value, new: &Said<'_>, before: &Said<'_>) {
    let ended = new.complete() != before.complete();
    let failed = new.failed() != before.failed();
    let chosen = !job["spec"]["successPolicy"].is_null();
    let rules = [
        (
            (ended || failed) && new.complete() && new.failed(),
            "cannot set Complete=True and Failed=true conditions",
        ),
        (
            (ended || new.failing() != before.failing()) && new.complete() && new.failing(),
            "cannot set Complete=True and FailureTarget=true conditions",
        ),
        (
            (failed || differs(new, before, "failedIndexes")) && new.failed() && !new.failing(),
            "cannot set Failed=True condition without the FailureTarget=true condition",
        ),
        (
            (ended || new.succeeding() != before.succeeding()) && new.complete() && !new.succeeding(),
            "cannot set Complete=True condition without the SuccessCriteriaMet=true condition",
        ),
        (
            new.succeeding() && new.failed(),
            "cannot set SuccessCriteriaMet=True and Failed=true conditions",
        ),
        (
            new.succeeding() && new.failing(),
            "cannot set SuccessCriteriaMet=True and FailureTarget=true conditions",
        ),
        (
            chosen && !new.succeeding() && new.complete(),
            "cannot set Complete=True for Job with SuccessPolicy unless SuccessCriteriaMet=True",
        ),
        (
            before.succeeding() && !new.succeeding(),
            "cannot disable the SuccessCriteriaMet=True condition",
        ),
        (
            before.complete() && !before.succeeding() && new.succeeding(),
            "cannot set SuccessCriteriaMet=True for Job already has Complete=true conditions",
        ),
    ];
    let lost = LASTING
        .into_iter()
        .filter(|condition| is(before.status, condition, "True") && !is(new.status, condition, "True"));
    let lost = lost.map(|condition| format!("cannot disable the terminal {condition}=True condition"));
    let broken = rules.into_iter().filter(|(broken, _)| *broken);
    for detail in broken.map(|(_, detail)| detail.to_owned()).chain(lost) {
        check.push(FieldError::invalid("status.conditions", "", detail).without_value());
    }
}

fn times(check: &mut Check, job: &Value, new: &Said<'_>, before: &Said<'_>) {
    let (start, end) = (&new.status["startTime"], &new.status["completionTime"]);
    let started = differs(new, before, "startTime");
    let ended = differs(new, before, "completionTime");
    let field = "status.completionTime";
    if new.complete() != before.complete() || ended {
        if !end.is_null() && !new.complete() {
            let detail = "cannot set completionTime when there is no Complete=True condition";
            check.push(FieldError::invalid(field, end.clone(), detail));
        }
        if end.is_null() && new.complete() {
            let detail = "completionTime is required for Complete jobs";
            check.push(FieldError::required(field, detail));
        }
    }
    // Times are texts of one form.
    if (started || ended) && end.as_str().is_some_and(|end| Some(end) < start.as_str()) {
        let detail = "must be equal to or after `startTime`";
        check.push(FieldError::invalid(field, end.clone(), detail));
    }
    if ended && !end.is_null() && !before.status["completionTime"].is_null() {
        check.push(FieldError::invalid(field, end.clone(), "field is immutable"));
    }
    let field = "status.startTime";
    let nothing_to_do = job["spec"]["suspend"] == true && job["spec"]["completions"] == 0;
    let finished = new.is_finished() != before.is_finished();
    if (finished || started) && !nothing_to_do && start.is_null() && new.is_finished() {
        check.push(FieldError::required(
            field,
            "startTime is required for finished job",
        ));
    }
    let resumes = is(before.status, "Suspended", "True") && is(new.status, "Suspended", "False");
    let set = !before.status["startTime"].is_null();
    if started && set && !resumes && job["spec"]["suspend"] != true {
        let detail = "field is immutable for unsuspended job once set";
        check.push(FieldError::invalid(field, start.clone(), detail));
    }
}

fn counts(check: &mut Check, job: &Value, new: &Said<'_>, before: &Said<'_>) {
    let finished = new.is_finished() != before.is_finished();
    let mut refuse = |name: &str, detail: &str| {
        check.push(FieldError::invalid(
            &format!("status.{name}"),
            new.count(name),
            detail,
        ));
    };
    for (name, detail) in [
        ("active", "active>0 is invalid for finished job"),
        ("terminating", "terminating>0 is invalid for finished job"),
    ] {
        let changed = finished || differs(new, before, name);
        if changed && new.is_finished() && new.count(name) > 0 {
            refuse(name, detail);
        }
    }
    let changed = differs(new, before, "ready") || differs(new, before, "active");
    if changed && new.count("ready") > new.count("active") {
        refuse("ready", "cannot set more ready pods than active");
    }
    if new.count("failed") < before.count("failed") {
        refuse("failed", "cannot decrease the failed counter");
    }
    let spec = &job["spec"];
    let shrinks = spec["completionMode"] == "Indexed" && spec["completions"] == spec["parallelism"];
    if !shrinks && new.count("succeeded") < before.count("succeeded") {
        refuse("succeeded", "cannot decrease the succeeded counter");
    }
    let pods = &new.status["uncountedTerminatedPods"];
    let any = ["failed", "succeeded"]
        .into_iter()
        .any(|list| pods[list].as_array().is_some_and(|list| !list.is_empty()));
    if (finished || differs(new, before, "uncountedTerminatedPods")) && new.is_finished() && any {
        let path = "status.uncountedTerminatedPods";
        let shown = check.shown(pods, path, "batch.UncountedTerminatedPods");
        let detail = "must be empty for finished job";
        check.push(FieldError::invalid(path, "", detail).showing(shown));
    }
}

fn indexes(check: &mut Check, job: &Value, new: &Said<'_>, before: &Said<'_>) {
    let spec = &job["spec"];
    let (done, failed) = ("completedIndexes", "failedIndexes");
    let changed = |name: &str| differs(new, before, name);
    let per_index = !spec["backoffLimitPerIndex"].is_null();
    let completions = spec["completions"].as_i64();
    for (name, counts) in [(done, true), (failed, per_index)] {
        let (Some(indexes), Some(completions)) = (new.status[name].as_str(), completions) else {
            continue;
        };
        if let (true, true, Err(why)) = (changed(name), counts, job_indexes::count(indexes, completions)) {
            let detail = format!("error parsing {name}: {why}");
            check.push(FieldError::invalid(&format!("status.{name}"), indexes, detail));
        }
    }
    let completed = text(new.status, done);
    if changed(done) && !completed.is_empty() && spec["completionMode"] != "Indexed" {
        let detail = "cannot set non-empty completedIndexes when non-indexed completion mode";
        check.push(FieldError::invalid("status.completedIndexes", completed, detail));
    }
    let Some(indexes) = new.status[failed].as_str() else {
        return;
    };
    let field = "status.failedIndexes";
    if changed(failed) && !per_index {
        let detail = "cannot set non-null failedIndexes when backoffLimitPerIndex is null";
        check.push(FieldError::invalid(field, indexes, detail));
    }
    if let Some(completions) = completions
        && (changed(failed) || changed(done))
        && let Some(index) = job_indexes::overlap(completed, indexes, completions)
    {
        let detail = format!("failedIndexes and completedIndexes overlap at index: {index}");
        check.push(FieldError::invalid(field, indexes, detail));
    }
}

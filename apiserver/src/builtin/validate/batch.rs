//! Jobs and cron jobs.

use super::{Check, pod, text};
use crate::field::FieldError;
use serde_json::Value;

const COUNTS: [&str; 6] = [
    "parallelism",
    "completions",
    "activeDeadlineSeconds",
    "backoffLimit",
    "ttlSecondsAfterFinished",
    "backoffLimitPerIndex",
];

pub(super) fn job(check: &mut Check, job: &Value, old: Option<&Value>) {
    spec(check, &job["spec"], "spec");
    let Some(old) = old else { return };
    // While it is suspended, and in some other cases, the real server lets more change.
    let suspended = old["spec"]["suspend"] == true;
    for name in [
        "completions",
        "selector",
        "template",
        "completionMode",
        "podFailurePolicy",
        "backoffLimitPerIndex",
        "managedBy",
        "successPolicy",
    ] {
        let (before, after) = (&old["spec"][name], &job["spec"][name]);
        let elastic = name == "completions"
            && job["spec"]["completionMode"] == "Indexed"
            && *after == job["spec"]["parallelism"];
        if before != after && !elastic && !(name == "template" && suspended) {
            check.push(FieldError::invalid(
                &format!("spec.{name}"),
                after.clone(),
                "field is immutable",
            ));
        }
    }
}

fn spec(check: &mut Check, spec: &Value, path: &str) {
    check.not_negative(spec, &COUNTS, path);
    check.one_of(spec, "completionMode", path, &["NonIndexed", "Indexed"]);
    let replacement: &[&str] = if spec["podFailurePolicy"].is_object() {
        &["Failed"]
    } else {
        &["Failed", "TerminatingOrFailed"]
    };
    check.one_of(spec, "podReplacementPolicy", path, replacement);
    if spec["completionMode"] == "Indexed" && spec["completions"].is_null() {
        let detail = "when completion mode is Indexed";
        check.push(FieldError::required(&format!("{path}.completions"), detail));
    }
    check.selector(&spec["selector"], &format!("{path}.selector"));
    pod::template(check, &spec["template"], &format!("{path}.template"));
    let field = format!("{path}.template.spec.restartPolicy");
    match text(&spec["template"]["spec"], "restartPolicy") {
        "" | "Always" => check.push(FieldError::required(
            &field,
            "valid values: \"OnFailure\", \"Never\"",
        )),
        "Never" | "OnFailure" => {}
        other => check.push(FieldError::not_supported(&field, other, ["OnFailure", "Never"])),
    }
}

pub(super) fn cron_job(check: &mut Check, cron: &Value) {
    let path = "spec";
    let schedule = text(cron, "schedule");
    if check.required(&cron["schedule"], "spec.schedule")
        && let Some(detail) = schedule_error(schedule)
    {
        check.push(FieldError::invalid("spec.schedule", schedule, detail));
    }
    check.not_negative(
        cron,
        &[
            "startingDeadlineSeconds",
            "successfulJobsHistoryLimit",
            "failedJobsHistoryLimit",
        ],
        path,
    );
    if cron["concurrencyPolicy"].is_null() {
        check.push(FieldError::required("spec.concurrencyPolicy", ""));
    }
    check.one_of(cron, "concurrencyPolicy", path, &["Allow", "Forbid", "Replace"]);
    check.metadata(&cron["jobTemplate"]["metadata"], "spec.jobTemplate.metadata");
    spec(check, &cron["jobTemplate"]["spec"], "spec.jobTemplate.spec");
}

/// What is wrong with a schedule: the number of its fields. What stands in them is not looked at beyond its characters.
fn schedule_error(schedule: &str) -> Option<String> {
    if let Some(descriptor) = schedule.strip_prefix('@') {
        let known = [
            "yearly", "annually", "monthly", "weekly", "daily", "midnight", "hourly",
        ]
        .contains(&descriptor);
        return (!known && !descriptor.starts_with("every "))
            .then(|| format!("unrecognized descriptor: {schedule}"));
    }
    let fields: Vec<&str> = schedule.split_whitespace().collect();
    if fields.len() != 5 {
        return Some(format!(
            "expected exactly 5 fields, found {}: [{}]",
            fields.len(),
            fields.join(" ")
        ));
    }
    let odd = fields.iter().find(|field| {
        !field
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"*/,-?".contains(&byte))
    });
    odd.map(|field| {
        format!("failed to parse int from {field}: strconv.Atoi: parsing {field:?}: invalid syntax")
    })
}

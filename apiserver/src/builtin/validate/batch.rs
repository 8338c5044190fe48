//! Jobs and cron jobs.

use super::{Check, items, pod, schedule, text, workload};
use crate::field::FieldError;
use serde_json::{Value, json};

const COUNTS: [&str; 6] = [
    "parallelism",
    "completions",
    "activeDeadlineSeconds",
    "backoffLimit",
    "ttlSecondsAfterFinished",
    "backoffLimitPerIndex",
];

pub(super) fn job(check: &mut Check, job: &Value, old: Option<&Value>) {
    // What has no uid yet has no selector either.
    let filled = !text(&job["metadata"], "uid").is_empty();
    if filled {
        generated_selector(check, job);
    }
    // The real server looks twice at one that replaces another, and tells of each fault twice.
    let times = if old.is_some() { 2 } else { 1 };
    for _ in 0..times {
        spec(check, &job["spec"], "spec");
        if filled {
            selected(check, &job["spec"]);
        }
    }
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
            let mut error = FieldError::invalid(&format!("spec.{name}"), after.clone(), "field is immutable");
            let shown = match name {
                "template" => Some("core.PodTemplateSpec"),
                "podFailurePolicy" => Some("*batch.PodFailurePolicy"),
                "successPolicy" => Some("*batch.SuccessPolicy"),
                _ => None,
            };
            if let Some(ty) = shown {
                error = error.showing(check.shown(after, &format!("spec.{name}"), ty));
            }
            check.push(error);
        }
    }
}

/// A selector that was not asked for is the server's own.
fn generated_selector(check: &mut Check, job: &Value) {
    let spec = &job["spec"];
    if spec["manualSelector"] == true || spec["selector"].is_null() {
        return;
    }
    let (uid, name) = (text(&job["metadata"], "uid"), text(&job["metadata"], "name"));
    let labels = json!({
        "batch.kubernetes.io/controller-uid": uid, "batch.kubernetes.io/job-name": name, "controller-uid": uid, "job-name": name,
    });
    if !workload::selects(&spec["selector"], &labels) {
        let selector = spec["selector"].clone();
        check.push(FieldError::invalid(
            "spec.selector",
            selector,
            "`selector` not auto-generated",
        ));
    }
}

/// A job selects its own pods.
fn selected(check: &mut Check, spec: &Value) {
    let selector = &spec["selector"];
    if selector.is_null() {
        check.push(FieldError::required("spec.selector", ""));
    } else {
        check.selector(selector, "spec.selector");
    }
    let labels = &spec["template"]["metadata"]["labels"];
    if workload::is_valid(selector) && !workload::selects(selector, labels) {
        check.push(FieldError::invalid(
            "spec.template.metadata.labels",
            labels.clone(),
            "`selector` does not match template `labels`",
        ));
    }
}

/// What is done when a pod fails.
fn failure_policy(check: &mut Check, spec: &Value, path: &str) {
    let policy = &spec["podFailurePolicy"];
    for (rule, path) in items(policy, "rules", &format!("{path}.podFailurePolicy")) {
        let field = format!("{path}.action");
        match text(rule, "action") {
            "" => {
                let detail = "valid values: [\"Count\" \"FailIndex\" \"FailJob\" \"Ignore\"]";
                check.push(FieldError::required(&field, detail));
            }
            "FailIndex" if spec["backoffLimitPerIndex"].is_null() => {
                let detail = "requires the backoffLimitPerIndex to be set";
                check.push(FieldError::invalid(&field, "FailIndex", detail));
            }
            _ => check.one_of(
                rule,
                "action",
                &path,
                &["Count", "FailIndex", "FailJob", "Ignore"],
            ),
        }
        let codes = rule["onExitCodes"].is_object();
        let conditions = rule["onPodConditions"]
            .as_array()
            .is_some_and(|list| !list.is_empty());
        let detail = match (codes, conditions) {
            (true, true) => "specifying both OnExitCodes and OnPodConditions is not supported",
            (false, false) => "specifying one of OnExitCodes and OnPodConditions is required",
            _ => continue,
        };
        check.push(FieldError::invalid(&path, "", detail).without_value());
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
    failure_policy(check, spec, path);
    pod::template(check, &spec["template"], &format!("{path}.template"));
    let field = format!("{path}.template.spec.restartPolicy");
    match text(&spec["template"]["spec"], "restartPolicy") {
        "" | "Always" => check.push(FieldError::required(
            &field,
            "valid values: \"OnFailure\", \"Never\"",
        )),
        policy @ "OnFailure" if spec["podFailurePolicy"].is_object() => {
            let detail = "only \"Never\" is supported when podFailurePolicy is specified";
            check.push(FieldError::invalid(&field, policy, detail));
        }
        "Never" | "OnFailure" => {}
        other => check.push(FieldError::not_supported(&field, other, ["OnFailure", "Never"])),
    }
}

pub(super) fn cron_job(check: &mut Check, object: &Value, old: Option<&Value>) {
    let (cron, path) = (&object["spec"], "spec");
    let name = text(&object["metadata"], "name");
    // Its jobs' names are longer by eleven.
    if old.is_none() && name.len() > 52 {
        check.push(FieldError::invalid(
            "metadata.name",
            name,
            "must be no more than 52 characters",
        ));
    }
    if let Some(zone) = cron["timeZone"].as_str() {
        time_zone(check, zone);
    }
    let schedule = text(cron, "schedule");
    if check.required(&cron["schedule"], "spec.schedule")
        && let Some(detail) = schedule::error(schedule)
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
    check.metadata(
        &cron["jobTemplate"]["metadata"],
        "spec.jobTemplate.metadata",
        true,
    );
    spec(check, &cron["jobTemplate"]["spec"], "spec.jobTemplate.spec");
}

fn time_zone(check: &mut Check, zone: &str) {
    let field = "spec.timeZone";
    let detail = match zone {
        "" => "timeZone must be nil or non-empty string".to_owned(),
        local if local.eq_ignore_ascii_case("local") => {
            "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones".to_owned()
        }
        // Where the machine knows no zones, all are taken on trust.
        zone if !jiff::tz::db().is_definitively_empty() && jiff::tz::TimeZone::get(zone).is_err() => {
            format!("unknown time zone {zone}")
        }
        _ => return,
    };
    check.push(FieldError::invalid(field, zone, detail));
}

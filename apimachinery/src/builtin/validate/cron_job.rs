//! Validation of CronJobs.

use super::{Check, Constraint, FieldRule, job, schedule, text};
use serde_json::Value;

#[rustfmt::skip]
const CRON_JOB: &[FieldRule] = &[
    ("startingDeadlineSeconds", Constraint::NonNegative),
    ("successfulJobsHistoryLimit", Constraint::NonNegative),
    ("failedJobsHistoryLimit", Constraint::NonNegative),
    ("concurrencyPolicy", Constraint::Present("")),
    ("concurrencyPolicy", Constraint::OneOf(&["Allow", "Forbid", "Replace"])),
];

pub(super) fn validate_cron_job(check: &mut Check, object: &Value, old: Option<&Value>) {
    let cron = &object["spec"];
    let name = text(&object["metadata"], "name");
    // The names of its jobs have a suffix of eleven characters.
    if old.is_none() && name.len() > 52 {
        check.invalid("metadata.name", name, "must be no more than 52 characters");
    }
    if let Some(zone) = cron["timeZone"].as_str() {
        validate_time_zone(check, zone);
    }
    let schedule = text(cron, "schedule");
    if check.require(&cron["schedule"], "spec.schedule") {
        for detail in schedule::schedule_errors(schedule) {
            check.invalid("spec.schedule", schedule, detail);
        }
    }
    check.apply(CRON_JOB, cron, None, "spec");
    let template = &cron["jobTemplate"]["spec"];
    let path = "spec.jobTemplate.spec";
    job::validate_spec(check, template, path);
    if !template["selector"].is_null() {
        let selector = template["selector"].clone();
        let detail = "`selector` will be auto-generated";
        check.invalid(&format!("{path}.selector"), selector, detail);
    }
    if template["manualSelector"] == true {
        let field = format!("{path}.manualSelector");
        check.not_supported(&field, true, ["nil", "false"]);
    }
}

fn validate_time_zone(check: &mut Check, zone: &str) {
    let field = "spec.timeZone";
    if zone.is_empty() {
        return check.invalid(field, zone, "timeZone must be nil or non-empty string");
    }
    if zone.eq_ignore_ascii_case("local") {
        let detail = "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones";
        check.invalid(field, zone, detail);
    }
    if zone != "Local" && schedule::is_unknown_time_zone(zone) {
        check.invalid(field, zone, format!("unknown time zone {zone}"));
    }
}

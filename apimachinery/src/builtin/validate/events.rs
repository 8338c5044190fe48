//! Validation of events, of the core group and of `events.k8s.io`.

use super::{Check, names, text};
use crate::field::FieldError;
use serde_json::Value;

/// Immutable fields of `events.k8s.io`: the field, its name in kube-apiserver's messages, and the JSON that shows an absent value.
const IMMUTABLE_FIELDS: [(&str, &str, &str); 13] = [
    ("regarding", "involvedObject", "null"),
    ("reason", "reason", "\"\""),
    ("note", "message", "\"\""),
    ("deprecatedSource", "source", "null"),
    ("deprecatedFirstTimestamp", "firstTimestamp", "null"),
    ("deprecatedLastTimestamp", "lastTimestamp", "null"),
    ("deprecatedCount", "count", "0"),
    ("type", "type", "\"\""),
    ("eventTime", "eventTime", "null"),
    ("action", "action", "\"\""),
    ("related", "related", "null"),
    ("reportingController", "reportingController", "\"\""),
    ("reportingInstance", "reportingInstance", "\"\""),
];

/// Validates an event. Events of `events.k8s.io` have more required and more immutable fields.
pub(super) fn validate_event(check: &mut Check, event: &Value, old: Option<&Value>) {
    let is_events_v1 = event["apiVersion"] != "v1";
    let namespace = text(&event["metadata"], "namespace");
    let (involved, reporter) = if is_events_v1 {
        ("regarding", "reportingController")
    } else {
        ("involvedObject", "reportingComponent")
    };
    let about_namespace = text(&event[involved], "namespace");
    let has_event_time = !event["eventTime"].is_null();
    let fits = if about_namespace.is_empty() {
        namespace.is_empty() || namespace == "default" || has_event_time && namespace == "kube-system"
    } else {
        has_event_time || about_namespace == namespace
    };
    if !fits {
        let detail = "does not match event.namespace";
        check.invalid("involvedObject.namespace", about_namespace, detail);
    }
    if has_event_time {
        validate_reporting_fields(check, event, reporter);
    }
    match old {
        _ if !is_events_v1 => {}
        None => validate_new_event_fields(check, event, has_event_time),
        Some(old) => reject_immutable_fields(check, event, old),
    }
}

fn validate_reporting_fields(check: &mut Check, event: &Value, reporter: &str) {
    let controller = text(event, reporter);
    check.require(&event[reporter], reporter);
    check.validate_format(reporter, controller, names::qualified_name_errors);
    for name in ["reportingInstance", "action", "reason"] {
        if check.require(&event[name], name) && text(event, name).len() > 128 {
            check.invalid(name, "", "can have at most 128 characters");
        }
    }
    let note = event["note"].as_str().unwrap_or_else(|| text(event, "message"));
    if note.len() > 1024 {
        check.invalid("message", "", "can have at most 1024 characters");
    }
}

fn validate_new_event_fields(check: &mut Check, event: &Value, has_event_time: bool) {
    validate_series(check, &event["series"]);
    if !has_event_time {
        check.required("eventTime", "");
    }
    let ty = text(event, "type");
    if !["Normal", "Warning"].contains(&ty) {
        check.invalid("type", "", format!("has invalid value: {ty}"));
    }
    for (name, internal_name) in [
        ("deprecatedFirstTimestamp", "firstTimestamp"),
        ("deprecatedLastTimestamp", "lastTimestamp"),
        ("deprecatedCount", "count"),
        ("deprecatedSource", "source"),
    ] {
        let value = &event[name];
        let is_set = match value {
            Value::Object(fields) => !fields.is_empty(),
            Value::Number(number) => number.as_i64() != Some(0),
            value => !value.is_null(),
        };
        if is_set {
            check.invalid(internal_name, "", "needs to be unset");
        }
    }
}

fn validate_series(check: &mut Check, series: &Value) {
    if series.is_object() {
        if series["count"].as_i64().unwrap_or(0) < 2 {
            check.invalid("series.count", "", "should be at least 2");
        }
        check.require(&series["lastObservedTime"], "series.lastObservedTime");
    }
}

fn reject_immutable_fields(check: &mut Check, event: &Value, old: &Value) {
    if event["series"] != old["series"] {
        validate_series(check, &event["series"]);
    }
    for (name, field, absent) in IMMUTABLE_FIELDS {
        if event[name] != old[name] {
            let mut error = FieldError::invalid(field, event[name].clone(), "field is immutable");
            if event[name].is_null() {
                error.value = Some(absent.to_owned());
            }
            check.push(error);
        }
    }
}

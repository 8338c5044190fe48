//! Validation of events, of the core group and of `events.k8s.io`.

use super::{Check, names, text};
use crate::field::FieldError;
use serde_json::Value;

/// Immutable fields of `events.k8s.io`: the field, its name in kube-apiserver's messages, and its internal type. The reason occurs twice,
/// as it does there.
const IMMUTABLE_FIELDS: [(&str, &str, &str); 14] = [
    ("regarding", "involvedObject", "core.ObjectReference"),
    ("reason", "reason", "string"),
    ("note", "message", "string"),
    ("deprecatedSource", "source", "core.EventSource"),
    ("deprecatedFirstTimestamp", "firstTimestamp", "time"),
    ("deprecatedLastTimestamp", "lastTimestamp", "time"),
    ("deprecatedCount", "count", "int"),
    ("reason", "reason", "string"),
    ("type", "type", "string"),
    ("eventTime", "eventTime", "time"),
    ("action", "action", "string"),
    ("related", "related", "*core.ObjectReference"),
    ("reportingController", "reportingController", "string"),
    ("reportingInstance", "reportingInstance", "string"),
];

/// Validates an event. Events of `events.k8s.io` have more required and more immutable fields.
pub(super) fn validate_event(check: &mut Check, event: &Value, old: Option<&Value>) {
    let is_events_v1 = event["apiVersion"] != "v1";
    let namespace = text(&event["metadata"], "namespace");
    let involved = &event[if is_events_v1 {
        "regarding"
    } else {
        "involvedObject"
    }];
    let about_namespace = text(involved, "namespace");
    let has_event_time = !event["eventTime"].is_null();
    let fits = if about_namespace.is_empty() {
        namespace.is_empty() || namespace == "default" || has_event_time && namespace == "kube-system"
    } else {
        has_event_time || about_namespace == namespace
    };
    if !fits {
        let detail = "does not match event.namespace";
        check.push(FieldError::invalid(
            "involvedObject.namespace",
            about_namespace,
            detail,
        ));
    }
    if has_event_time {
        validate_reporting_fields(
            check,
            event,
            if is_events_v1 {
                "reportingController"
            } else {
                "reportingComponent"
            },
        );
    }
    match old {
        _ if !is_events_v1 => {}
        None => validate_new_event_fields(check, event, has_event_time),
        Some(old) => reject_immutable_fields(check, event, old),
    }
}

fn validate_reporting_fields(check: &mut Check, event: &Value, reporter: &str) {
    let controller = text(event, reporter);
    check.require(&Value::from(controller), reporter);
    check.push_messages(reporter, controller, &names::qualified_name_errors(controller));
    for (name, max) in [("reportingInstance", 128), ("action", 128), ("reason", 128)] {
        if check.require(&Value::from(text(event, name)), name) && text(event, name).len() > max {
            let detail = format!("can have at most {max} characters");
            check.push(FieldError::invalid(name, "", detail));
        }
    }
    let note = event["note"].as_str().unwrap_or_else(|| text(event, "message"));
    if note.len() > 1024 {
        check.push(FieldError::invalid(
            "message",
            "",
            "can have at most 1024 characters",
        ));
    }
}

fn validate_new_event_fields(check: &mut Check, event: &Value, has_event_time: bool) {
    validate_series(check, &event["series"]);
    if !has_event_time {
        check.push(FieldError::required("eventTime", ""));
    }
    let ty = text(event, "type");
    if !["Normal", "Warning"].contains(&ty) {
        check.push(FieldError::invalid(
            "type",
            "",
            format!("has invalid value: {ty}"),
        ));
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
            check.push(FieldError::invalid(internal_name, "", "needs to be unset"));
        }
    }
}

fn validate_series(check: &mut Check, series: &Value) {
    if series.is_object() {
        if series["count"].as_i64().unwrap_or(0) < 2 {
            check.push(FieldError::invalid("series.count", "", "should be at least 2"));
        }
        check.require(&series["lastObservedTime"], "series.lastObservedTime");
    }
}

fn reject_immutable_fields(check: &mut Check, event: &Value, old: &Value) {
    if event["series"] != old["series"] {
        validate_series(check, &event["series"]);
    }
    for (name, field, ty) in IMMUTABLE_FIELDS {
        let value = &event[name];
        if *value == old[name] {
            continue;
        }
        let error = FieldError::invalid(field, text(event, name), "field is immutable");
        check.push(match ty {
            "string" => error,
            ty => {
                let shown = check.format_internal(value, name, ty);
                error.showing(shown)
            }
        });
    }
}

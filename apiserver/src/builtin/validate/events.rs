//! Events, in the form of the core group and in the newer one.

use super::{Check, names, text};
use crate::field::FieldError;
use serde_json::Value;

/// The newer group's fields that do not change: their names, the names by which the real server speaks of them, and its types. The
/// reason stands twice, as there.
const FIXED: [(&str, &str, &str); 14] = [
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

/// Who writes an event in the newer group must say more, and may change less.
pub(super) fn event(check: &mut Check, event: &Value, old: Option<&Value>) {
    let newer = event["apiVersion"] != "v1";
    let namespace = text(&event["metadata"], "namespace");
    let about = &event[if newer { "regarding" } else { "involvedObject" }];
    let place = text(about, "namespace");
    let is_new = !event["eventTime"].is_null();
    let fits = if place.is_empty() {
        namespace.is_empty() || namespace == "default" || is_new && namespace == "kube-system"
    } else {
        is_new || place == namespace
    };
    if !fits {
        let detail = "does not match event.namespace";
        check.push(FieldError::invalid("involvedObject.namespace", place, detail));
    }
    if is_new {
        reported(
            check,
            event,
            if newer {
                "reportingController"
            } else {
                "reportingComponent"
            },
        );
    }
    match old {
        _ if !newer => {}
        None => strict(check, event, is_new),
        Some(old) => fixed(check, event, old),
    }
}

fn reported(check: &mut Check, event: &Value, reporter: &str) {
    let controller = text(event, reporter);
    check.required(&Value::from(controller), reporter);
    check.messages(reporter, controller, &names::qualified(controller));
    for (name, longest) in [("reportingInstance", 128), ("action", 128), ("reason", 128)] {
        if check.required(&Value::from(text(event, name)), name) && text(event, name).len() > longest {
            let detail = format!("can have at most {longest} characters");
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

fn strict(check: &mut Check, event: &Value, is_new: bool) {
    series(check, &event["series"]);
    if !is_new {
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
    for (name, shown) in [
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
            check.push(FieldError::invalid(shown, "", "needs to be unset"));
        }
    }
}

fn series(check: &mut Check, series: &Value) {
    if series.is_object() {
        if series["count"].as_i64().unwrap_or(0) < 2 {
            check.push(FieldError::invalid("series.count", "", "should be at least 2"));
        }
        check.required(&series["lastObservedTime"], "series.lastObservedTime");
    }
}

fn fixed(check: &mut Check, event: &Value, old: &Value) {
    if event["series"] != old["series"] {
        series(check, &event["series"]);
    }
    for (name, field, ty) in FIXED {
        let value = &event[name];
        if *value == old[name] {
            continue;
        }
        let fault = FieldError::invalid(field, text(event, name), "field is immutable");
        check.push(match ty {
            "string" => fault,
            ty => {
                let shown = check.shown(value, name, ty);
                fault.showing(shown)
            }
        });
    }
}

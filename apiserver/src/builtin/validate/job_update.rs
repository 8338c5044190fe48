//! What of a job may change: little, and of its pods what says where they run and what they use, while it is suspended.

use super::Check;
use crate::field::FieldError;
use serde_json::{Map, Value, json};

const CHANGED: &str = "field is immutable";
/// Fields that never change, with the real server's types of those that it shows as its own.
const FIXED: [(&str, Option<&str>); 6] = [
    ("selector", None),
    ("completionMode", None),
    ("podFailurePolicy", Some("*batch.PodFailurePolicy")),
    ("backoffLimitPerIndex", None),
    ("managedBy", None),
    ("successPolicy", Some("*batch.SuccessPolicy")),
];

pub(super) fn update(check: &mut Check, job: &Value, old: &Value) {
    let (new, before) = (&job["spec"], &old["spec"]);
    let path = "spec.completions";
    if new["completions"] != before["completions"] {
        let completions = new["completions"].clone();
        if new["completionMode"] != "Indexed" {
            check.push(FieldError::invalid(path, completions, CHANGED));
        } else if !completions.is_null() && completions != new["parallelism"] {
            let detail = "can only be modified in tandem with spec.parallelism";
            check.push(FieldError::invalid(path, completions, detail));
        }
    }
    for (name, ty) in FIXED {
        if new[name] != before[name] {
            changed(check, &new[name], &format!("spec.{name}"), ty);
        }
    }
    let template = &new["template"];
    if !pods_may_change(old) {
        if *template != before["template"] {
            changed(check, template, "spec.template", Some("core.PodTemplateSpec"));
        }
    } else if template["spec"] != munged(&before["template"]["spec"], &template["spec"]) {
        changed(
            check,
            &template["spec"],
            "spec.template.spec",
            Some("core.PodSpec"),
        );
    }
}

fn changed(check: &mut Check, value: &Value, path: &str, ty: Option<&str>) {
    let mut error = FieldError::invalid(path, value.clone(), CHANGED);
    if let Some(ty) = ty {
        error = error.showing(check.shown(value, path, ty));
    }
    check.push(error);
}

/// Nothing of it runs, nor will before somebody says so.
fn pods_may_change(job: &Value) -> bool {
    let status = &job["status"];
    let conditions = status["conditions"].as_array().into_iter().flatten();
    let is_suspended = conditions
        .filter(|condition| condition["status"] == "True")
        .any(|condition| condition["type"] == "Suspended");
    job["spec"]["suspend"] == true
        && (status["startTime"].is_null() || is_suspended)
        && status["active"].as_i64().unwrap_or_default() == 0
}

/// The old pods with what may change as the new ones have it.
fn munged(old: &Value, new: &Value) -> Value {
    let mut munged = old.clone();
    let Some(fields) = munged.as_object_mut() else {
        return munged;
    };
    for name in ["nodeSelector", "tolerations", "schedulingGates"] {
        put(fields, name, &new[name]);
    }
    let mut affinity = old["affinity"].as_object().cloned().unwrap_or_default();
    put(&mut affinity, "nodeAffinity", &new["affinity"]["nodeAffinity"]);
    let affinity = if affinity.is_empty() && new["affinity"].is_null() {
        Value::Null
    } else {
        json!(affinity)
    };
    put(fields, "affinity", &affinity);
    for list in ["containers", "initContainers"] {
        let news = new[list].as_array().map(Vec::as_slice).unwrap_or_default();
        let olds = fields.get_mut(list).and_then(Value::as_array_mut);
        let olds = olds.map(Vec::as_mut_slice).unwrap_or_default();
        if news.len() != olds.len() {
            continue;
        }
        for (old, new) in olds.iter_mut().zip(news) {
            if old["name"] == new["name"]
                && let Some(old) = old.as_object_mut()
            {
                put(old, "resources", &new["resources"]);
            }
        }
    }
    munged
}

fn put(fields: &mut Map<String, Value>, name: &str, value: &Value) {
    if value.is_null() {
        fields.remove(name);
    } else {
        fields.insert(name.to_owned(), value.clone());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(status: &Value, change: impl Fn(&mut Value)) -> Vec<String> {
        let pods =
            json!({ "containers": [{ "name": "c", "image": "i" }], "affinity": { "podAffinity": {} } });
        let old = json!({ "spec": { "suspend": true, "template": { "spec": pods } }, "status": status });
        let mut job = old.clone();
        change(&mut job["spec"]["template"]["spec"]);
        let mut check = Check::default();
        update(&mut check, &job, &old);
        check.errors.iter().map(|error| error.field.clone()).collect()
    }

    #[test]
    fn pods_of_a_suspended_job_may_run_elsewhere_with_more() {
        let directed = |pods: &mut Value| {
            pods["nodeSelector"] = json!({ "a": "b" });
            pods["affinity"]["nodeAffinity"] = json!({});
            pods["containers"][0]["resources"] = json!({ "limits": { "cpu": "1" } });
        };
        assert_eq!(told(&json!({}), directed), [""; 0]);
        assert_eq!(told(&json!({ "active": 1 }), directed), ["spec.template"]);
        let started = json!({ "startTime": "2026-01-01T00:00:00Z" });
        assert_eq!(told(&started, directed), ["spec.template"]);
        let renamed = |pods: &mut Value| pods["containers"][0]["image"] = json!("j");
        assert_eq!(told(&json!({}), renamed), ["spec.template.spec"]);
    }
}

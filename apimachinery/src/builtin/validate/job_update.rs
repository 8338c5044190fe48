//! Validation of job updates: most of the spec is immutable. While a job is suspended, scheduling directives and resources of its pod
//! template may change.

use super::{Check, Constraint, FieldRule, array, pod_update, set_or_remove};
use crate::meta;
use serde_json::Value;

const IMMUTABLE: &str = "field is immutable";
const IMMUTABLE_FIELDS: &[FieldRule] = &[
    ("selector", Constraint::Immutable),
    ("completionMode", Constraint::Immutable),
    ("podFailurePolicy", Constraint::Immutable),
    ("backoffLimitPerIndex", Constraint::Immutable),
    ("managedBy", Constraint::Immutable),
    ("successPolicy", Constraint::Immutable),
];

pub(super) fn validate_update(check: &mut Check, job: &Value, old: &Value) {
    let (new, before) = (&job["spec"], &old["spec"]);
    let path = "spec.completions";
    if new["completions"] != before["completions"] {
        let completions = new["completions"].clone();
        if new["completionMode"] != "Indexed" {
            check.invalid(path, completions, IMMUTABLE);
        } else if !completions.is_null() && completions != new["parallelism"] {
            let detail = "can only be modified in tandem with spec.parallelism";
            check.invalid(path, completions, detail);
        }
    }
    check.apply(IMMUTABLE_FIELDS, new, Some(before), "spec");
    let template = &new["template"];
    if !is_template_mutable(old) {
        if *template != before["template"] {
            check.invalid("spec.template", template.clone(), IMMUTABLE);
        }
    } else if template["spec"] != with_mutable_fields(&before["template"]["spec"], &template["spec"]) {
        let value = template["spec"].clone();
        check.invalid("spec.template.spec", value, IMMUTABLE);
    }
}

/// Whether the pod template is mutable: the job is suspended and no pod runs.
fn is_template_mutable(job: &Value) -> bool {
    let status = &job["status"];
    job["spec"]["suspend"] == true
        && (status["startTime"].is_null() || meta::has_condition(job, "Suspended"))
        && status["active"].as_i64().unwrap_or_default() == 0
}

/// Returns the old pod spec with the mutable fields of the new one.
fn with_mutable_fields(old: &Value, new: &Value) -> Value {
    let mut munged = old.clone();
    let Some(fields) = munged.as_object_mut() else {
        return munged;
    };
    for name in ["nodeSelector", "tolerations", "schedulingGates"] {
        set_or_remove(fields, name, &new[name]);
    }
    pod_update::copy_node_affinity(fields, new);
    for list in ["containers", "initContainers"] {
        let new_containers = array(&new[list]);
        let old_containers = fields.get_mut(list).and_then(Value::as_array_mut);
        let old_containers = old_containers.map(Vec::as_mut_slice).unwrap_or_default();
        if new_containers.len() != old_containers.len() {
            continue;
        }
        for (old, new) in old_containers.iter_mut().zip(new_containers) {
            if old["name"] == new["name"]
                && let Some(old) = old.as_object_mut()
            {
                set_or_remove(old, "resources", &new["resources"]);
            }
        }
    }
    munged
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn changed_fields(status: &Value, change: impl Fn(&mut Value)) -> Vec<String> {
        let pods =
            json!({ "containers": [{ "name": "c", "image": "i" }], "affinity": { "podAffinity": {} } });
        let old = json!({ "spec": { "suspend": true, "template": { "spec": pods } }, "status": status });
        let mut job = old.clone();
        change(&mut job["spec"]["template"]["spec"]);
        let mut check = Check::default();
        validate_update(&mut check, &job, &old);
        check.errors.iter().map(|error| error.field.clone()).collect()
    }

    #[test]
    fn suspended_job_may_change_scheduling_and_resources() {
        let reschedule = |pods: &mut Value| {
            pods["nodeSelector"] = json!({ "a": "b" });
            pods["affinity"]["nodeAffinity"] = json!({});
            pods["containers"][0]["resources"] = json!({ "limits": { "cpu": "1" } });
        };
        assert_eq!(changed_fields(&json!({}), reschedule), [""; 0]);
        assert_eq!(
            changed_fields(&json!({ "active": 1 }), reschedule),
            ["spec.template"]
        );
        let started = json!({ "startTime": "2026-01-01T00:00:00Z" });
        assert_eq!(changed_fields(&started, reschedule), ["spec.template"]);
        let change_image = |pods: &mut Value| pods["containers"][0]["image"] = json!("j");
        assert_eq!(changed_fields(&json!({}), change_image), ["spec.template.spec"]);
    }
}

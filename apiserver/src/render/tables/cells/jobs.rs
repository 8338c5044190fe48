//! The cells of Jobs and CronJobs.

use super::workloads::containers;
use super::{NONE, UNSET, age, age_of, age_since, has_condition, list, name, number, selector_or_none};
use jiff::Timestamp;
use serde_json::{Value, json};

pub(super) fn cells(kind: &str, object: &Value) -> Option<Vec<Value>> {
    let (spec, status, age) = (&object["spec"], &object["status"], age_of(object));
    let template = &spec["template"];
    let mut cells = vec![name(object).clone()];
    match kind {
        "Job" => {
            cells.extend([
                json!(job_status(object)),
                json!(completions(spec, status)),
                json!(job_duration(status)),
                json!(age),
            ]);
            cells.extend(containers(template));
            cells.push(json!(selector_or_none(&spec["selector"])));
        }
        "CronJob" => {
            let suspend = spec["suspend"]
                .as_bool()
                .map_or(UNSET, |set| if set { "True" } else { "False" });
            let last = match &status["lastScheduleTime"] {
                Value::Null => NONE.to_owned(),
                time => age_since(time),
            };
            cells.extend([
                spec["schedule"].clone(),
                json!(spec["timeZone"].as_str().unwrap_or(NONE)),
                json!(suspend),
                json!(list(status, "active").len()),
                json!(last),
                json!(age),
            ]);
            let job = &spec["jobTemplate"]["spec"];
            cells.extend(containers(&job["template"]));
            cells.push(json!(selector_or_none(&job["selector"])));
        }
        _ => return None,
    }
    Some(cells)
}

fn job_status(job: &Value) -> &'static str {
    let has_condition = |ty: &str| has_condition(job, ty);
    match () {
        () if has_condition("Complete") => "Complete",
        () if has_condition("Failed") => "Failed",
        () if !job["metadata"]["deletionTimestamp"].is_null() => "Terminating",
        () if has_condition("Suspended") => "Suspended",
        () if has_condition("FailureTarget") => "FailureTarget",
        () if has_condition("SuccessCriteriaMet") => "SuccessCriteriaMet",
        () => "Running",
    }
}

fn completions(spec: &Value, status: &Value) -> String {
    match (spec["completions"].as_i64(), number(&spec["parallelism"])) {
        (Some(condition_type), _) => format!("{}/{condition_type}", number(&status["succeeded"])),
        (None, parallelism @ 2..) => format!("{}/1 of {parallelism}", number(&status["succeeded"])),
        (None, _) => format!("{}/1", number(&status["succeeded"])),
    }
}

/// Returns how long a job has been running, or ran.
fn job_duration(status: &Value) -> String {
    match (status["startTime"].as_str(), status["completionTime"].as_str()) {
        (None, _) => String::new(),
        (Some(start), None) => age::since(start),
        (Some(start), Some(end)) => match (start.parse::<Timestamp>(), end.parse::<Timestamp>()) {
            (Ok(start), Ok(end)) => age::human_duration(end.as_second() - start.as_second()),
            _ => String::new(),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jobs_show_status_completions_and_duration() {
        let job = json!({
            "metadata": { "name": "j" }, "spec": { "parallelism": 3 },
            "status": {
                "succeeded": 1, "startTime": "2026-01-01T00:00:00Z", "completionTime": "2026-01-01T00:03:00Z",
                "conditions": [{ "type": "Complete", "status": "True" }],
            },
        });
        let cells = cells("Job", &job).unwrap();
        assert_eq!(cells[1..4], [json!("Complete"), json!("1/1 of 3"), json!("3m")]);
    }
}

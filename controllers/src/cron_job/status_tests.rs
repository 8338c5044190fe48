use serde_json::{Value, json};

use super::*;

/// A Job of a minute: the condition with which it has finished, the minutes of its start and completion.
fn job(name: &str, condition: Option<&str>, started: Option<u32>, completed: Option<u32>) -> Arc<Job> {
    let time = |minute: Option<u32>| minute.map(|minute| format!("2026-01-01T00:{minute:02}:00Z"));
    let conditions: Vec<Value> = condition
        .map(|kind| json!({"type": kind, "status": "True"}))
        .into_iter()
        .collect();
    let status =
        json!({"conditions": conditions, "startTime": time(started), "completionTime": time(completed)});
    let job = json!({"metadata": {"name": name, "namespace": "shop", "uid": name}, "status": status});
    Arc::new(serde_json::from_value(job).unwrap())
}

fn cron_job(active: &[&str], limits: (Option<i32>, Option<i32>)) -> CronJob {
    let active: Vec<_> = active
        .iter()
        .map(|name| json!({"name": name, "namespace": "shop", "uid": name}))
        .collect();
    serde_json::from_value(json!({
        "metadata": {"name": "c", "namespace": "shop", "uid": "c"},
        "spec": {"schedule": "", "jobTemplate": {}, "successfulJobsHistoryLimit": limits.0, "failedJobsHistoryLimit": limits.1},
        "status": {"active": active},
    }))
    .unwrap()
}

fn names(references: &[ObjectReference]) -> Vec<&str> {
    references
        .iter()
        .map(|job| job.name.as_deref().unwrap())
        .collect()
}

#[test]
fn finished_jobs_leave_the_list_with_an_event() {
    let mut cron_job = cron_job(&["running", "done", "gone"], (None, None));
    let jobs = [
        job("running", None, Some(1), None),
        job("done", Some("Failed"), Some(1), None),
        job("forgotten", None, Some(1), None),
        job("old", Some("Failed"), Some(0), None),
    ];
    let mut notes = Vec::new();
    let settled = settle(&mut cron_job, &jobs, &mut notes);
    assert!(settled.has_changed);
    assert_eq!(settled.unexpected, ["forgotten"]);
    assert_eq!(names(&settled.missing), ["gone"]);
    assert_eq!(names(active(&cron_job)), ["running", "gone"]);
    assert_eq!(
        notes,
        [Note::normal(
            "SawCompletedJob",
            "Saw completed job: done, condition: Failed"
        )]
    );
    notes.clear();
    let again = settle(&mut cron_job, &jobs, &mut notes);
    assert!(!again.has_changed && notes.is_empty());
}

#[test]
fn last_successful_time_is_the_latest_completion() {
    let mut cron_job = cron_job(&[], (None, None));
    let jobs = [
        job("second", Some("Complete"), Some(2), Some(20)),
        job("first", Some("Complete"), Some(1), Some(10)),
        job("failed", Some("Failed"), Some(3), Some(30)),
        job("without", Some("Complete"), Some(3), None),
    ];
    assert!(settle(&mut cron_job, &jobs, &mut Vec::new()).has_changed);
    let last = cron_job
        .status
        .as_ref()
        .unwrap()
        .last_successful_time
        .clone()
        .unwrap();
    assert_eq!(last.0.to_string(), "2026-01-01T00:20:00Z");
    assert!(!settle(&mut cron_job, &jobs, &mut Vec::new()).has_changed);
}

#[test]
fn history_beyond_the_limits_is_surplus_oldest_first() {
    let jobs = [
        job("c3", Some("Complete"), Some(3), None),
        job("c1", Some("Complete"), Some(1), None),
        job("never", Some("Complete"), None, None),
        job("f2", Some("Failed"), Some(2), None),
        job("f1", Some("Failed"), Some(2), None),
        job("running", None, Some(0), None),
    ];
    for (limits, expected) in [
        ((None, None), vec![]),
        ((Some(3), Some(2)), vec![]),
        ((Some(2), Some(1)), vec!["c1", "f1"]),
        ((Some(1), None), vec!["c1", "c3"]),
        ((Some(0), Some(0)), vec!["c1", "c3", "never", "f1", "f2"]),
        ((Some(-1), None), vec![]),
    ] {
        let surplus = surplus_history(&cron_job(&[], limits), &jobs);
        let surplus: Vec<_> = surplus
            .iter()
            .map(|job| job.metadata.name.as_deref().unwrap())
            .collect();
        assert_eq!(surplus, expected, "{limits:?}");
    }
}

use serde_json::{Value, from_value, json};

use super::*;

/// An hourly CronJob, created at half past midnight, with further fields of its spec.
fn cron_job(spec: Value) -> CronJob {
    let mut object = json!({
        "apiVersion": "batch.tutorial.kubebuilder.io/v1", "kind": "CronJob",
        "metadata": {"name": "report", "namespace": "default", "creationTimestamp": "2026-05-01T00:30:00Z"},
        "spec": {"schedule": "0 * * * *", "jobTemplate": {}},
    });
    let Value::Object(fields) = spec else {
        panic!("an object")
    };
    object["spec"].as_object_mut().unwrap().extend(fields);
    from_value(object).unwrap()
}

/// The Job of an hour; `condition` is its finished condition, if any.
fn job(hour: u32, condition: Option<&str>) -> Arc<Job> {
    let conditions: Vec<_> = condition
        .map(|type_| json!({"type": type_, "status": "True"}))
        .into_iter()
        .collect();
    let metadata = json!({"name": hour.to_string(), "annotations": {SCHEDULED_AT: time(hour, 0)}});
    let job: Job = from_value(json!({"metadata": metadata, "status": {"conditions": conditions}})).unwrap();
    Arc::new(job)
}

fn time(hour: u32, minute: u32) -> Timestamp {
    format!("2026-05-01T{hour:02}:{minute:02}:00Z").parse().unwrap()
}

fn names(jobs: &[Arc<Job>]) -> Vec<&str> {
    jobs.iter()
        .map(|job| job.metadata.name.as_deref().unwrap())
        .collect()
}

fn planned(spec: Value, jobs: Vec<Arc<Job>>, now: Timestamp) -> Plan {
    let cron_job = cron_job(spec);
    let schedule = Schedule::parse(&cron_job.spec.schedule).unwrap();
    plan(&cron_job, &schedule, jobs, now)
}

fn run(hour: u32, replaced: Vec<Arc<Job>>) -> Step {
    Step::Run {
        scheduled_at: time(hour, 0),
        replaced,
    }
}

// ANCHOR: table
#[test]
fn step_follows_schedule_deadline_and_concurrency_policy() {
    let active = || job(1, None);
    let complete = || job(1, Some("Complete"));
    let deadline = || json!({"startingDeadlineSeconds": 120});
    let policy = |name: &str| json!({"concurrencyPolicy": name});
    // What the case is about; the spec; the Jobs; the time; the step; the hour of the next run.
    #[rustfmt::skip]
    let cases = [
        ("before the first run", json!({}), vec![], time(0, 59), Step::Wait, Some(1)),
        ("at the first run", json!({}), vec![], time(1, 0), run(1, vec![]), Some(2)),
        ("a missed run is made up for", json!({}), vec![], time(1, 40), run(1, vec![]), Some(2)),
        ("of several missed runs the last", json!({}), vec![], time(5, 10), run(5, vec![]), Some(6)),
        ("the run has its Job", json!({}), vec![complete()], time(1, 40), Step::Wait, Some(2)),
        ("suspended", json!({"suspend": true}), vec![], time(1, 0), Step::Wait, None),
        ("within the deadline", deadline(), vec![], time(1, 1), run(1, vec![]), Some(2)),
        ("after the deadline", deadline(), vec![], time(1, 3), Step::Wait, Some(2)),
        ("Allow", policy("Allow"), vec![active()], time(2, 0), run(2, vec![]), Some(3)),
        ("Forbid", policy("Forbid"), vec![active()], time(2, 0), Step::Blocked, Some(3)),
        ("Forbid, none active", policy("Forbid"), vec![complete()], time(2, 0), run(2, vec![]), Some(3)),
        ("Replace", policy("Replace"), vec![active()], time(2, 0), run(2, vec![active()]), Some(3)),
    ];
    for (case, spec, jobs, now, step, next_run) in cases {
        let plan = planned(spec, jobs, now);
        assert_eq!(plan.step, step, "{case}");
        assert_eq!(plan.next_run, next_run.map(|hour| time(hour, 0)), "{case}");
    }
}
// ANCHOR_END: table

#[test]
fn history_limits_apply_to_the_oldest_of_each_phase() {
    let jobs = || {
        vec![
            job(5, None),
            job(4, Some("Complete")),
            job(1, Some("Complete")),
            job(2, Some("Failed")),
            job(3, Some("Complete")),
        ]
    };
    let limits = |successful: Value, failed: Value| json!({"successfulJobsHistoryLimit": successful, "failedJobsHistoryLimit": failed});
    let cases = [
        (limits(Value::Null, Value::Null), vec![]),
        (limits(json!(2), json!(1)), vec!["1"]),
        (limits(json!(1), json!(0)), vec!["1", "3", "2"]),
        (limits(json!(10), json!(10)), vec![]),
    ];
    for (spec, expired) in cases {
        let plan = planned(spec.clone(), jobs(), time(5, 30));
        assert_eq!(names(&plan.expired), expired, "{spec}");
        assert_eq!(names(&plan.active), ["5"], "{spec}");
        assert_eq!(plan.last_schedule_time, Some(time(5, 0)), "{spec}");
    }
}

#[test]
fn status_remembers_a_run_whose_job_was_deleted() {
    let mut cron_job = cron_job(json!({}));
    cron_job.status = from_value(json!({"lastScheduleTime": time(1, 0)})).unwrap();
    let schedule = Schedule::parse("0 * * * *").unwrap();
    let plan = plan(&cron_job, &schedule, vec![], time(1, 30));
    assert_eq!(plan.step, Step::Wait);
    assert_eq!(plan.last_schedule_time, Some(time(1, 0)));
}

#[test]
fn phase_is_that_of_the_true_condition() {
    let conditions = json!([
        {"type": "Complete", "status": "False"}, {"type": "Suspended", "status": "True"}, {"type": "Failed", "status": "True"},
    ]);
    let failed: Job = from_value(json!({"status": {"conditions": conditions}})).unwrap();
    assert_eq!(phase(&failed), Phase::Failed);
    assert_eq!(phase(&Job::default()), Phase::Active);
}

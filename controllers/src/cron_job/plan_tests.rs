use serde_json::{Value, json};

use super::*;

const NAME_AT_TEN: &str = "c-29454360";

/// An hourly CronJob that was created at nine; `change` is merged into its spec.
fn cron_job(change: &Value, status: &Value) -> CronJob {
    let mut spec = json!({"schedule": "0 * * * *", "jobTemplate": {}, "concurrencyPolicy": "Allow"});
    for (key, value) in change.as_object().unwrap() {
        spec[key] = value.clone();
    }
    serde_json::from_value(json!({
        "metadata": {"name": "c", "namespace": "shop", "creationTimestamp": "2026-01-01T09:00:00Z"}, "spec": spec, "status": status,
    }))
    .unwrap()
}

/// What is decided at this time of the day, and the reasons of the events.
fn decided(cron_job: &CronJob, time: &str) -> (String, Vec<&'static str>) {
    let mut notes = Vec::new();
    let now = format!("2026-01-01T{time}Z").parse().unwrap();
    let decision = match decide(cron_job, now, &TimeZone::UTC, &mut notes) {
        Decision::AwaitChange => "await a change".to_owned(),
        Decision::Wait(wait) => format!("wait {}", wait.as_secs()),
        Decision::Start { time, replaced, .. } => {
            format!("start {}, replace {}", time.strftime("%H:%M"), replaced.len())
        }
    };
    (decision, notes.iter().map(|note| note.reason).collect())
}

fn running(name: &str) -> Value {
    json!({"active": [{"name": name, "namespace": "shop", "uid": "1"}]})
}

#[test]
fn job_starts_when_its_time_has_come() {
    let hourly = cron_job(&json!({}), &json!({}));
    for (time, expected) in [
        ("09:30:00", "wait 1800"),
        ("10:00:00", "start 10:00, replace 0"),
        ("10:59:59", "start 10:00, replace 0"),
        ("11:00:00", "start 11:00, replace 0"),
    ] {
        assert_eq!(decided(&hourly, time), (expected.to_owned(), vec![]), "{time}");
    }
    let started = cron_job(&json!({}), &json!({"lastScheduleTime": "2026-01-01T10:00:00Z"}));
    assert_eq!(decided(&started, "10:00:01"), ("wait 3599".to_owned(), vec![]));
    let by_name = cron_job(&json!({}), &running(NAME_AT_TEN));
    assert_eq!(decided(&by_name, "10:00:01").0, "wait 3599");
}

#[test]
fn concurrency_policy_decides_what_a_running_job_means() {
    let status = running("c-1");
    for (policy, expected, reasons) in [
        ("Allow", "start 10:00, replace 0", vec![]),
        ("Forbid", "wait 3600", vec!["JobAlreadyActive"]),
        ("Replace", "start 10:00, replace 1", vec![]),
    ] {
        let cron_job = cron_job(&json!({"concurrencyPolicy": policy}), &status);
        assert_eq!(
            decided(&cron_job, "10:00:00"),
            (expected.to_owned(), reasons),
            "{policy}"
        );
    }
}

#[test]
fn starting_deadline_makes_late_times_missed() {
    let cron_job = cron_job(&json!({"startingDeadlineSeconds": 60}), &json!({}));
    assert_eq!(decided(&cron_job, "10:00:59").0, "start 10:00, replace 0");
    assert_eq!(decided(&cron_job, "10:01:00"), ("wait 3540".to_owned(), vec![]));
}

#[test]
fn what_cannot_be_scheduled_awaits_a_change() {
    for (change, reasons) in [
        (json!({"suspend": true}), vec![]),
        (json!({"timeZone": "Mars/Olympus"}), vec!["UnknownTimeZone"]),
        (json!({"schedule": "often"}), vec!["UnparseableSchedule"]),
        (json!({"schedule": "59 23 31 2 *"}), vec!["InvalidSchedule"]),
        (
            json!({"schedule": "TZ=Mars/Olympus 0 * * * *"}),
            vec!["UnsupportedSchedule", "UnparseableSchedule"],
        ),
    ] {
        let cron_job = cron_job(&change, &json!({}));
        assert_eq!(
            decided(&cron_job, "10:00:00"),
            ("await a change".to_owned(), reasons),
            "{change}"
        );
    }
    let mut deleted = cron_job(&json!({}), &json!({}));
    deleted.metadata.deletion_timestamp = deleted.metadata.creation_timestamp.clone();
    assert_eq!(decided(&deleted, "10:00:00").0, "await a change");
}

#[test]
fn time_zone_shifts_the_schedule() {
    let cron_job = cron_job(
        &json!({"schedule": "0 12 * * *", "timeZone": "Europe/Berlin"}),
        &json!({}),
    );
    assert_eq!(decided(&cron_job, "10:30:00").0, "wait 1800");
    assert_eq!(decided(&cron_job, "11:00:00").0, "start 11:00, replace 0");
}

#[test]
fn many_missed_times_are_reported_and_the_latest_starts() {
    let cron_job = cron_job(&json!({"schedule": "* * * * *"}), &json!({}));
    let (decision, reasons) = decided(&cron_job, "12:00:30");
    assert_eq!(
        (&*decision, reasons),
        ("start 12:00, replace 0", vec!["TooManyMissedTimes"])
    );
}

#[test]
fn schedule_without_a_zone_is_in_the_local_one_and_its_annotation_in_utc() {
    let created = |zone: Value| cron_job(&json!({"schedule": "0 11 * * *", "timeZone": zone}), &json!({}));
    let berlin = TimeZone::get("Europe/Berlin").unwrap();
    let started = |cron_job: &CronJob, local: &TimeZone| {
        let now = "2026-01-01T10:30:00Z".parse().unwrap();
        match decide(cron_job, now, local, &mut Vec::new()) {
            Decision::Start { time, zone, .. } => Some((time.to_string(), zone)),
            _ => None,
        }
    };
    let at_ten = "2026-01-01T10:00:00Z".to_owned();
    assert_eq!(started(&created(Value::Null), &TimeZone::UTC), None);
    assert_eq!(
        started(&created(Value::Null), &berlin),
        Some((at_ten.clone(), TimeZone::UTC))
    );
    let zoned = created(json!("Europe/Berlin"));
    assert_eq!(started(&zoned, &TimeZone::UTC), Some((at_ten, berlin)));
}

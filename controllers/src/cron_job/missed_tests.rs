use jiff::tz::TimeZone;
use serde_json::json;

use super::*;

fn cron_job(created: &str, last: Option<&str>, deadline: Option<i64>) -> CronJob {
    serde_json::from_value(json!({
        "metadata": {"name": "c", "creationTimestamp": created},
        "spec": {"schedule": "", "startingDeadlineSeconds": deadline, "jobTemplate": {}},
        "status": {"lastScheduleTime": last},
    }))
    .unwrap()
}

fn schedule(text: &str) -> Schedule {
    Schedule::parse(text, &TimeZone::UTC).unwrap()
}

fn time(text: &str) -> Timestamp {
    text.parse().unwrap()
}

const NINE: &str = "2026-01-01T09:00:00Z";

#[test]
fn latest_time_that_has_come_is_due() {
    for (created, last, deadline, now, latest, missed) in [
        (NINE, None, None, "2026-01-01T09:30:00Z", None, Missed::None),
        (
            NINE,
            None,
            None,
            "2026-01-01T10:00:00Z",
            Some("2026-01-01T10:00:00Z"),
            Missed::None,
        ),
        (
            NINE,
            None,
            None,
            "2026-01-01T10:30:00Z",
            Some("2026-01-01T10:00:00Z"),
            Missed::None,
        ),
        (
            NINE,
            None,
            None,
            "2026-01-01T12:30:00Z",
            Some("2026-01-01T12:00:00Z"),
            Missed::Few,
        ),
        (
            NINE,
            Some("2026-01-01T10:00:00Z"),
            None,
            "2026-01-01T10:30:00Z",
            None,
            Missed::None,
        ),
        (
            NINE,
            Some("2026-01-01T10:00:00Z"),
            None,
            "2026-01-01T11:00:01Z",
            Some("2026-01-01T11:00:00Z"),
            Missed::None,
        ),
        (
            NINE,
            None,
            None,
            "2026-01-09T10:30:00Z",
            Some("2026-01-09T10:00:00Z"),
            Missed::Many,
        ),
        // The deadline shortens what counts.
        (
            NINE,
            None,
            Some(3600),
            "2026-01-09T10:30:00Z",
            Some("2026-01-09T10:00:00Z"),
            Missed::None,
        ),
        (NINE, None, Some(60), "2026-01-09T10:30:00Z", None, Missed::None),
    ] {
        let found = due(
            &cron_job(created, last, deadline),
            &schedule("0 * * * *"),
            time(now),
            true,
        )
        .unwrap();
        assert_eq!(
            (found.latest, found.missed),
            (latest.map(time), missed),
            "{last:?} {deadline:?} {now}"
        );
    }
}

#[test]
fn irregular_schedules_are_searched_to_the_end() {
    // Friday's last time was missed, it is Monday morning.
    let cron_job = cron_job("2026-01-01T00:00:00Z", Some("2026-01-02T10:30:00Z"), None);
    let found = due(
        &cron_job,
        &schedule("30 6-16/4 * * 1-5"),
        time("2026-01-05T06:31:00Z"),
        true,
    )
    .unwrap();
    assert_eq!(found.latest, Some(time("2026-01-05T06:30:00Z")));
}

#[test]
fn schedule_without_times_is_an_error_and_has_no_next_time() {
    let never = schedule("59 23 31 2 *");
    let cron_job = cron_job(NINE, None, None);
    assert_eq!(
        due(&cron_job, &never, time("2026-03-01T00:00:00Z"), true),
        Err(NoTimes)
    );
    assert_eq!(until_next(&cron_job, &never, time("2026-03-01T00:00:00Z")), None);
}

#[test]
fn next_look_is_a_little_after_the_next_time() {
    let hourly = schedule("0 * * * *");
    for (last, now, seconds) in [
        (None, "2026-01-01T09:30:00Z", 1800),
        (None, "2026-01-01T12:30:00Z", 1800),
        (Some("2026-01-01T10:00:00Z"), "2026-01-01T10:00:00Z", 3600),
        (Some("2026-01-01T10:00:00Z"), "2026-01-09T10:15:00Z", 2700),
    ] {
        let wait = until_next(&cron_job(NINE, last, Some(10)), &hourly, time(now));
        assert_eq!(
            wait,
            Some(Duration::from_secs(seconds) + NEXT_SCHEDULE_DELTA),
            "{last:?} {now}"
        );
    }
}

#[test]
fn clocks_that_jump_cost_no_endless_search() {
    let found = due(
        &cron_job("1970-01-01T00:00:00Z", None, None),
        &schedule("* * * * *"),
        time(NINE),
        true,
    )
    .unwrap();
    assert_eq!((found.latest, found.missed), (Some(time(NINE)), Missed::Many));
    let future = due(
        &cron_job("2100-01-01T00:00:00Z", None, None),
        &schedule("* * * * *"),
        time(NINE),
        true,
    )
    .unwrap();
    assert_eq!(future.latest, None);
}

use super::*;

fn next(schedule: &str, zone: &str, after: &str) -> Option<String> {
    let zone = TimeZone::get(zone).unwrap();
    let schedule = Schedule::parse(schedule, &zone).unwrap();
    let next = schedule.next(after.parse().unwrap())?;
    Some(
        next.to_zoned(schedule.zone)
            .strftime("%Y-%m-%dT%H:%M:%S%:z")
            .to_string(),
    )
}

#[test]
fn next_time_is_the_first_that_matches_all_fields() {
    for (schedule, after, expected) in [
        ("* * * * *", "2026-01-01T00:00:00Z", "2026-01-01T00:01:00+00:00"),
        ("* * * * *", "2026-01-01T00:00:59.9Z", "2026-01-01T00:01:00+00:00"),
        (
            "0/15 * * * *",
            "2026-01-01T00:46:00Z",
            "2026-01-01T01:00:00+00:00",
        ),
        (
            "20-35/15 * * * *",
            "2026-01-01T00:20:00Z",
            "2026-01-01T00:35:00+00:00",
        ),
        (
            "*/35 * * * *",
            "2026-01-01T00:35:00Z",
            "2026-01-01T01:00:00+00:00",
        ),
        (
            "59 23 31 12 *",
            "2026-01-01T00:00:00Z",
            "2026-12-31T23:59:00+00:00",
        ),
        ("0 0 29 2 *", "2026-01-01T00:00:00Z", "2028-02-29T00:00:00+00:00"),
        (
            "0 0 * feb Mon",
            "2026-01-01T00:00:00Z",
            "2026-02-02T00:00:00+00:00",
        ),
        (
            "30 6-16/4 * * 1-5",
            "2026-01-02T14:30:00Z",
            "2026-01-05T06:30:00+00:00",
        ),
        // Both days are restricted: either matches.
        (
            "0 0 15 * Fri",
            "2026-01-01T00:00:00Z",
            "2026-01-02T00:00:00+00:00",
        ),
        (
            "0 0 2,15 * Fri",
            "2026-01-10T00:00:00Z",
            "2026-01-15T00:00:00+00:00",
        ),
        // A step restricts.
        (
            "0 0 */2 * Sun",
            "2026-01-01T00:00:00Z",
            "2026-01-03T00:00:00+00:00",
        ),
        (
            "0 0 */5 apr,aug,oct Mon",
            "2012-07-09T00:00:00Z",
            "2012-08-01T00:00:00+00:00",
        ),
        (
            "0 0 */1 * Sun",
            "2026-01-01T00:00:00Z",
            "2026-01-04T00:00:00+00:00",
        ),
        (
            "0 0 5,* * Sun",
            "2026-01-01T00:00:00Z",
            "2026-01-04T00:00:00+00:00",
        ),
        // What upstream's parser accepts, too: empty parts, signs, an end after a star.
        (
            "0,,30 * * * *",
            "2026-01-01T00:00:00Z",
            "2026-01-01T00:30:00+00:00",
        ),
        ("+5, * * * *", "2026-01-01T00:00:00Z", "2026-01-01T00:05:00+00:00"),
        (
            "*-5/+20 * * * *",
            "2026-01-01T00:20:00Z",
            "2026-01-01T00:40:00+00:00",
        ),
        ("0 0 ? * ?", "2026-01-01T12:00:00Z", "2026-01-02T00:00:00+00:00"),
        ("@hourly", "2026-01-01T00:30:00Z", "2026-01-01T01:00:00+00:00"),
        ("@daily", "2026-01-01T00:30:00Z", "2026-01-02T00:00:00+00:00"),
        ("@weekly", "2026-01-01T00:30:00Z", "2026-01-04T00:00:00+00:00"),
        ("@monthly", "2026-01-01T00:30:00Z", "2026-02-01T00:00:00+00:00"),
        ("@annually", "2026-01-01T00:30:00Z", "2027-01-01T00:00:00+00:00"),
        (
            "@every 1h30m",
            "2026-01-01T00:00:01.5Z",
            "2026-01-01T01:30:01+00:00",
        ),
        ("@every 10ms", "2026-01-01T00:00:00Z", "2026-01-01T00:00:01+00:00"),
        ("@every -5s", "2026-01-01T00:00:00Z", "2026-01-01T00:00:01+00:00"),
    ] {
        assert_eq!(
            next(schedule, "UTC", after).as_deref(),
            Some(expected),
            "{schedule} after {after}"
        );
    }
}

#[test]
fn times_that_never_come_are_none() {
    for schedule in ["0 0 30 2 *", "59 23 31 2,4,6,9,11 *", ", * * * *"] {
        assert_eq!(next(schedule, "UTC", "2026-01-01T00:00:00Z"), None, "{schedule}");
    }
}

#[test]
fn daylight_saving_skips_and_repeats_local_times() {
    let york = "America/New_York";
    for (schedule, after, expected) in [
        // 2:30 does not exist on the eleventh of March 2012.
        (
            "30 2 11 3 *",
            "2012-03-11T00:00:00-05:00",
            "2013-03-11T02:30:00-04:00",
        ),
        (
            "0 * * * *",
            "2012-03-11T01:00:00-05:00",
            "2012-03-11T03:00:00-04:00",
        ),
        (
            "0 * * * *",
            "2012-11-04T01:00:00-04:00",
            "2012-11-04T01:00:00-05:00",
        ),
        (
            "30 1 4 11 *",
            "2012-11-04T00:00:00-04:00",
            "2012-11-04T01:30:00-04:00",
        ),
        (
            "30 1 4 11 *",
            "2012-11-04T01:45:00-04:00",
            "2012-11-04T01:30:00-05:00",
        ),
        (
            "0 0 * * *",
            "2012-11-04T00:00:00-04:00",
            "2012-11-05T00:00:00-05:00",
        ),
    ] {
        assert_eq!(
            next(schedule, york, after).as_deref(),
            Some(expected),
            "{schedule} after {after}"
        );
        let prefixed = format!("TZ={york} {schedule}");
        assert_eq!(
            next(&prefixed, "UTC", after).as_deref(),
            Some(expected),
            "{prefixed}"
        );
    }
    // A zone that is off by half an hour.
    assert_eq!(
        next("0 14 * * *", "Asia/Kolkata", "2026-01-01T00:00:00Z").as_deref(),
        Some("2026-01-01T14:00:00+05:30")
    );
    // Midnight does not exist there on that day.
    assert_eq!(
        next("0 0 * * *", "Asia/Beirut", "2023-03-25T12:00:00Z").as_deref(),
        Some("2023-03-27T00:00:00+03:00")
    );
}

#[test]
fn mistakes_are_named() {
    for (schedule, expected) in [
        ("* * * *", "expected exactly 5 fields, found 4: [* * * *]"),
        ("", "expected exactly 5 fields, found 0: []"),
        (
            "60 * * * *",
            "\"60\" in field minute is no value, range or step of 0 to 59",
        ),
        (
            "* * * * 7",
            "\"7\" in field day of week is no value, range or step of 0 to 6",
        ),
        (
            "* * 0 * *",
            "\"0\" in field day of month is no value, range or step of 1 to 31",
        ),
        (
            "5-1 * * * *",
            "\"5-1\" in field minute is no value, range or step of 0 to 59",
        ),
        (
            "*/0 * * * *",
            "\"*/0\" in field minute is no value, range or step of 0 to 59",
        ),
        (
            "-5 * * * *",
            "\"-5\" in field minute is no value, range or step of 0 to 59",
        ),
        (
            "* * * foo *",
            "\"foo\" in field month is no value, range or step of 1 to 12",
        ),
        ("@sometimes", "unrecognized descriptor: @sometimes"),
        ("@every soon", "unrecognized descriptor: @every soon"),
        ("TZ=Mars/Olympus * * * * *", "provided bad location Mars/Olympus"),
    ] {
        let error = Schedule::parse(schedule, &TimeZone::UTC).unwrap_err();
        assert_eq!(error.to_string(), expected);
    }
}

proptest::proptest! {
    /// The next time is the first minute that matches, found by trying each.
    #[test]
    fn next_time_is_found_by_trying_each_minute(
        start in 1_300_000_000_i64..2_000_000_000,
        minute in 0_u32..60, hour in proptest::option::of(0_u32..24), weekday in proptest::option::of(0_u32..7),
        zone in proptest::sample::select(vec!["UTC", "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu"]),
    ) {
        let text = |value: Option<u32>| value.map_or("*".to_owned(), |value| value.to_string());
        let schedule = format!("{minute} {} * * {}", text(hour), text(weekday));
        let zone = TimeZone::get(zone).unwrap();
        let parsed = Schedule::parse(&schedule, &zone).unwrap();
        let start = Timestamp::from_second(start).unwrap();
        let first = start.as_second().div_euclid(60) * 60 + 60;
        let matches = |second: &i64| {
            let local = Timestamp::from_second(*second).unwrap().to_zoned(zone.clone());
            let is = |wanted: Option<u32>, found: i8| wanted.is_none_or(|wanted| i64::from(wanted) == i64::from(found));
            is(Some(minute), local.minute()) && is(hour, local.hour()) && is(weekday, local.weekday().to_sunday_zero_offset())
        };
        let expected = (0..60 * 24 * 15).map(|minutes| first + minutes * 60).find(matches);
        proptest::prop_assert_eq!(parsed.next(start).map(Timestamp::as_second), expected);
    }
}

//! Schedules: the times at which a CronJob creates Jobs.

use std::{error::Error, fmt};

use cronexpr::{Crontab, FallbackTimezoneOption, ParseOptions};
use k8s_openapi::jiff::{SignedDuration, Timestamp};

/// A parsed schedule.
#[derive(Debug)]
pub struct Schedule(Crontab);

/// The schedule does not parse.
#[derive(Debug)]
pub struct ScheduleError(String);

// ANCHOR: schedule
impl Schedule {
    /// Parses five fields, and optionally a time zone.
    pub fn parse(text: &str) -> Result<Self, ScheduleError> {
        let mut options = ParseOptions::default();
        options.fallback_timezone_option = FallbackTimezoneOption::UTC;
        match cronexpr::parse_crontab_with(text, options) {
            Ok(crontab) => Ok(Self(crontab)),
            Err(error) => Err(ScheduleError(format!("schedule `{text}`: {error}"))),
        }
    }

    /// Returns the first time after `after`; none if the schedule never fires, as on 30 February.
    pub fn next(&self, after: Timestamp) -> Option<Timestamp> {
        self.0.find_next(after).ok().map(|time| time.timestamp())
    }

    /// Returns the last time in `after < time <= until`. Searches backwards in windows of doubled length, so that the cost does not grow with
    /// the number of missed times.
    pub fn latest(&self, after: Timestamp, until: Timestamp) -> Option<Timestamp> {
        let mut window = SignedDuration::from_mins(1);
        loop {
            let start = until.checked_sub(window).map_or(after, |start| start.max(after));
            let times = std::iter::successors(self.next(start), |time| self.next(*time));
            if let Some(latest) = times.take_while(|time| *time <= until).last() {
                return Some(latest);
            }
            if start <= after {
                return None;
            }
            window *= 2;
        }
    }
}
// ANCHOR_END: schedule

impl fmt::Display for ScheduleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Error for ScheduleError {}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(time: &str) -> Timestamp {
        time.parse().unwrap()
    }

    #[test]
    fn schedules_have_next_and_latest_times() {
        // The schedule; the last time up to noon of a Friday, and the first after it.
        let cases = [
            ("* * * * *", "2026-05-01T12:00:00Z", "2026-05-01T12:01:00Z"),
            ("*/15 * * * *", "2026-05-01T12:00:00Z", "2026-05-01T12:15:00Z"),
            ("30 9 * * MON-FRI", "2026-05-01T09:30:00Z", "2026-05-04T09:30:00Z"),
            ("0 0 1 * *", "2026-05-01T00:00:00Z", "2026-06-01T00:00:00Z"),
            ("0 0 29 2 *", "2024-02-29T00:00:00Z", "2028-02-29T00:00:00Z"),
            (
                "0 9 * * * Europe/Berlin",
                "2026-05-01T07:00:00Z",
                "2026-05-02T07:00:00Z",
            ),
        ];
        let (start, noon) = (at("2020-01-01T00:00:00Z"), at("2026-05-01T12:00:00Z"));
        for (text, latest, next) in cases {
            let schedule = Schedule::parse(text).unwrap();
            assert_eq!(schedule.latest(start, noon), Some(at(latest)), "{text}");
            assert_eq!(schedule.next(noon), Some(at(next)), "{text}");
        }
    }

    #[test]
    fn bounds_of_latest() {
        let hourly = Schedule::parse("0 * * * *").unwrap();
        let noon = at("2026-05-01T12:00:00Z");
        assert_eq!(
            hourly.latest(noon, at("2026-05-01T12:59:59Z")),
            None,
            "exclusive start"
        );
        assert_eq!(
            hourly.latest(at("2026-05-01T11:59:59Z"), noon),
            Some(noon),
            "inclusive end"
        );
        assert_eq!(
            hourly.latest(noon, at("2026-05-01T11:00:00Z")),
            None,
            "empty range"
        );
    }

    #[test]
    fn schedule_that_never_fires() {
        let never = Schedule::parse("0 0 30 2 *").unwrap();
        assert_eq!(never.next(at("2026-05-01T12:00:00Z")), None);
    }

    #[test]
    fn errors_quote_the_schedule() {
        for text in [
            "",
            "* * * *",
            "60 * * * *",
            "every day",
            "* * * * * Europe/Nowhere",
        ] {
            let error = Schedule::parse(text).unwrap_err().to_string();
            assert!(error.starts_with(&format!("schedule `{text}`: ")), "{error}");
        }
    }
}

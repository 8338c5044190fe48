//! Schedules: cron expressions of five fields, and the descriptors such as `@hourly` and `@every 1h30m`, as upstream parses them.
//!
//! A time matches if its local minute, hour, day and month do. So a local time that daylight saving skips is left out, and one that occurs
//! twice matches twice.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp, ToSpan as _, Unit, Zoned, tz::TimeZone};

use crate::go_duration;

/// After these years without a match there is none: 30 February.
const YEARS_TO_SEARCH: i16 = 5;

/// A schedule in a time zone.
#[derive(Clone, Debug)]
pub(super) struct Schedule {
    times: Times,
    zone: TimeZone,
}

#[derive(Clone, Debug)]
enum Times {
    Every(Duration),
    Fields(Fields),
}

/// Bits of the values that match.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Fields {
    minutes: u64,
    hours: u64,
    days: u64,
    months: u64,
    weekdays: u64,
    /// Whether both days are restricted, so that one of them has to match.
    either_day: bool,
}

/// A schedule that cannot be parsed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum InvalidSchedule {
    #[error("expected exactly 5 fields, found {count}: [{text}]")]
    FieldCount { count: usize, text: String },
    #[error("{text:?} in field {field} is no value, range or step of {first} to {last}")]
    Field {
        field: &'static str,
        text: String,
        first: u32,
        last: u32,
    },
    #[error("unrecognized descriptor: {0}")]
    Descriptor(String),
    #[error("provided bad location {0}")]
    Zone(String),
}

struct FieldKind {
    name: &'static str,
    first: u32,
    last: u32,
    names: &'static [&'static str],
}

const FIELDS: [FieldKind; 5] = [
    FieldKind {
        name: "minute",
        first: 0,
        last: 59,
        names: &[],
    },
    FieldKind {
        name: "hour",
        first: 0,
        last: 23,
        names: &[],
    },
    FieldKind {
        name: "day of month",
        first: 1,
        last: 31,
        names: &[],
    },
    FieldKind {
        name: "month",
        first: 1,
        last: 12,
        names: &[
            "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
        ],
    },
    FieldKind {
        name: "day of week",
        first: 0,
        last: 6,
        names: &["sun", "mon", "tue", "wed", "thu", "fri", "sat"],
    },
];

impl Schedule {
    /// Parses a schedule. A zone in the text (`TZ=Europe/Berlin 0 3 * * *`) precedes `zone`.
    pub(super) fn parse(text: &str, zone: &TimeZone) -> Result<Self, InvalidSchedule> {
        let text = text.trim();
        let prefixed = ["TZ=", "CRON_TZ="]
            .iter()
            .find_map(|prefix| text.strip_prefix(prefix));
        let (zone, text) = match prefixed {
            None => (zone.clone(), text),
            Some(prefixed) => {
                let (name, rest) = prefixed.split_once(' ').unwrap_or((prefixed, ""));
                let zone = TimeZone::get(name).map_err(|_| InvalidSchedule::Zone(name.to_owned()))?;
                (zone, rest.trim())
            }
        };
        let times = match text.strip_prefix('@') {
            Some(_) => descriptor(text)?,
            None => Times::Fields(Fields::parse(text)?),
        };
        Ok(Self { times, zone })
    }

    /// Returns the first time after `time`. None if there is none.
    pub(super) fn next(&self, time: Timestamp) -> Option<Timestamp> {
        match &self.times {
            Times::Every(period) => {
                let whole_second = Timestamp::from_second(time.as_second()).ok()?;
                whole_second
                    .checked_add(SignedDuration::try_from(*period).ok()?)
                    .ok()
            }
            Times::Fields(fields) => fields.next(time, &self.zone),
        }
    }
}

fn descriptor(text: &str) -> Result<Times, InvalidSchedule> {
    let unrecognized = || InvalidSchedule::Descriptor(text.to_owned());
    if let Some(period) = text.strip_prefix("@every ") {
        // At least a second, and whole ones.
        let period = match period.strip_prefix('-') {
            Some(negative) => go_duration::parse(negative).map(|_| Duration::ZERO),
            None => go_duration::parse(period),
        };
        let period = period.map_err(|_| unrecognized())?;
        return Ok(Times::Every(Duration::from_secs(period.as_secs().max(1))));
    }
    let fields = match text {
        "@yearly" | "@annually" => "0 0 1 1 *",
        "@monthly" => "0 0 1 * *",
        "@weekly" => "0 0 * * 0",
        "@daily" | "@midnight" => "0 0 * * *",
        "@hourly" => "0 * * * *",
        _ => return Err(unrecognized()),
    };
    Ok(Times::Fields(Fields::parse(fields)?))
}

impl Fields {
    fn parse(text: &str) -> Result<Self, InvalidSchedule> {
        let texts: Vec<_> = text.split_whitespace().collect();
        let [minutes, hours, days, months, weekdays] = texts[..] else {
            return Err(InvalidSchedule::FieldCount {
                count: texts.len(),
                text: texts.join(" "),
            });
        };
        let [minute, hour, day, month, weekday] = &FIELDS;
        Ok(Self {
            minutes: minute.parse(minutes)?,
            hours: hour.parse(hours)?,
            days: day.parse(days)?,
            months: month.parse(months)?,
            weekdays: weekday.parse(weekdays)?,
            either_day: !is_open(days) && !is_open(weekdays),
        })
    }

    fn next(&self, time: Timestamp, zone: &TimeZone) -> Option<Timestamp> {
        let minute = Timestamp::from_second(time.as_second().div_euclid(60) * 60 + 60).ok()?;
        let mut local = minute.to_zoned(zone.clone());
        let last_year = local.year().checked_add(YEARS_TO_SEARCH)?;
        while local.year() <= last_year {
            local = if !has(self.months, local.month()) {
                local
                    .first_of_month()
                    .ok()?
                    .checked_add(1.month())
                    .ok()?
                    .start_of_day()
                    .ok()?
            } else if !self.has_day(&local) {
                local.tomorrow().ok()?.start_of_day().ok()?
            } else if !has(self.hours, local.hour()) {
                // By the clock on the wall: a zone may be off by parts of an hour.
                local
                    .checked_add((60 - i64::from(local.minute())).minutes())
                    .ok()?
            } else if !has(self.minutes, local.minute()) {
                local.checked_add(1.minute()).ok()?
            } else {
                return Some(local.round(Unit::Minute).ok()?.timestamp());
            };
        }
        None
    }

    fn has_day(&self, local: &Zoned) -> bool {
        let day = has(self.days, local.day());
        let weekday = has(self.weekdays, local.weekday().to_sunday_zero_offset());
        if self.either_day {
            day || weekday
        } else {
            day && weekday
        }
    }
}

/// Whether a field does not restrict: it contains `*` or `?` without a step above 1. So `*/2` restricts.
fn is_open(field: &str) -> bool {
    field.split(',').any(|part| {
        let (range, step) = part.split_once('/').unwrap_or((part, "1"));
        range.starts_with(['*', '?']) && number(step) == Some(1)
    })
}

/// Parses a number, which may have a sign.
fn number(text: &str) -> Option<u32> {
    text.parse::<i64>().ok()?.try_into().ok()
}

fn has(bits: u64, value: i8) -> bool {
    u32::try_from(value).is_ok_and(|value| bits & (1 << value) != 0)
}

impl FieldKind {
    fn parse(&self, text: &str) -> Result<u64, InvalidSchedule> {
        let parts = text.split(',').filter(|part| !part.is_empty());
        let mut parts = parts.map(|part| self.part(part));
        let bits: Option<u64> = parts.try_fold(0, |bits, part| Some(bits | part?));
        bits.ok_or_else(|| InvalidSchedule::Field {
            field: self.name,
            text: text.to_owned(),
            first: self.first,
            last: self.last,
        })
    }

    /// `*`, `?`, `5`, `1-5`, each with a step: `*/10`, `1-30/2`, `5/15` (from 5 on). An end after `*` is ignored.
    fn part(&self, text: &str) -> Option<u64> {
        let (range, step) = match text.split_once('/') {
            Some((range, step)) => (range, Some(number(step).filter(|step| *step > 0)?)),
            None => (text, None),
        };
        let (first, last) = match range.split_once('-') {
            Some(("*" | "?", _)) => (self.first, self.last),
            Some((first, last)) => (self.value(first)?, self.value(last)?),
            None if range == "*" || range == "?" => (self.first, self.last),
            None => {
                let value = self.value(range)?;
                (value, if step.is_some() { self.last } else { value })
            }
        };
        if first < self.first || last > self.last || first > last {
            return None;
        }
        let step = usize::try_from(step.unwrap_or(1)).ok()?;
        Some(
            (first..=last)
                .step_by(step)
                .fold(0, |bits, value| bits | 1 << value),
        )
    }

    fn value(&self, text: &str) -> Option<u32> {
        let is_named = |name: &&str| name.eq_ignore_ascii_case(text);
        match self.names.iter().position(is_named) {
            Some(position) => Some(u32::try_from(position).ok()? + self.first),
            None => number(text),
        }
    }
}

#[cfg(test)]
#[path = "schedule_tests.rs"]
mod tests;

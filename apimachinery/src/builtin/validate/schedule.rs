//! Validation of cron schedules, with the error messages of the cron library.

use crate::duration;

/// A field of a schedule: its range, and the names of values.
struct CronField {
    min: u32,
    max: u32,
    names: &'static [&'static str],
}

const fn cron_field(min: u32, max: u32, names: &'static [&'static str]) -> CronField {
    CronField { min, max, names }
}

const MONTHS: &[&str] = &[
    "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
];
const CRON_FIELDS: [CronField; 5] = [
    cron_field(0, 59, &[]),
    cron_field(0, 23, &[]),
    cron_field(1, 31, &[]),
    cron_field(1, 12, MONTHS),
    cron_field(0, 6, &["sun", "mon", "tue", "wed", "thu", "fri", "sat"]),
];

/// Returns the errors of a schedule.
pub(super) fn schedule_errors(schedule: &str) -> Vec<String> {
    let zoned = "cannot use TZ or CRON_TZ in schedule, use timeZone field instead";
    let zoned = schedule.contains("TZ").then(|| zoned.to_owned());
    zoned_schedule_error(schedule).into_iter().chain(zoned).collect()
}

/// Returns the error of a schedule that may start with a time zone.
fn zoned_schedule_error(schedule: &str) -> Option<String> {
    let Some(zoned) = schedule
        .strip_prefix("TZ=")
        .or_else(|| schedule.strip_prefix("CRON_TZ="))
    else {
        return schedule_error(schedule);
    };
    let Some((zone, rest)) = zoned.split_once(' ') else {
        let equals = schedule.len() - zoned.len();
        return Some(format!(
            "invalid schedule format: runtime error: slice bounds out of range [{equals}:-1]"
        ));
    };
    if !["", "Local"].contains(&zone) && is_unknown_time_zone(zone) {
        return Some(format!("provided bad location {zone}: unknown time zone {zone}"));
    }
    schedule_error(rest.trim())
}

/// Whether a time zone is unknown. On a machine without a time zone database, all are accepted.
pub(super) fn is_unknown_time_zone(zone: &str) -> bool {
    !jiff::tz::db().is_definitively_empty() && jiff::tz::TimeZone::get(zone).is_err()
}

fn schedule_error(schedule: &str) -> Option<String> {
    if let Some(descriptor) = schedule.strip_prefix('@') {
        let known = [
            "yearly", "annually", "monthly", "weekly", "daily", "midnight", "hourly",
        ];
        return match descriptor.strip_prefix("every ") {
            Some(time) => duration::parse_nanoseconds(time)
                .err()
                .map(|reason| format!("failed to parse duration {schedule}: time: {reason}")),
            None if known.contains(&descriptor) => None,
            None => Some(format!("unrecognized descriptor: {schedule}")),
        };
    }
    let fields: Vec<&str> = schedule.split_whitespace().collect();
    if fields.len() != CRON_FIELDS.len() {
        let fields = (fields.len(), fields.join(" "));
        return Some(format!(
            "expected exactly 5 fields, found {}: [{}]",
            fields.0, fields.1
        ));
    }
    let mut ranges = fields.into_iter().zip(&CRON_FIELDS).flat_map(|(text, field)| {
        text.split(',')
            .filter(|range| !range.is_empty())
            .map(move |range| (range, field))
    });
    ranges.find_map(|(range, field)| check_range(range, field).err())
}

/// Checks a range: `*`, `1` or `1-5`, with an optional step.
fn check_range(range: &str, field: &CronField) -> Result<(), String> {
    let parts: Vec<&str> = range.split('/').collect();
    let bounds: Vec<&str> = parts[0].split('-').collect();
    let (start, mut end) = if matches!(bounds[0], "*" | "?") {
        (field.min, field.max)
    } else {
        let start = parse_value(bounds[0], field)?;
        match bounds[..] {
            [_] => (start, start),
            [_, end] => (start, parse_value(end, field)?),
            _ => return Err(format!("too many hyphens: {range}")),
        }
    };
    let step = match parts[..] {
        [_] => 1,
        [_, step] => {
            if bounds.len() == 1 {
                end = field.max;
            }
            parse_number(step)?
        }
        _ => return Err(format!("too many slashes: {range}")),
    };
    if start < field.min {
        let min = field.min;
        return Err(format!(
            "beginning of range ({start}) below minimum ({min}): {range}"
        ));
    }
    if end > field.max {
        let max = field.max;
        return Err(format!("end of range ({end}) above maximum ({max}): {range}"));
    }
    if start > end {
        return Err(format!(
            "beginning of range ({start}) beyond end of range ({end}): {range}"
        ));
    }
    if step == 0 {
        return Err(format!("step of range should be a positive number: {range}"));
    }
    Ok(())
}

fn parse_value(text: &str, field: &CronField) -> Result<u32, String> {
    let named = field
        .names
        .iter()
        .position(|name| text.eq_ignore_ascii_case(name));
    match named.and_then(|at| u32::try_from(at).ok()) {
        Some(at) => Ok(at + field.min),
        None => parse_number(text),
    }
}

fn parse_number(text: &str) -> Result<u32, String> {
    match text.parse::<i64>() {
        Ok(number) => {
            u32::try_from(number).map_err(|_| format!("negative number ({number}) not allowed: {text}"))
        }
        Err(_) => Err(format!(
            "failed to parse int from {text}: strconv.Atoi: parsing {text:?}: invalid syntax"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::schedule_error;

    #[test]
    fn schedules_are_checked_field_by_field() {
        for good in [
            "* * * * *",
            "*/5 0-6 1,15 jan-Mar MON",
            "@daily",
            "@every 1h",
            "0 0 ? * 0/2",
            "0,,30 +5 *-3 * *",
        ] {
            assert_eq!(schedule_error(good), None, "{good}");
        }
        for (bad, reason) in [
            ("60 * * * *", "end of range (60) above maximum (59): 60"),
            ("* * 0 * *", "beginning of range (0) below minimum (1): 0"),
            (
                "* 5-3 * * *",
                "beginning of range (5) beyond end of range (3): 5-3",
            ),
            ("*/0 * * * *", "step of range should be a positive number: */0"),
            ("1-2-3 * * * *", "too many hyphens: 1-2-3"),
            ("* * * *", "expected exactly 5 fields, found 4: [* * * *]"),
        ] {
            assert_eq!(schedule_error(bad).as_deref(), Some(reason));
        }
        assert!(
            schedule_error("x * * * *")
                .unwrap()
                .starts_with("failed to parse int from x")
        );
    }
}

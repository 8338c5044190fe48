//! The schedules of cron jobs, and what is said of those that are none.

use crate::duration;

/// A field: its least and greatest value, and the names of values.
struct Field {
    least: u32,
    greatest: u32,
    names: &'static [&'static str],
}

const FIELDS: [Field; 5] = [
    Field {
        least: 0,
        greatest: 59,
        names: &[],
    },
    Field {
        least: 0,
        greatest: 23,
        names: &[],
    },
    Field {
        least: 1,
        greatest: 31,
        names: &[],
    },
    Field {
        least: 1,
        greatest: 12,
        names: &[
            "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
        ],
    },
    Field {
        least: 0,
        greatest: 6,
        names: &["sun", "mon", "tue", "wed", "thu", "fri", "sat"],
    },
];

/// What is wrong with a schedule.
pub(super) fn errors(schedule: &str) -> Vec<String> {
    let zoned = "cannot use TZ or CRON_TZ in schedule, use timeZone field instead";
    let zoned = schedule.contains("TZ").then(|| zoned.to_owned());
    in_zone(schedule).into_iter().chain(zoned).collect()
}

/// A schedule that may have a time zone before it.
fn in_zone(schedule: &str) -> Option<String> {
    let Some(zoned) = schedule
        .strip_prefix("TZ=")
        .or_else(|| schedule.strip_prefix("CRON_TZ="))
    else {
        return error(schedule);
    };
    let Some((zone, rest)) = zoned.split_once(' ') else {
        let equals = schedule.len() - zoned.len();
        return Some(format!(
            "invalid schedule format: runtime error: slice bounds out of range [{equals}:-1]"
        ));
    };
    if !["", "Local"].contains(&zone) && is_unknown(zone) {
        return Some(format!("provided bad location {zone}: unknown time zone {zone}"));
    }
    error(rest.trim())
}

/// Whether there is no such time zone. Where the machine knows none at all, each is taken on trust.
pub(super) fn is_unknown(zone: &str) -> bool {
    !jiff::tz::db().is_definitively_empty() && jiff::tz::TimeZone::get(zone).is_err()
}

fn error(schedule: &str) -> Option<String> {
    if let Some(descriptor) = schedule.strip_prefix('@') {
        let known = [
            "yearly", "annually", "monthly", "weekly", "daily", "midnight", "hourly",
        ];
        return match descriptor.strip_prefix("every ") {
            Some(time) => duration::parse_nanoseconds(time)
                .err()
                .map(|why| format!("failed to parse duration {schedule}: time: {why}")),
            None if known.contains(&descriptor) => None,
            None => Some(format!("unrecognized descriptor: {schedule}")),
        };
    }
    let fields: Vec<&str> = schedule.split_whitespace().collect();
    if fields.len() != FIELDS.len() {
        let fields = (fields.len(), fields.join(" "));
        return Some(format!(
            "expected exactly 5 fields, found {}: [{}]",
            fields.0, fields.1
        ));
    }
    let mut ranges = fields
        .into_iter()
        .zip(&FIELDS)
        .flat_map(|(text, field)| text.split(',').map(move |range| (range, field)));
    ranges.find_map(|(range, field)| check(range, field).err())
}

/// `*`, `1`, `1-5`, each with a step.
fn check(range: &str, field: &Field) -> Result<(), String> {
    let parts: Vec<&str> = range.split('/').collect();
    let bounds: Vec<&str> = parts[0].split('-').collect();
    let (start, mut end) = if matches!(bounds[0], "*" | "?") {
        (field.least, field.greatest)
    } else {
        let start = value(bounds[0], field)?;
        match bounds[..] {
            [_] => (start, start),
            [_, end] => (start, value(end, field)?),
            _ => return Err(format!("too many hyphens: {range}")),
        }
    };
    let step = match parts[..] {
        [_] => 1,
        [_, step] => {
            if bounds.len() == 1 {
                end = field.greatest;
            }
            number(step)?
        }
        _ => return Err(format!("too many slashes: {range}")),
    };
    if start < field.least {
        let least = field.least;
        return Err(format!(
            "beginning of range ({start}) below minimum ({least}): {range}"
        ));
    }
    if end > field.greatest {
        let greatest = field.greatest;
        return Err(format!(
            "end of range ({end}) above maximum ({greatest}): {range}"
        ));
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

fn value(text: &str, field: &Field) -> Result<u32, String> {
    let named = field
        .names
        .iter()
        .position(|name| text.eq_ignore_ascii_case(name));
    match named.and_then(|at| u32::try_from(at).ok()) {
        Some(at) => Ok(at + field.least),
        None => number(text),
    }
}

fn number(text: &str) -> Result<u32, String> {
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
    use super::error;

    #[test]
    fn schedules_are_read_field_by_field() {
        for good in [
            "* * * * *",
            "*/5 0-6 1,15 jan-Mar MON",
            "@daily",
            "@every 1h",
            "0 0 ? * 0/2",
        ] {
            assert_eq!(error(good), None, "{good}");
        }
        for (bad, why) in [
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
            assert_eq!(error(bad).as_deref(), Some(why));
        }
        assert!(
            error("x * * * *")
                .unwrap()
                .starts_with("failed to parse int from x")
        );
    }
}

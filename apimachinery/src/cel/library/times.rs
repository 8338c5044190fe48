//! The functions that read the parts of times and durations. kube-cel reads those of times in their own time zone, cel-go in UTC or in the
//! time zone that is given.

use crate::cel::functions::{add, operands};
use jiff::tz::{Offset, TimeZone};
use jiff::{Timestamp, Zoned};
use kube_cel::cel::{Context, ExecutionError, Value};

/// A part of a time, by the name of its function, and a part of a duration.
type Part = (&'static str, fn(&Zoned) -> i64, Option<fn(i64) -> i64>);

const NANOSECONDS_PER_SECOND: i64 = 1_000_000_000;
const PARTS: [Part; 10] = [
    ("getFullYear", |time| time.year().into(), None),
    ("getMonth", |time| i64::from(time.month()) - 1, None),
    ("getDayOfYear", |time| i64::from(time.day_of_year()) - 1, None),
    ("getDayOfMonth", |time| i64::from(time.day()) - 1, None),
    ("getDate", |time| time.day().into(), None),
    (
        "getDayOfWeek",
        |time| time.weekday().to_sunday_zero_offset().into(),
        None,
    ),
    (
        "getHours",
        |time| time.hour().into(),
        Some(|duration| duration / (3600 * NANOSECONDS_PER_SECOND)),
    ),
    (
        "getMinutes",
        |time| time.minute().into(),
        Some(|duration| duration / (60 * NANOSECONDS_PER_SECOND)),
    ),
    (
        "getSeconds",
        |time| time.second().into(),
        Some(|duration| duration / NANOSECONDS_PER_SECOND),
    ),
    (
        "getMilliseconds",
        |time| time.millisecond().into(),
        Some(|duration| duration / 1_000_000),
    ),
];

/// Replaces the functions.
pub(super) fn register(context: &mut Context<'_>) {
    for (name, of_time, of_duration) in PARTS {
        add(context, name, move |call| {
            let operands = operands(call)?;
            let part = match (&operands[..], of_duration) {
                ([Value::Duration(duration)], Some(of_duration)) => {
                    of_duration(duration.num_nanoseconds().unwrap_or(i64::MAX))
                }
                ([Value::Timestamp(_)], _) => of_time(&in_zone(&operands[0], TimeZone::UTC)?),
                ([Value::Timestamp(_), Value::String(zone)], _) => {
                    let zone = time_zone(zone).map_err(|why| ExecutionError::function_error("@time", why))?;
                    of_time(&in_zone(&operands[0], zone)?)
                }
                _ => return Err(ExecutionError::NoSuchOverload),
            };
            Ok(Value::Int(part))
        });
    }
}

fn in_zone(time: &Value, zone: TimeZone) -> Result<Zoned, ExecutionError> {
    let Value::Timestamp(time) = time else {
        return Err(ExecutionError::NoSuchOverload);
    };
    let nanoseconds = i32::try_from(time.timestamp_subsec_nanos()).unwrap_or_default();
    let time = Timestamp::new(time.timestamp(), nanoseconds);
    let time = time.map_err(|_| ExecutionError::function_error("@time", "timestamp overflow"))?;
    Ok(time.to_zoned(zone))
}

/// Returns a time zone by its name, or its difference to UTC, such as `+02:00`.
fn time_zone(text: &str) -> Result<TimeZone, String> {
    let Some((hours, minutes)) = text.split_once(':') else {
        return match text {
            "" | "UTC" => Ok(TimeZone::UTC),
            name if name.contains("..") || name.starts_with(['/', '\\']) || name.contains('\\') => {
                Err("time: invalid location name".to_owned())
            }
            name => TimeZone::get(name).map_err(|_| format!("unknown time zone {name}")),
        };
    };
    let number = |text: &str| {
        let parsed: Result<i32, _> = text.parse();
        parsed.map_err(|_| format!("strconv.Atoi: parsing {text:?}: invalid syntax"))
    };
    let (hours, minutes) = (number(hours)?, number(minutes)?);
    let sign = if text.starts_with('-') { -1 } else { 1 };
    let seconds = hours
        .saturating_mul(60)
        .saturating_add(sign * minutes)
        .saturating_mul(60);
    let offset = Offset::from_seconds(seconds).map_err(|_| format!("unknown time zone {text}"))?;
    Ok(TimeZone::fixed(offset))
}

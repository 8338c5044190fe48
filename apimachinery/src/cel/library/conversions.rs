//! Conversions between types. kube-cel's lack some, or read texts by other rules than Go.

use super::original;
use crate::duration::parse_nanoseconds;
use crate::go_float;
use crate::go_format;
use jiff::Timestamp;
use kube_cel::cel;
use kube_cel::cel::extractors::This;
use kube_cel::cel::{Context, ExecutionError, ResolveResult, Value};
use std::sync::Arc;

const OVERFLOW: &str = "timestamp overflow";
/// The first second of the year 1, and the last one of the year 9999.
const FIRST_SECOND: i64 = -62_135_596_800;
const LAST_SECOND: i64 = 253_402_300_799;

/// Replaces the functions.
pub(super) fn register(context: &mut Context<'_>) {
    context.add_function("bool", bool);
    context.add_function("bytes", bytes);
    context.add_function("double", double);
    context.add_function("duration", duration);
    context.add_function("int", int);
    context.add_function("string", string);
    context.add_function("timestamp", timestamp);
}

/// Converts a bool, or a string as Go's `strconv.ParseBool`.
fn bool(This(this): This<Value>) -> ResolveResult {
    let truth = match &this {
        Value::Bool(truth) => Some(*truth),
        Value::String(text) => match text.as_str() {
            "1" | "t" | "T" | "true" | "TRUE" | "True" => Some(true),
            "0" | "f" | "F" | "false" | "FALSE" | "False" => Some(false),
            _ => None,
        },
        _ => return Err(ExecutionError::NoSuchOverload),
    };
    let why = "type conversion error from 'string' to 'bool'";
    let truth = truth.ok_or_else(|| ExecutionError::function_error("bool", why))?;
    Ok(Value::Bool(truth))
}

fn bytes(This(this): This<Value>) -> ResolveResult {
    match this {
        Value::Bytes(_) => Ok(this),
        other => original("bytes", other),
    }
}

fn duration(This(this): This<Value>) -> ResolveResult {
    match this {
        Value::Duration(_) => Ok(this),
        Value::String(text) => {
            let failed = |why: String| ExecutionError::function_error("duration", why);
            let nanoseconds = parse_nanoseconds(&text).map_err(failed)?;
            cel::functions::duration(Arc::new(format!("{nanoseconds:.0}ns")))
        }
        _ => Err(ExecutionError::NoSuchOverload),
    }
}

/// The seconds of a time, among others.
fn int(This(this): This<Value>) -> ResolveResult {
    match this {
        Value::Timestamp(time) => Ok(Value::Int(time.timestamp())),
        Value::Duration(duration) => Ok(Value::Int(duration.num_nanoseconds().unwrap_or(i64::MAX))),
        other => original("int", other),
    }
}

/// Converts a number, or a text as Go's `strconv.ParseFloat`.
fn double(This(this): This<Value>) -> ResolveResult {
    let number = match &this {
        Value::Float(number) => Some(*number),
        #[expect(clippy::cast_precision_loss, reason = "as Go converts")]
        Value::Int(number) => Some(*number as f64),
        #[expect(clippy::cast_precision_loss, reason = "as Go converts")]
        Value::UInt(number) => Some(*number as f64),
        Value::String(text) => go_float::parse(text),
        _ => return Err(ExecutionError::NoSuchOverload),
    };
    let why = "type conversion error from 'string' to 'double'";
    let number = number.ok_or_else(|| ExecutionError::function_error("@double", why))?;
    Ok(Value::Float(number))
}

/// A time from its text, or its seconds.
fn timestamp(This(this): This<Value>) -> ResolveResult {
    match this {
        Value::Timestamp(_) => Ok(this),
        Value::String(text) if is_go_time(&text) => {
            if text.starts_with("0000") {
                return Err(ExecutionError::function_error("timestamp", OVERFLOW));
            }
            cel::functions::timestamp(Arc::new(text.replace(',', ".")))
        }
        Value::String(_) => Err(ExecutionError::function_error("timestamp", "invalid time")),
        Value::Int(seconds) => {
            let in_years = (FIRST_SECOND..=LAST_SECOND).contains(&seconds);
            let time = Timestamp::from_second(if in_years { seconds } else { i64::MAX });
            let time = time.map_err(|_| ExecutionError::function_error("timestamp", OVERFLOW))?;
            cel::functions::timestamp(Arc::new(time.to_string()))
        }
        _ => Err(ExecutionError::NoSuchOverload),
    }
}

/// Whether a text has the form of a time in Go's RFC 3339: in capital letters, without leap seconds.
fn is_go_time(text: &str) -> bool {
    const FORM: &[u8] = b"0000-00-00T00:00:00";
    let (date, rest) = text.split_at_checked(FORM.len()).unwrap_or((text, ""));
    let has_form = date.len() == FORM.len()
        && date.bytes().zip(FORM).all(|(byte, form)| match form {
            b'0' => byte.is_ascii_digit(),
            other => byte == *other,
        });
    let zone = rest.strip_prefix(['.', ',']).map_or(rest, |fraction| {
        fraction.trim_start_matches(|c: char| c.is_ascii_digit())
    });
    has_form && !date.ends_with("60") && (zone == "Z" || zone.starts_with(['+', '-']))
}

fn string(This(this): This<Value>) -> ResolveResult {
    match text_of(&this) {
        Some(text) => Ok(Value::String(Arc::new(text))),
        None => original("string", this),
    }
}

/// The text of a value as Go writes it; None for what kube-cel converts.
pub(in crate::cel) fn text_of(value: &Value) -> Option<String> {
    Some(match value {
        Value::Bool(truth) => truth.to_string(),
        Value::Float(number) => go_format::float(*number),
        Value::Duration(duration) => {
            let sign = if *duration < duration.abs() { "-" } else { "" };
            let seconds = duration.abs().to_std().unwrap_or_default().as_secs_f64();
            format!("{sign}{seconds}s")
        }
        Value::Timestamp(time) => shortened_time(&time.to_rfc3339()),
        _ => return None,
    })
}

/// Returns a time as Go writes it: without zeros at the end of the fraction, and with Z for UTC.
fn shortened_time(time: &str) -> String {
    let time = time
        .strip_suffix("+00:00")
        .map_or_else(|| time.to_owned(), |time| format!("{time}Z"));
    let Some((seconds, rest)) = time.split_once('.') else {
        return time;
    };
    let zone = rest.trim_start_matches(|c: char| c.is_ascii_digit());
    let fraction = rest[..rest.len() - zone.len()].trim_end_matches('0');
    let dot = if fraction.is_empty() { "" } else { "." };
    format!("{seconds}{dot}{fraction}{zone}")
}

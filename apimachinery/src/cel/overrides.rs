//! Functions that replace those of kube-cel, to return what the real server's return.

use super::activation::OVER_COST;
use super::url;
use crate::duration::parse_nanoseconds;
use crate::go_format;
use jiff::Timestamp;
use kube_cel::KubeCelExt as _;
use kube_cel::cel::extractors::{Arguments, This};
use kube_cel::cel::{Context, ExecutionError, Program, ResolveResult, Value, functions};
use std::net::IpAddr;
use std::sync::Arc;
use std::thread::LocalKey;

/// The maximum size of a text that replacements make. It must not fill the memory.
const MAX_TEXT_BYTES: usize = 10 << 20;
const OVERFLOW: &str = "timestamp overflow";

thread_local! {
    static ORIGINAL: Context<'static> = Context::default().with_all();
    static CIDR: Option<Program> = Program::compile("cidr(value)").ok();
    static IS_CIDR: Option<Program> = Program::compile("isCIDR(value)").ok();
    static BYTES: Option<Program> = Program::compile("bytes(value)").ok();
    static INT: Option<Program> = Program::compile("int(value)").ok();
    static STRING: Option<Program> = Program::compile("string(value)").ok();
}

/// Replaces the functions.
pub(crate) fn register(context: &mut Context<'_>) {
    context.add_function("bool", bool);
    context.add_function("bytes", bytes);
    context.add_function("cidr", cidr);
    context.add_function("isCIDR", is_cidr);
    context.add_function("duration", duration);
    context.add_function("int", int);
    context.add_function("replace", replace);
    context.add_function("size", size);
    context.add_function("split", split);
    context.add_function("string", string);
    context.add_function("lists.range", range);
    context.add_function("timestamp", timestamp);
    url::register(context);
}

/// The size of a text is the number of its characters.
fn size(This(this): This<Value>) -> ResolveResult {
    let size = match this {
        Value::String(text) => text.chars().count(),
        Value::Bytes(bytes) => bytes.len(),
        Value::List(items) => items.len(),
        Value::Map(entries) => entries.map.len(),
        other => {
            let why = format!("cannot determine the size of {other:?}");
            return Err(ExecutionError::function_error("size", why));
        }
    };
    Ok(Value::Int(i64::try_from(size).unwrap_or(i64::MAX)))
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
        other => original(&BYTES, other),
    }
}

/// Without texts between the parts, these are the characters. A limit that is negative is none.
fn split(This(this): This<Arc<String>>, Arguments(args): Arguments) -> ResolveResult {
    let (separator, limit) = match args.as_slice() {
        [Value::String(separator)] => (separator, -1),
        [Value::String(separator), Value::Int(limit)] => (separator, *limit),
        _ => return Err(ExecutionError::NoSuchOverload),
    };
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let parts: Vec<String> = if limit == 0 {
        vec![]
    } else if separator.is_empty() {
        let rest = this
            .char_indices()
            .nth(limit - 1)
            .map_or("", |(at, _)| &this[at..]);
        let single = this.chars().take(limit - 1).map(String::from);
        single
            .chain((!rest.is_empty()).then(|| rest.to_owned()))
            .collect()
    } else {
        this.splitn(limit, separator.as_str())
            .map(str::to_owned)
            .collect()
    };
    let parts = parts.into_iter().map(|part| Value::String(Arc::new(part)));
    Ok(Value::List(Arc::new(parts.collect())))
}

/// A limit that is negative is none.
fn replace(This(this): This<Arc<String>>, Arguments(args): Arguments) -> ResolveResult {
    let (from, to, limit) = match args.as_slice() {
        [Value::String(from), Value::String(to)] => (from, to, -1),
        [Value::String(from), Value::String(to), Value::Int(limit)] => (from, to, *limit),
        _ => return Err(ExecutionError::NoSuchOverload),
    };
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let count = this.matches(from.as_str()).take(limit).count();
    let added = count.saturating_mul(to.len());
    if this.len().saturating_add(added) > MAX_TEXT_BYTES {
        return Err(ExecutionError::function_error("replace", OVER_COST));
    }
    let replaced = this.replacen(from.as_str(), to, limit);
    Ok(Value::String(Arc::new(replaced)))
}

fn cidr(This(this): This<Value>) -> ResolveResult {
    match &this {
        Value::String(text) if !is_network(text) => {
            let why = format!(
                "CIDR {text:?} parse error during conversion from string: network address parse error"
            );
            Err(ExecutionError::function_error("cidr", why))
        }
        _ => original(&CIDR, this),
    }
}

fn is_cidr(This(this): This<Value>) -> ResolveResult {
    match &this {
        Value::String(text) if !is_network(text) => Ok(Value::Bool(false)),
        _ => original(&IS_CIDR, this),
    }
}

/// Whether a text has the form of a network in Go: no number begins with a zero, and `::` stands for at least one group.
fn is_network(text: &str) -> bool {
    let Some((address, bits)) = text.split_once('/') else {
        return false;
    };
    let has_zero = bits.len() > 1 && bits.starts_with('0');
    address.parse::<IpAddr>().is_ok() && !has_zero
}

fn duration(This(this): This<Value>) -> ResolveResult {
    match this {
        Value::Duration(_) => Ok(this),
        Value::String(text) => {
            let failed = |why: String| ExecutionError::function_error("duration", why);
            let nanoseconds = parse_nanoseconds(&text).map_err(failed)?;
            functions::duration(Arc::new(format!("{nanoseconds:.0}ns")))
        }
        _ => Err(ExecutionError::NoSuchOverload),
    }
}

/// The seconds of a time, among others.
fn int(This(this): This<Value>) -> ResolveResult {
    match this {
        Value::Timestamp(time) => Ok(Value::Int(time.timestamp())),
        Value::Duration(duration) => Ok(Value::Int(duration.num_nanoseconds().unwrap_or(i64::MAX))),
        other => original(&INT, other),
    }
}

/// A time from its text, or its seconds.
fn timestamp(This(this): This<Value>) -> ResolveResult {
    match this {
        Value::Timestamp(_) => Ok(this),
        Value::String(text) if is_go_time(&text) => {
            if text.starts_with("0000") {
                return Err(ExecutionError::function_error("timestamp", OVERFLOW));
            }
            functions::timestamp(Arc::new(text.replace(',', ".")))
        }
        Value::String(_) => Err(ExecutionError::function_error("timestamp", "invalid time")),
        Value::Int(seconds) => {
            let time = Timestamp::from_second(seconds);
            let time = time.map_err(|_| ExecutionError::function_error("timestamp", OVERFLOW))?;
            functions::timestamp(Arc::new(time.to_string()))
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

/// A list of the first integers. It must not fill the memory.
fn range(length: i64) -> ResolveResult {
    const MAX_LENGTH: i64 = 1_000_000;
    if !(0..=MAX_LENGTH).contains(&length) {
        return Err(ExecutionError::function_error("lists.range", OVER_COST));
    }
    Ok(Value::List(Arc::new((0..length).map(Value::Int).collect())))
}

fn string(This(this): This<Value>) -> ResolveResult {
    match text_of(&this) {
        Some(text) => Ok(Value::String(Arc::new(text))),
        None => original(&STRING, this),
    }
}

/// The text of a value as Go writes it; None for what kube-cel converts.
pub(super) fn text_of(value: &Value) -> Option<String> {
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

/// Calls the function that is replaced.
fn original(function: &'static LocalKey<Option<Program>>, value: Value) -> ResolveResult {
    ORIGINAL.with(|context| {
        let mut scope = context.new_inner_scope();
        scope.add_variable_from_value("value", value);
        function.with(|program| match program {
            Some(program) => program.execute(&scope),
            None => Err(ExecutionError::NoSuchOverload),
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_return_what_those_of_the_real_server_return() {
        let mut context = Context::default().with_all();
        register(&mut context);
        for rule in [
            "'é'.size() == 1 && size('abc') == 3 && size([1, 2]) == 2 && size({'a': 1}) == 1 && size(b'ab') == 2",
            "lists.range(3) == [0, 1, 2] && [1, 2].first().value() == 1 && [1, 2].last().value() == 2",
            "string(true) == 'true' && string(1e100) == '1e+100' && string(123456789.0) == '1.23456789e+08'",
            "string(duration('5m')) == '300s' && string(duration('-1500ms')) == '-1.5s' && string(duration('-500us')) == '-0.0005s'",
            "timestamp(timestamp('2020-01-01T00:00:00Z')) == timestamp(1577836800) && int(timestamp(7)) == 7 && int('8') == 8",
            "duration(duration('1s')) == duration('1000ms') && bytes(bytes('a')) == b'a' && int(2.9) == 2",
            "'abc'.split('') == ['a', 'b', 'c'] && 'abc'.split('', 2) == ['a', 'bc'] && 'a,b'.split(',', 0) == [] && ''.split('') == []",
            "'a,b,c'.split(',', -1) == ['a', 'b', 'c'] && 'aaa'.replace('a', 'b', -1) == 'bbb' && 'aaa'.replace('a', 'b', 2) == 'bba'",
            "string(2.5) == '2.5' && string(7) == '7' && string('a') == 'a' && string(ip('127.0.0.1')) == '127.0.0.1'",
            "string(timestamp('2020-01-01T00:00:00Z')) == '2020-01-01T00:00:00Z'",
            "string(timestamp('2020-01-01T00:00:00.120+02:00')) == '2020-01-01T00:00:00.12+02:00'",
        ] {
            let result = Program::compile(rule).unwrap().execute(&context);
            assert!(matches!(result, Ok(Value::Bool(true))), "{rule}: {result:?}");
        }
    }
}

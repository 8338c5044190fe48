//! Functions that replace those of kube-cel, to return what the real server's return.

use super::activation::OVER_COST;
use crate::go_format;
use kube_cel::KubeCelExt as _;
use kube_cel::cel::extractors::This;
use kube_cel::cel::{Context, ExecutionError, Program, ResolveResult, Value};
use std::sync::Arc;

thread_local! {
    static ORIGINAL: Context<'static> = Context::default().with_all();
    static STRING: Option<Program> = Program::compile("string(value)").ok();
}

/// Replaces the functions.
pub(crate) fn register(context: &mut Context<'_>) {
    context.add_function("bool", bool);
    context.add_function("size", size);
    context.add_function("string", string);
    context.add_function("lists.range", range);
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

/// A truth, or the text of one, as Go reads it.
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

/// A list of the first integers. It must not fill the memory.
fn range(length: i64) -> ResolveResult {
    const MAX_LENGTH: i64 = 1_000_000;
    if !(0..=MAX_LENGTH).contains(&length) {
        return Err(ExecutionError::function_error("lists.range", OVER_COST));
    }
    Ok(Value::List(Arc::new((0..length).map(Value::Int).collect())))
}

fn string(This(this): This<Value>) -> ResolveResult {
    let text = match this {
        Value::Bool(truth) => truth.to_string(),
        Value::Float(number) => go_format::float(number),
        Value::Duration(duration) => {
            let sign = if duration.num_milliseconds() < 0 { "-" } else { "" };
            let seconds = duration.abs().to_std().unwrap_or_default().as_secs_f64();
            format!("{sign}{seconds}s")
        }
        Value::Timestamp(time) => shortened_time(&time.to_rfc3339()),
        other => return original_string(other),
    };
    Ok(Value::String(Arc::new(text)))
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

fn original_string(value: Value) -> ResolveResult {
    ORIGINAL.with(|context| {
        let mut scope = context.new_inner_scope();
        scope.add_variable_from_value("value", value);
        STRING.with(|program| match program {
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
            "string(duration('5m')) == '300s' && string(duration('-1500ms')) == '-1.5s'",
            "string(2.5) == '2.5' && string(7) == '7' && string('a') == 'a' && string(ip('127.0.0.1')) == '127.0.0.1'",
            "string(timestamp('2020-01-01T00:00:00Z')) == '2020-01-01T00:00:00Z'",
            "string(timestamp('2020-01-01T00:00:00.120+02:00')) == '2020-01-01T00:00:00.12+02:00'",
        ] {
            let result = Program::compile(rule).unwrap().execute(&context);
            assert!(matches!(result, Ok(Value::Bool(true))), "{rule}: {result:?}");
        }
    }
}

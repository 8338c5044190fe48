//! Functions of texts, and the size of values.

use crate::cel::activation::OVER_COST;
use kube_cel::cel::extractors::{Arguments, This};
use kube_cel::cel::{Context, ExecutionError, ResolveResult, Value};
use std::sync::Arc;

/// The maximum size of a text that replacements make. It must not fill the memory.
const MAX_TEXT_BYTES: usize = 10 << 20;

/// Replaces the functions.
pub(super) fn register(context: &mut Context<'_>) {
    context.add_function("replace", replace);
    context.add_function("size", size);
    context.add_function("split", split);
    context.add_function("substring", substring);
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

/// Positions count characters.
fn substring(This(this): This<Arc<String>>, Arguments(args): Arguments) -> ResolveResult {
    let length = this.chars().count();
    let (start, end) = match args.as_slice() {
        [Value::Int(start)] => (*start, None),
        [Value::Int(start), Value::Int(end)] => (*start, Some(*end)),
        _ => return Err(ExecutionError::NoSuchOverload),
    };
    let failure = |why: String| ExecutionError::function_error("@substring", why);
    if let Some(end) = end.filter(|end| start > *end) {
        let why = format!("invalid substring range. start: {start}, end: {end}");
        return Err(failure(why));
    }
    let position = |at: i64| {
        let position = usize::try_from(at).ok().filter(|position| *position <= length);
        position.ok_or_else(|| failure(format!("index out of range: {at}")))
    };
    let (start, end) = (position(start)?, end.map_or(Ok(length), position)?);
    let characters = this.chars().skip(start).take(end - start);
    Ok(Value::String(Arc::new(characters.collect())))
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

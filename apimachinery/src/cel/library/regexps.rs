//! The functions with regular expressions, which are those of Go.

use crate::cel::functions::{add, operands};
use crate::go_regexp;
use kube_cel::cel::{Context, ExecutionError, FunctionContext, Value};
use regex::Regex;
use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

/// The most compiled expressions that a thread keeps.
const MAX_COMPILED: usize = 200;

thread_local! {
    static COMPILED: RefCell<HashMap<String, Regex>> = RefCell::default();
}

/// Replaces the functions.
pub(super) fn register(context: &mut Context<'_>) {
    add(context, "matches", |call| {
        let (text, regex, _) = arguments(call)?;
        Ok(Value::Bool(regex.is_match(&text)))
    });
    add(context, "find", |call| {
        let (text, regex, _) = arguments(call)?;
        let found = regex.find(&text).map_or("", |found| found.as_str());
        Ok(Value::String(Arc::new(found.to_owned())))
    });
    add(context, "findAll", |call| {
        let (text, regex, limit) = arguments(call)?;
        let limit = limit.map_or(usize::MAX, |limit| usize::try_from(limit).unwrap_or(usize::MAX));
        let found = regex.find_iter(&text).take(limit);
        let found = found.map(|found| Value::String(Arc::new(found.as_str().to_owned())));
        Ok(Value::List(Arc::new(found.collect())))
    });
}

/// The text, the compiled expression, and a limit if there is one.
fn arguments(call: &FunctionContext<'_, '_>) -> Result<(Arc<String>, Regex, Option<i64>), ExecutionError> {
    let operands = operands(call)?;
    match &operands[..] {
        [Value::String(text), Value::String(pattern)] => Ok((text.clone(), compiled(pattern)?, None)),
        [Value::String(text), Value::String(pattern), Value::Int(limit)] => {
            Ok((text.clone(), compiled(pattern)?, Some(*limit)))
        }
        _ => Err(ExecutionError::NoSuchOverload),
    }
}

fn compiled(pattern: &str) -> Result<Regex, ExecutionError> {
    COMPILED.with_borrow_mut(|known| {
        if let Some(regex) = known.get(pattern) {
            return Ok(regex.clone());
        }
        let regex = go_regexp::compile(pattern).map_err(|why| {
            ExecutionError::function_error("@regexp", format!("error parsing regexp: {why}"))
        })?;
        if known.len() >= MAX_COMPILED {
            known.clear();
        }
        known.insert(pattern.to_owned(), regex.clone());
        Ok(regex)
    })
}

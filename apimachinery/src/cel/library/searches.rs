//! The functions `indexOf` and `lastIndexOf` of lists and texts.

use crate::cel::functions::{add, operands};
use kube_cel::cel::{Context, ExecutionError, FunctionContext, Value};

/// Replaces the functions.
pub(super) fn register(context: &mut Context<'_>) {
    add(context, "indexOf", |call| index_of(call, false));
    add(context, "lastIndexOf", |call| index_of(call, true));
}

fn index_of(call: &FunctionContext<'_, '_>, is_last: bool) -> Result<Value, ExecutionError> {
    let operands = operands(call)?;
    let found = match &operands[..] {
        [Value::List(items), wanted] => {
            let is_wanted = |item: &Value| item == wanted;
            let found = if is_last {
                items.iter().rposition(is_wanted)
            } else {
                items.iter().position(is_wanted)
            };
            found.and_then(|at| i64::try_from(at).ok())
        }
        [Value::String(text), Value::String(part)] => {
            let length = i64::try_from(text.chars().count()).unwrap_or(i64::MAX);
            match (is_last, part.is_empty()) {
                (false, _) => in_text(text, part, 0, false)?,
                (true, true) => Some(length),
                (true, false) if length == 0 => None,
                (true, false) => in_text(text, part, length - 1, true)?,
            }
        }
        [Value::String(text), Value::String(part), Value::Int(offset)] => {
            in_text(text, part, *offset, is_last)?
        }
        _ => return Err(ExecutionError::NoSuchOverload),
    };
    Ok(Value::Int(found.unwrap_or(-1)))
}

/// Returns the first place of a part from this one on, or the last one up to it. The places are those of characters. An empty part is found
/// anywhere, as by cel-go.
fn in_text(text: &str, part: &str, offset: i64, is_last: bool) -> Result<Option<i64>, ExecutionError> {
    if part.is_empty() {
        return Ok(Some(offset));
    }
    let outside = |_| ExecutionError::function_error("@index", format!("index out of range: {offset}"));
    let start = usize::try_from(offset).map_err(outside)?;
    let (text, part): (Vec<char>, Vec<char>) = (text.chars().collect(), part.chars().collect());
    let Some(last) = text.len().checked_sub(part.len()).filter(|_| start < text.len()) else {
        return Ok(None);
    };
    let is_part = |at: &usize| text[*at..].starts_with(&part);
    let found = if is_last {
        (0..=start.min(last)).rev().find(is_part)
    } else {
        (start..=last).find(is_part)
    };
    Ok(found.and_then(|at| i64::try_from(at).ok()))
}

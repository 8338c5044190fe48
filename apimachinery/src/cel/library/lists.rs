//! The functions of lists that kube-cel lacks, or has otherwise: ranges, sums and extremes, and values that may be missing.

use crate::cel::activation::OVER_COST;
use crate::cel::functions::{add, operands};
use crate::cel::type_values;
use kube_cel::cel::objects::OptionalValue;
use kube_cel::cel::{Context, ExecutionError, FunctionContext, ResolveResult, Value};
use std::cmp::Ordering;
use std::sync::Arc;

/// Adds the functions.
pub(super) fn register(context: &mut Context<'_>) {
    add(context, "min", |call| extreme(call, "min", Ordering::Less));
    add(context, "max", |call| extreme(call, "max", Ordering::Greater));
    add(context, "sum", sum);
    context.add_function("lists.range", range);
    add(context, "slice", slice);
    add(context, "orValue", or_value);
    for name in ["unwrapOpt", "optional.unwrap"] {
        add(context, name, unwrap);
    }
}

/// A list of the first integers. It must not fill the memory.
fn range(length: i64) -> ResolveResult {
    const MAX_LENGTH: i64 = 1_000_000;
    if !(0..=MAX_LENGTH).contains(&length) {
        return Err(ExecutionError::function_error("lists.range", OVER_COST));
    }
    Ok(Value::List(Arc::new((0..length).map(Value::Int).collect())))
}

/// The only operand, which is a list.
fn list(call: &FunctionContext<'_, '_>, name: &str) -> Result<Arc<Vec<Value>>, ExecutionError> {
    let operands = operands(call)?;
    match &operands[..] {
        [Value::List(items)] => Ok(items.clone()),
        [other] => {
            let why = format!("no such overload: {name}({})", type_values::name_of(other));
            Err(ExecutionError::function_error("@list", why))
        }
        _ => Err(ExecutionError::NoSuchOverload),
    }
}

fn extreme(call: &FunctionContext<'_, '_>, name: &str, wanted: Ordering) -> Result<Value, ExecutionError> {
    let items = list(call, name)?;
    let (first, rest) = items
        .split_first()
        .ok_or_else(|| ExecutionError::function_error("@list", format!("{name} called on empty list")))?;
    rest.iter().try_fold(first.clone(), |extreme, item| {
        let ordering = match (item, &extreme) {
            (Value::Bytes(item), Value::Bytes(extreme)) => Some(item.cmp(extreme)),
            _ => item.partial_cmp(&extreme),
        };
        let ordering = ordering.ok_or(ExecutionError::NoSuchOverload)?;
        Ok(if ordering == wanted { item.clone() } else { extreme })
    })
}

fn slice(call: &mut FunctionContext<'_, '_>) -> Result<Value, ExecutionError> {
    let operands = operands(call)?;
    let [Value::List(items), Value::Int(start), Value::Int(end)] = &operands[..] else {
        return Err(ExecutionError::NoSuchOverload);
    };
    let refused =
        |why: String| ExecutionError::function_error("@list", format!("cannot slice({start}, {end}), {why}"));
    let (Ok(first), Ok(last)) = (usize::try_from(*start), usize::try_from(*end)) else {
        return Err(refused("negative indexes not supported".to_owned()));
    };
    if first > last {
        return Err(refused(
            "start index must be less than or equal to end index".to_owned(),
        ));
    }
    let slice = items.get(first..last);
    let slice = slice.ok_or_else(|| refused(format!("list is length {}", items.len())))?;
    Ok(Value::List(Arc::new(slice.to_vec())))
}

fn sum(call: &mut FunctionContext<'_, '_>) -> Result<Value, ExecutionError> {
    let items = list(call, "sum")?;
    let overflow = |what: &str| ExecutionError::function_error("@list", format!("{what} overflow"));
    let Some((first, rest)) = items.split_first() else {
        return Ok(Value::Int(0));
    };
    rest.iter()
        .try_fold(first.clone(), |sum, item| match (sum, item) {
            (Value::Int(sum), Value::Int(item)) => sum
                .checked_add(*item)
                .map(Value::Int)
                .ok_or_else(|| overflow("integer")),
            (Value::UInt(sum), Value::UInt(item)) => sum
                .checked_add(*item)
                .map(Value::UInt)
                .ok_or_else(|| overflow("unsigned integer")),
            (Value::Float(sum), Value::Float(item)) => Ok(Value::Float(sum + item)),
            (Value::Duration(sum), Value::Duration(item)) => sum
                .checked_add(item)
                .map(Value::Duration)
                .ok_or_else(|| overflow("duration")),
            _ => Err(ExecutionError::NoSuchOverload),
        })
}

/// A value that is not optional has itself.
fn or_value(call: &mut FunctionContext<'_, '_>) -> Result<Value, ExecutionError> {
    let (Some(value), [other]) = (&call.this, call.args) else {
        return Err(ExecutionError::NoSuchOverload);
    };
    match <&OptionalValue>::try_from(value).map(OptionalValue::value) {
        Err(_) => Ok(value.clone()),
        Ok(Some(value)) => Ok(value.clone()),
        Ok(None) => Value::resolve(other, call.ptx),
    }
}

/// The values of a list that are not missing.
fn unwrap(call: &mut FunctionContext<'_, '_>) -> Result<Value, ExecutionError> {
    let items = list(call, "unwrapOpt")?;
    let mut values = vec![];
    for item in items.iter() {
        values.extend(<&OptionalValue>::try_from(item)?.value().cloned());
    }
    Ok(Value::List(Arc::new(values)))
}

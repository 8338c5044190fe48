//! Comprehensions that kube-cel lacks, or evaluates in another way: those with two variables, to which macros expand ([`super::macros`]), and
//! `all` and `exists` of items that fail while another item decides. Also the functions of their steps.

use super::activation::State;
use super::functions::{self, add, operands};
use super::macros::{MAP_INSERT, SORT_BY_KEYS};
use kube_cel::cel::common::ast::{ComprehensionExpr, Expr, operators};
use kube_cel::cel::objects::{Key, Map};
use kube_cel::cel::{Context, ExecutionError, FunctionContext, Value};
use std::cmp::Ordering;
use std::collections::HashMap;
use std::sync::Arc;

/// Evaluates its argument, a comprehension with two variables.
const WITH_TWO_VARIABLES: &str = "@comprehension";
/// Evaluates its argument, an `all` or `exists`.
const ALL_OR_EXISTS: &str = "@all_or_exists";
/// Lists and maps are copied when they grow: as many entries cost a step.
const COPIES_PER_STEP: usize = 100;

/// Adds the functions.
pub(super) fn register(context: &mut Context<'_>, state: &Arc<State>) {
    let shared = state.clone();
    add(context, WITH_TWO_VARIABLES, move |call| {
        shared.nested(|| evaluate(comprehension(call)?, call.ptx, &shared))
    });
    let shared = state.clone();
    add(context, ALL_OR_EXISTS, move |call| {
        // kube-cel is faster, but an item that fails ends its evaluation.
        let [argument] = call.args else {
            return Err(ExecutionError::missing_argument_or_target());
        };
        shared.nested(|| {
            Value::resolve(argument, call.ptx).or_else(|_| {
                // A range that fails again and again counts, too.
                shared.count_steps(1)?;
                evaluate(comprehension(call)?, call.ptx, &shared)
            })
        })
    });
    add(context, MAP_INSERT, map_insert);
    add(context, SORT_BY_KEYS, sort_by_keys);
}

/// Returns the function that evaluates a comprehension; None for kube-cel.
pub(super) fn function_of(comprehension: &ComprehensionExpr) -> Option<&'static str> {
    if comprehension.iter_var2.is_some() {
        return Some(WITH_TWO_VARIABLES);
    }
    let Expr::Call(step) = &comprehension.loop_step.expr else {
        return None;
    };
    let is_junction = matches!(
        step.func_name.as_str(),
        operators::LOGICAL_AND | operators::LOGICAL_OR
    );
    is_junction.then_some(ALL_OR_EXISTS)
}

fn comprehension<'call>(
    call: &FunctionContext<'_, 'call>,
) -> Result<&'call ComprehensionExpr, ExecutionError> {
    match call.args {
        [argument] => match &argument.expr {
            Expr::Comprehension(comprehension) => Ok(comprehension),
            _ => Err(ExecutionError::NoSuchOverload),
        },
        _ => Err(ExecutionError::missing_argument_or_target()),
    }
}

fn evaluate(
    comprehension: &ComprehensionExpr,
    context: &Context<'_>,
    state: &State,
) -> Result<Value, ExecutionError> {
    let range = Value::resolve(&comprehension.iter_range, context)?;
    let mut scope = context.new_inner_scope();
    let initial = Value::resolve(&comprehension.accu_init, context)?;
    scope.add_variable_from_value(&*comprehension.accu_var, initial);
    // The value of an item that decides an `all` or `exists`.
    let decisive = match &comprehension.loop_step.expr {
        Expr::Call(step) if step.func_name == functions::AND => Some(Value::Bool(false)),
        Expr::Call(step) if step.func_name == functions::OR => Some(Value::Bool(true)),
        _ => None,
    };
    // Of items that fail while no other one decides, the first one's error counts.
    let mut failure = None;
    for (key, value) in pairs(&range)? {
        if Value::resolve(&comprehension.loop_cond, &scope)? != Value::Bool(true) {
            break;
        }
        match &comprehension.iter_var2 {
            Some(second) => {
                scope.add_variable_from_value(&*comprehension.iter_var, key);
                scope.add_variable_from_value(&**second, value);
            }
            None if matches!(range, Value::Map(_)) => {
                scope.add_variable_from_value(&*comprehension.iter_var, key);
            }
            None => scope.add_variable_from_value(&*comprehension.iter_var, value),
        }
        match Value::resolve(&comprehension.loop_step, &scope) {
            Ok(decided) if failure.is_some() && Some(&decided) == decisive.as_ref() => {
                failure = None;
                scope.add_variable_from_value(&*comprehension.accu_var, decided);
            }
            Ok(accumulated) => {
                state.count_steps(size(&accumulated) / COPIES_PER_STEP)?;
                scope.add_variable_from_value(&*comprehension.accu_var, accumulated);
            }
            Err(error) if decisive.is_some() => failure = failure.or(Some(error)),
            Err(error) => return Err(error),
        }
    }
    match failure {
        Some(error) => Err(error),
        None => Value::resolve(&comprehension.result, &scope),
    }
}

/// The number of entries that a copy of the value copies.
fn size(value: &Value) -> usize {
    match value {
        Value::List(items) => items.len(),
        Value::Map(map) => map.map.len(),
        _ => 0,
    }
}

/// The indexes and items of a list, or the keys and values of a map.
fn pairs(range: &Value) -> Result<Vec<(Value, Value)>, ExecutionError> {
    match range {
        Value::List(items) => Ok((0..).map(Value::Int).zip(items.iter().cloned()).collect()),
        Value::Map(map) => Ok(map
            .map
            .iter()
            .map(|(key, value)| (Value::from(key), value.clone()))
            .collect()),
        _ => Err(ExecutionError::NoSuchOverload),
    }
}

/// Adds a key with a value, or the entries of a second map, to a map.
fn map_insert(call: &mut FunctionContext<'_, '_>) -> Result<Value, ExecutionError> {
    let args = operands(call)?;
    let (map, added): (&Map, HashMap<Key, Value>) = match &args[..] {
        [Value::Map(map), Value::Map(added)] => (map, (*added.map).clone()),
        [Value::Map(map), key, value] => (map, HashMap::from([(to_key(key)?, value.clone())])),
        _ => return Err(ExecutionError::NoSuchOverload),
    };
    let mut entries = (*map.map).clone();
    for (key, value) in added {
        if entries.contains_key(&key) {
            let why = format!("insert failed: key {key} already exists");
            return Err(ExecutionError::function_error(MAP_INSERT, why));
        }
        entries.insert(key, value);
    }
    Ok(Value::Map(Map {
        map: Arc::new(entries),
    }))
}

fn to_key(value: &Value) -> Result<Key, ExecutionError> {
    match value {
        Value::Bool(truth) => Ok(Key::Bool(*truth)),
        Value::Int(number) => Ok(Key::Int(*number)),
        Value::String(text) => Ok(Key::String(text.clone())),
        Value::UInt(number) => Ok(Key::Uint(*number)),
        _ => Err(ExecutionError::NoSuchOverload),
    }
}

/// Sorts a list by a list of keys, one for each item. Items of equal keys keep their order.
fn sort_by_keys(call: &mut FunctionContext<'_, '_>) -> Result<Value, ExecutionError> {
    let args = operands(call)?;
    let [Value::List(items), Value::List(keys)] = &args[..] else {
        return Err(ExecutionError::NoSuchOverload);
    };
    // Without an order of all keys, they cannot be sorted.
    let is_alike = |two: &[Value]| {
        std::mem::discriminant(&two[0]) == std::mem::discriminant(&two[1])
            && two[0].partial_cmp(&two[1]).is_some()
    };
    if !keys.windows(2).all(is_alike) {
        let why = "list elements must have the same type";
        return Err(ExecutionError::function_error(SORT_BY_KEYS, why));
    }
    let mut sorted: Vec<(&Value, &Value)> = keys.iter().zip(items.iter()).collect();
    sorted.sort_by(|(one, _), (other, _)| one.partial_cmp(other).unwrap_or(Ordering::Equal));
    Ok(Value::List(Arc::new(
        sorted.into_iter().map(|(_, item)| item.clone()).collect(),
    )))
}

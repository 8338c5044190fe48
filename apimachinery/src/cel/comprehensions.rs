//! What the macros that kube-cel lacks expand to ([`super::macros`]): comprehensions with two variables, and the functions of their steps.

use super::functions::add;
use super::macros::{MAP_INSERT, SORT_BY_KEYS};
use kube_cel::cel::common::ast::{ComprehensionExpr, Expr};
use kube_cel::cel::objects::{Key, Map};
use kube_cel::cel::{Context, ExecutionError, FunctionContext, Value};
use std::cmp::Ordering;
use std::collections::HashMap;
use std::sync::Arc;

/// Evaluates its argument, a comprehension with two variables.
pub(super) const WITH_TWO_VARIABLES: &str = "@comprehension";

/// Adds the functions.
pub(super) fn register(context: &mut Context<'_>) {
    add(context, WITH_TWO_VARIABLES, with_two_variables);
    add(context, MAP_INSERT, map_insert);
    add(context, SORT_BY_KEYS, sort_by_keys);
}

fn with_two_variables(call: &mut FunctionContext<'_, '_>) -> Result<Value, ExecutionError> {
    let args = call.args;
    let [argument] = args else {
        return Err(ExecutionError::missing_argument_or_target());
    };
    match &argument.expr {
        Expr::Comprehension(comprehension) => evaluate(comprehension, call.ptx),
        _ => Err(ExecutionError::NoSuchOverload),
    }
}

fn evaluate(comprehension: &ComprehensionExpr, context: &Context<'_>) -> Result<Value, ExecutionError> {
    let range = Value::resolve(&comprehension.iter_range, context)?;
    let mut scope = context.new_inner_scope();
    let initial = Value::resolve(&comprehension.accu_init, context)?;
    scope.add_variable_from_value(&*comprehension.accu_var, initial);
    let second = comprehension.iter_var2.as_deref().unwrap_or_default();
    for (key, value) in pairs(&range)? {
        if Value::resolve(&comprehension.loop_cond, &scope)? != Value::Bool(true) {
            break;
        }
        scope.add_variable_from_value(&*comprehension.iter_var, key);
        scope.add_variable_from_value(second, value);
        let accumulated = Value::resolve(&comprehension.loop_step, &scope)?;
        scope.add_variable_from_value(&*comprehension.accu_var, accumulated);
    }
    Value::resolve(&comprehension.result, &scope)
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
    let args = call.args.iter().map(|arg| Value::resolve(arg, call.ptx));
    let args: Vec<Value> = args.collect::<Result<_, _>>()?;
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
    let args = call.args.iter().map(|arg| Value::resolve(arg, call.ptx));
    let args: Vec<Value> = args.collect::<Result<_, _>>()?;
    let [Value::List(items), Value::List(keys)] = &args[..] else {
        return Err(ExecutionError::NoSuchOverload);
    };
    if keys.windows(2).any(|two| two[0].partial_cmp(&two[1]).is_none()) {
        let why = "list elements must have the same type";
        return Err(ExecutionError::function_error(SORT_BY_KEYS, why));
    }
    let mut sorted: Vec<(&Value, &Value)> = keys.iter().zip(items.iter()).collect();
    sorted.sort_by(|(one, _), (other, _)| one.partial_cmp(other).unwrap_or(Ordering::Equal));
    Ok(Value::List(Arc::new(
        sorted.into_iter().map(|(_, item)| item.clone()).collect(),
    )))
}

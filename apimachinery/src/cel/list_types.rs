//! Lists of type set and map in rules: they are compared without their order, and `+` merges them. What counts is the list on the left, which
//! must be a field.

use super::functions::{add, operands};
use super::schema_types::escaped;
use kube_cel::cel::common::ast::{CallExpr, Expr, IdedExpr, operators};
use kube_cel::cel::objects::KeyRef;
use kube_cel::cel::{Context, ExecutionError, FunctionContext, Value};
use serde_json::Value as Json;
use std::sync::Arc;

/// Compares two lists; the other arguments are the keys of the items of lists of type map.
pub(super) const EQUALS: &str = "@list_equals";
/// Merges two lists; the other arguments are those of [`EQUALS`].
pub(super) const MERGE: &str = "@list_merge";

/// Adds the functions.
pub(super) fn register(context: &mut Context<'_>) {
    add(context, EQUALS, |call| {
        let (left, right, keys) = arguments(call)?;
        let has = |item: &Value| {
            left.iter()
                .find(|known| has_key_of(known, item, &keys))
                .is_some_and(|known| known == item)
        };
        Ok(Value::Bool(left.len() == right.len() && right.iter().all(has)))
    });
    add(context, MERGE, |call| {
        let (left, right, keys) = arguments(call)?;
        let mut merged = (*left).clone();
        for item in right.iter() {
            match merged.iter().position(|known| has_key_of(known, item, &keys)) {
                Some(at) => merged[at] = item.clone(),
                None => merged.push(item.clone()),
            }
        }
        Ok(Value::List(Arc::new(merged)))
    });
}

/// Returns the keys of the items of a list of type map or set, which has none, that an expression selects; None for other expressions.
/// `schema` is that of the variables `self` and `oldSelf`.
pub(super) fn keys(
    expression: &IdedExpr,
    schema: &Json,
    is_free: &dyn Fn(&str) -> bool,
) -> Option<Vec<String>> {
    let list = schema_of(expression, schema, is_free)?;
    match list["x-kubernetes-list-type"].as_str()? {
        "set" => Some(vec![]),
        "map" => {
            let keys = list["x-kubernetes-list-map-keys"].as_array()?;
            Some(keys.iter().filter_map(Json::as_str).map(escaped).collect())
        }
        _ => None,
    }
}

fn schema_of<'s>(
    expression: &IdedExpr,
    schema: &'s Json,
    is_free: &dyn Fn(&str) -> bool,
) -> Option<&'s Json> {
    match &expression.expr {
        Expr::Ident(name) if matches!(name.as_str(), "self" | "oldSelf") && is_free(name) => Some(schema),
        Expr::Select(select) => {
            let operand = schema_of(&select.operand, schema, is_free)?;
            let fields = operand["properties"].as_object();
            let found = fields
                .into_iter()
                .flatten()
                .find(|(name, _)| escaped(name) == select.field);
            found
                .map(|(_, field)| field)
                .or_else(|| operand.get("additionalProperties"))
        }
        Expr::Call(CallExpr { func_name, args, .. }) if func_name == operators::INDEX => {
            let collection = schema_of(args.first()?, schema, is_free)?;
            collection
                .get("items")
                .or_else(|| collection.get("additionalProperties"))
        }
        Expr::Call(CallExpr { func_name, args, .. }) if func_name == operators::ADD => {
            schema_of(args.first()?, schema, is_free)
        }
        _ => None,
    }
}

type Arguments = (Arc<Vec<Value>>, Arc<Vec<Value>>, Vec<Arc<String>>);

fn arguments(call: &FunctionContext<'_, '_>) -> Result<Arguments, ExecutionError> {
    let operands = operands(call)?;
    let [Value::List(left), Value::List(right), keys @ ..] = &operands[..] else {
        return Err(ExecutionError::NoSuchOverload);
    };
    let keys = keys.iter().map(|key| match key {
        Value::String(key) => Ok(key.clone()),
        _ => Err(ExecutionError::NoSuchOverload),
    });
    Ok((left.clone(), right.clone(), keys.collect::<Result<_, _>>()?))
}

/// Whether two items have the same keys. An item of a set is its own key.
fn has_key_of(one: &Value, other: &Value, keys: &[Arc<String>]) -> bool {
    match (one, other) {
        (Value::Map(one), Value::Map(other)) if !keys.is_empty() => keys.iter().all(|key| {
            let key = KeyRef::String(key);
            one.get(&key) == other.get(&key)
        }),
        _ => one == other,
    }
}

//! The functions that [`super::lowering`] calls.

use super::activation::State;
use super::{comprehensions, list_types, type_values};
use kube_cel::cel::common::ast::{Expr, LiteralValue};
use kube_cel::cel::common::types::{CelString, LIST_TYPE, MAP_TYPE, OPTIONAL_TYPE};
use kube_cel::cel::common::value::Val;
use kube_cel::cel::objects::{KeyRef, Opaque, OptionalValue};
use kube_cel::cel::parser::Expression as Ast;
use kube_cel::cel::{Context, ExecutionError, FunctionContext, Value};
use std::borrow::Cow;
use std::sync::Arc;

/// Selects a field below the first argument, by the path that the others are.
pub(super) const SELECT: &str = "@select";
/// True if there is a field below the first argument.
pub(super) const HAS: &str = "@has";
/// Selects a field of a value that may lack it.
pub(super) const OPTIONAL_SELECT: &str = "@optional_select";
/// As the operators `&&` and `||`: of two operands that fail, the first one's error counts.
pub(super) const AND: &str = "@and";
pub(super) const OR: &str = "@or";
/// As the operator `-`, which overflows in kube-cel.
pub(super) const NEGATE: &str = "@negate";
/// Whether two values are equal, be they numbers of different types.
pub(super) const EQUALS: &str = "@equals";
/// Whether a list contains a value, or a map has it as a key.
pub(super) const IN: &str = "@in_any";
/// Returns a composed variable.
pub(super) const VARIABLE: &str = "@variable";
/// Counts a step of a comprehension; an error if there were too many.
pub(super) const COUNT_STEP: &str = "@count_step";
/// Evaluates the first argument, and then the second one, in which it is called [`ARGUMENT`].
pub(super) const APPLY: &str = "@apply";
/// The name of an argument that is evaluated already.
pub(super) const ARGUMENT: &str = "@argument";
/// The variable `authorizer.requestResource`.
pub(super) const REQUEST_RESOURCE: &str = "authorizer.requestResource";

/// A function as kube-cel calls it.
pub(super) type Function =
    Box<dyn Fn(&mut FunctionContext<'_, '_>) -> Result<Value, ExecutionError> + Send + Sync>;

pub(super) fn add(
    context: &mut Context<'_>,
    name: &str,
    function: impl Fn(&mut FunctionContext<'_, '_>) -> Result<Value, ExecutionError> + Send + Sync + 'static,
) {
    context.add_function::<Function, Function>(name, Box::new(function));
}

/// Adds the functions that expressions are lowered to.
pub(super) fn register(context: &mut Context<'_>, state: &Arc<State>) {
    add(context, SELECT, select);
    add(context, HAS, has);
    add(context, OPTIONAL_SELECT, optional_select);
    add(context, APPLY, apply);
    add(context, AND, |call| logical_and_or(call, false));
    add(context, OR, |call| logical_and_or(call, true));
    add(context, NEGATE, |call| match &operands(call)?[..] {
        [Value::Int(number)] => {
            let overflow = || ExecutionError::function_error(NEGATE, "integer overflow");
            number.checked_neg().map(Value::Int).ok_or_else(overflow)
        }
        [Value::Float(number)] => Ok(Value::Float(-number)),
        _ => Err(ExecutionError::NoSuchOverload),
    });
    add(context, EQUALS, |call| match &operands(call)?[..] {
        [left, right] => Ok(Value::Bool(are_equal(left, right))),
        _ => Err(ExecutionError::NoSuchOverload),
    });
    add(context, IN, |call| match &operands(call)?[..] {
        [item, Value::List(items)] => Ok(Value::Bool(items.contains(item))),
        [item, Value::Map(map)] => Ok(Value::Bool(map.map.keys().any(|key| Value::from(key) == *item))),
        _ => Err(ExecutionError::NoSuchOverload),
    });
    comprehensions::register(context, state);
    list_types::register(context);
    type_values::register(context);
    let shared = state.clone();
    add(context, COUNT_STEP, move |_| {
        shared.count_steps(1)?;
        Ok(Value::Bool(true))
    });
    let shared = state.clone();
    add(context, VARIABLE, move |call| {
        let [name] = texts(call.args, call)?.try_into().unwrap_or_default();
        shared.variable(&name, root(call.ptx))
    });
}

/// kube-cel finds no two optional values equal.
fn are_equal(left: &Value, right: &Value) -> bool {
    match (
        <&OptionalValue>::try_from(left),
        <&OptionalValue>::try_from(right),
    ) {
        (Ok(left), Ok(right)) => match (left.value(), right.value()) {
            (Some(left), Some(right)) => are_equal(left, right),
            (left, right) => left.is_none() && right.is_none(),
        },
        _ => left == right,
    }
}

fn select(call: &mut FunctionContext<'_, '_>) -> Result<Value, ExecutionError> {
    let (operand, fields) = operand_and_fields(call)?;
    let operand = Value::resolve_val(operand, call.ptx)?;
    match optional(operand.as_ref())? {
        Some(optional) => Ok(optional_at(&optional, &fields)),
        None => Value::try_from(find(operand.as_ref(), &fields)?),
    }
}

fn has(call: &mut FunctionContext<'_, '_>) -> Result<Value, ExecutionError> {
    let (operand, mut fields) = operand_and_fields(call)?;
    let operand = Value::resolve_val(operand, call.ptx)?;
    if let Some(optional) = optional(operand.as_ref())? {
        let found = optional.value().and_then(|value| at(value, &fields));
        return Ok(Value::Bool(found.is_some()));
    }
    // Only the last field may be missing.
    let last = fields.pop();
    let parent = find(operand.as_ref(), &fields)?;
    if parent.get_type() == LIST_TYPE {
        let why = "unsupported index type 'string' in list";
        return Err(ExecutionError::function_error(HAS, why));
    }
    Ok(Value::Bool(find(parent, last.as_slice()).is_ok()))
}

fn optional_select(call: &mut FunctionContext<'_, '_>) -> Result<Value, ExecutionError> {
    let (operand, fields) = operand_and_fields(call)?;
    let operand = Value::resolve_val(operand, call.ptx)?;
    match optional(operand.as_ref())? {
        Some(optional) => Ok(optional_at(&optional, &fields)),
        None => match find(operand.as_ref(), &fields) {
            Ok(value) => Ok(opaque(OptionalValue::of(Value::try_from(value)?))),
            Err(_) => Ok(opaque(OptionalValue::none())),
        },
    }
}

fn apply(call: &mut FunctionContext<'_, '_>) -> Result<Value, ExecutionError> {
    let [argument, function] = call.args else {
        return Err(ExecutionError::missing_argument_or_target());
    };
    let argument = Value::resolve(argument, call.ptx)?;
    let mut scope = call.ptx.new_inner_scope();
    scope.add_variable_from_value(ARGUMENT, argument);
    Value::resolve(function, &scope)
}

/// Evaluates operands until one decides, with the value `decisive`.
fn logical_and_or(call: &FunctionContext<'_, '_>, decisive: bool) -> Result<Value, ExecutionError> {
    let mut failure = None;
    for operand in call.args {
        match Value::resolve(operand, call.ptx) {
            Ok(Value::Bool(truth)) if truth == decisive => return Ok(Value::Bool(decisive)),
            Ok(Value::Bool(_)) => {}
            Ok(_) => failure = failure.or(Some(ExecutionError::NoSuchOverload)),
            Err(error) => failure = failure.or(Some(error)),
        }
    }
    failure.map_or(Ok(Value::Bool(!decisive)), Err)
}

/// The first argument, and the others, which are names of fields.
fn operand_and_fields<'call>(
    call: &FunctionContext<'_, 'call>,
) -> Result<(&'call Ast, Vec<&'call CelString>), ExecutionError> {
    let args: &'call [Ast] = call.args;
    let (operand, fields) = args
        .split_first()
        .ok_or_else(ExecutionError::missing_argument_or_target)?;
    let fields = fields.iter().map(|field| match &field.expr {
        Expr::Literal(LiteralValue::String(name)) => Ok(name),
        _ => Err(ExecutionError::NoSuchOverload),
    });
    Ok((operand, fields.collect::<Result<_, _>>()?))
}

/// Returns the value at a path. Only maps have fields, so this borrows.
fn find<'v>(value: &'v dyn Val, path: &[&CelString]) -> Result<&'v dyn Val, ExecutionError> {
    path.iter().try_fold(value, |value, field| {
        let fields = value.as_indexer().filter(|_| value.get_type() == MAP_TYPE);
        match fields.map(|fields| fields.get(*field)) {
            Some(Ok(Cow::Borrowed(found))) => Ok(found),
            _ => Err(ExecutionError::no_such_key(field.inner())),
        }
    })
}

fn at<'v>(value: &'v Value, path: &[&CelString]) -> Option<&'v Value> {
    path.iter().try_fold(value, |value, field| match value {
        Value::Map(map) => map.get(&KeyRef::String(field.inner())),
        _ => None,
    })
}

/// The value at a path below an optional value, as an optional value.
fn optional_at(optional: &OptionalValue, path: &[&CelString]) -> Value {
    let found = optional.value().and_then(|value| at(value, path));
    opaque(found.map_or_else(OptionalValue::none, |found| OptionalValue::of(found.clone())))
}

/// Returns an optional value; None for other values.
fn optional(value: &dyn Val) -> Result<Option<OptionalValue>, ExecutionError> {
    if value.get_type() != OPTIONAL_TYPE {
        return Ok(None);
    }
    let value = Value::try_from(value)?;
    let optional = <&OptionalValue>::try_from(&value)?;
    let inner = optional.value().cloned();
    Ok(Some(inner.map_or_else(OptionalValue::none, OptionalValue::of)))
}

pub(super) fn opaque(value: impl Opaque) -> Value {
    Value::Opaque(Arc::new(value))
}

/// Evaluates the arguments; the receiver, if there is one, comes first.
pub(super) fn operands(call: &FunctionContext<'_, '_>) -> Result<Vec<Value>, ExecutionError> {
    let receiver = call.this.iter().cloned().map(Ok);
    let arguments = call.args.iter().map(|arg| Value::resolve(arg, call.ptx));
    receiver.chain(arguments).collect()
}

/// Evaluates arguments that are strings.
pub(super) fn texts(args: &[Ast], call: &FunctionContext<'_, '_>) -> Result<Vec<String>, ExecutionError> {
    let texts = args.iter().map(|arg| match Value::resolve(arg, call.ptx)? {
        Value::String(text) => Ok(text.to_string()),
        _ => Err(ExecutionError::NoSuchOverload),
    });
    texts.collect()
}

/// The context outside of all comprehensions.
fn root<'c>(context: &'c Context<'c>) -> &'c Context<'c> {
    match context {
        Context::Child { parent, .. } => root(parent),
        Context::Root { .. } => context,
    }
}

//! The functions of the variable `authorizer`.

use super::access::AccessCheck;
use super::activation::State;
use super::functions::{add, opaque, texts};
use kube_cel::cel::objects::Opaque;
use kube_cel::cel::{Context, ExecutionError, FunctionContext, Value};
use std::mem::take;
use std::sync::Arc;

/// A value of one of the authorizer's types.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum AuthorizerValue {
    /// `authorizer`, and what its functions return before `check`.
    Check(AccessCheck),
    /// What `check` returns: why access is allowed, or None.
    Decision(Option<String>),
}

impl Opaque for AuthorizerValue {
    fn runtime_type_name(&self) -> &'static str {
        match self {
            Self::Check(_) => "kubernetes.authorization.Authorizer",
            Self::Decision(_) => "kubernetes.authorization.Decision",
        }
    }
}

/// Sets a part of a check to the arguments of a function.
type Set = fn(&mut AccessCheck, &mut [String]);

/// The functions that make a check more precise, and the number of their arguments.
const SETTERS: &[(&str, usize, Set)] = &[
    ("group", 1, |check, args| check.group = take(&mut args[0])),
    ("resource", 1, |check, args| check.resource = take(&mut args[0])),
    ("subresource", 1, |check, args| {
        check.subresource = take(&mut args[0]);
    }),
    ("namespace", 1, |check, args| check.namespace = take(&mut args[0])),
    ("name", 1, |check, args| check.name = take(&mut args[0])),
    ("path", 1, |check, args| check.path = Some(take(&mut args[0]))),
    ("serviceAccount", 2, |check, args| {
        check.service_account = Some((take(&mut args[0]), take(&mut args[1])));
    }),
    // Roles cannot grant access by selectors.
    ("fieldSelector", 1, |_, _| {}),
    ("labelSelector", 1, |_, _| {}),
];

/// Adds the functions.
pub(super) fn register(context: &mut Context<'_>, state: &Arc<State>) {
    for (name, count, set) in SETTERS {
        add(context, name, move |call| {
            let (mut check, mut args) = (check_of(call)?, texts(call.args, call)?);
            if args.len() != *count {
                return Err(ExecutionError::invalid_argument_count(*count, args.len()));
            }
            set(&mut check, &mut args);
            Ok(opaque(AuthorizerValue::Check(check)))
        });
    }
    let shared = state.clone();
    add(context, "check", move |call| {
        let [verb] = texts(call.args, call)?.try_into().unwrap_or_default();
        let check = AccessCheck {
            verb,
            ..check_of(call)?
        };
        Ok(opaque(AuthorizerValue::Decision(shared.decide(check)?)))
    });
    add(context, "allowed", |call| {
        Ok(Value::Bool(decision_of(call)?.is_some()))
    });
    add(context, "reason", |call| {
        Ok(decision_of(call)?.unwrap_or_default().into())
    });
    add(context, "errored", |call| {
        decision_of(call).map(|_| Value::Bool(false))
    });
    add(context, "error", |call| {
        decision_of(call).map(|_| String::new().into())
    });
}

fn check_of(call: &FunctionContext<'_, '_>) -> Result<AccessCheck, ExecutionError> {
    match target(call) {
        Some(AuthorizerValue::Check(check)) => Ok(check),
        _ => Err(ExecutionError::NoSuchOverload),
    }
}

fn decision_of(call: &FunctionContext<'_, '_>) -> Result<Option<String>, ExecutionError> {
    match target(call) {
        Some(AuthorizerValue::Decision(decision)) => Ok(decision),
        _ => Err(ExecutionError::NoSuchOverload),
    }
}

fn target(call: &FunctionContext<'_, '_>) -> Option<AuthorizerValue> {
    match &call.this {
        Some(Value::Opaque(value)) => value.downcast_ref::<AuthorizerValue>().cloned(),
        _ => None,
    }
}

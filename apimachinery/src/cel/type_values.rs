//! Types as values: the function `type`, and the names of types.

use super::functions::{add, opaque, texts};
use kube_cel::cel::objects::Opaque;
use kube_cel::cel::{Context, ExecutionError, FunctionContext, Value};

/// Returns the type of its argument.
pub(super) const TYPE_OF: &str = "type";
/// Returns the type of this name.
pub(super) const TYPE: &str = "@type";
/// A type, by its name.
#[derive(Debug, PartialEq, Eq)]
struct TypeValue(String);

impl Opaque for TypeValue {
    fn runtime_type_name(&self) -> &'static str {
        "type"
    }
}

/// Adds the functions.
pub(super) fn register(context: &mut Context<'_>) {
    add(context, TYPE_OF, type_of);
    add(context, TYPE, |call| {
        let names = texts(call.args, call)?;
        Ok(opaque(TypeValue(names.concat())))
    });
}

fn type_of(call: &mut FunctionContext<'_, '_>) -> Result<Value, ExecutionError> {
    let [argument] = call.args else {
        return Err(ExecutionError::missing_argument_or_target());
    };
    let value = Value::resolve(argument, call.ptx)?;
    Ok(opaque(TypeValue(name_of(&value).to_owned())))
}

/// Returns the name that a value stands for, if it is a type.
pub(super) fn type_named_by(value: &Value) -> Option<&str> {
    match value {
        Value::Opaque(value) => Some(&value.downcast_ref::<TypeValue>()?.0),
        _ => None,
    }
}

/// The name of a value's type.
pub(super) fn name_of(value: &Value) -> &str {
    match value {
        Value::Bool(_) => "bool",
        Value::Bytes(_) => "bytes",
        Value::Duration(_) => "google.protobuf.Duration",
        Value::Float(_) => "double",
        Value::Int(_) => "int",
        Value::List(_) => "list",
        Value::Map(_) => "map",
        Value::Null => "null_type",
        Value::Opaque(value) => value.runtime_type_name(),
        Value::String(_) => "string",
        Value::Timestamp(_) => "google.protobuf.Timestamp",
        Value::UInt(_) => "uint",
        Value::Function(..) => "function",
    }
}

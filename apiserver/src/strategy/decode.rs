//! Decoding of objects as their kind: pruning of unknown fields, and defaults.

use super::TEMPLATE_GENERATION_ANNOTATION;
use crate::builtin;
use crate::kinds::Kind;
use crate::types::{self, DecodeError, Type};
use serde_json::{Map, Value};
use std::num::IntErrorKind;

/// Prunes unknown fields and returns a message for each, then sets defaults. The result of an apply is not decoded: its nulls stay. The error
/// is Go's message about a value of the wrong type.
pub(crate) fn prune_and_default(
    kind: &Kind,
    object: &mut Value,
    applied: bool,
) -> Result<Vec<String>, String> {
    if let Some(definition) = &kind.definition {
        let Some(version) = definition.version(&kind.version) else {
            return Ok(vec![]);
        };
        // The result of an apply has passed a typed conversion; its times are strings.
        if !applied {
            // kube-apiserver decodes the metadata separately.
            let ty = Type::named("meta.v1.ObjectMeta");
            if let Some(why) = first_mismatch(&mut object["metadata"], &ty) {
                return Err(why);
            }
        }
        let unknown = version
            .schema
            .decode(object, applied)
            .map_err(|why| why.to_string())?;
        version.schema.default(object);
        return Ok(unknown
            .iter()
            .map(|path| format!("unknown field \"{path}\""))
            .collect());
    }
    let Some(ty) = types::builtin(&kind.api_version(), &kind.kind) else {
        return Ok(vec![]);
    };
    let mut unknown = vec![];
    for fault in types::check(object, ty, true) {
        match fault {
            DecodeError::Unknown(_) => unknown.push(fault.to_string()),
            DecodeError::Mismatch(why) => {
                return Err(why);
            }
        }
    }
    // A node's allocatable that was sent empty gets no manager when it is defaulted, because kube-apiserver defaults it after storing.
    let is_empty = kind.kind == "Node"
        && object["status"]["allocatable"]
            .as_object()
            .is_some_and(Map::is_empty);
    types::normalize(object, ty);
    builtin::apply_defaults(object, ty);
    if is_empty && let Some(Value::Object(status)) = object.get_mut("status") {
        status.remove("allocatable");
    }
    check_template_generation(kind, object)?;
    super::apply_conversions(kind, object);
    Ok(unknown)
}

/// Checks the annotation of a DaemonSet that is a number in kube-apiserver's internal version.
fn check_template_generation(kind: &Kind, object: &Value) -> Result<(), String> {
    let generation = object["metadata"]["annotations"][TEMPLATE_GENERATION_ANNOTATION].as_str();
    let Some(generation) = generation.filter(|_| kind.kind == "DaemonSet" && kind.group == "apps") else {
        return Ok(());
    };
    let why = match generation.parse::<i64>().map_err(|error| *error.kind()) {
        Ok(_) => return Ok(()),
        Err(IntErrorKind::PosOverflow | IntErrorKind::NegOverflow) => "value out of range",
        Err(_) => "invalid syntax",
    };
    Err(format!("strconv.ParseInt: parsing {generation:?}: {why}"))
}

/// Returns the first mismatch, where Go's decoder stops.
pub(crate) fn first_mismatch(value: &mut Value, ty: &Type) -> Option<String> {
    let mut faults = types::check(value, ty, false).into_iter();
    faults.find_map(|fault| match fault {
        DecodeError::Mismatch(why) => Some(why),
        DecodeError::Unknown(_) => None,
    })
}

//! Migration from kubectl's client-side apply to server-side apply: fields that still have the value of the last-applied annotation do not
//! conflict.

use super::compare::compare;
use super::field_set::FieldSet;
use super::managed_fields::{Manager, Managers};
use super::path_element::escaped;
use super::{ApplyError, ConflictCause, Write, typed_value};
use serde_json::Value;

const ANNOTATION: &str = "kubectl.kubernetes.io/last-applied-configuration";
/// Maximum size of all annotations of an object together.
const MAX_ANNOTATIONS_BYTES: usize = 256 << 10;

/// Retries the apply with force if all conflicting fields still have the value of the annotation; otherwise returns the other conflicts.
pub(super) fn retry_with_force(
    live: &Value,
    config: &Value,
    write: Write<'_, '_>,
    managers: &Managers,
    manager: &Manager,
    conflict: &ApplyError,
) -> Result<(Option<Value>, Managers), ApplyError> {
    let Some(allowed) = fields_matching_annotation(live, write) else {
        return Err(conflict.clone());
    };
    let ApplyError::Conflict { causes, .. } = conflict else {
        return Err(conflict.clone());
    };
    let shown = |path: &[super::PathElement]| path.iter().map(ToString::to_string).collect::<String>();
    let allowed: Vec<String> = allowed.paths().iter().map(|path| shown(path)).collect();
    let others = causes.iter().filter(|cause| !allowed.contains(&cause.field));
    let others: Vec<ConflictCause> = others.cloned().collect();
    if others.is_empty() {
        return write.apply(live, config, managers, manager, true);
    }
    Err(ApplyError::of_causes(others))
}

/// Returns the fields with equal values in the live object and the annotation.
fn fields_matching_annotation(live: &Value, write: Write<'_, '_>) -> Option<FieldSet> {
    let last: Value = serde_json::from_str(live["metadata"]["annotations"][ANNOTATION].as_str()?).ok()?;
    if last["apiVersion"] != write.api_version {
        return None;
    }
    let ty = (write.types)(write.api_version)?;
    let changes = compare(&last, live, ty);
    let set = typed_value::field_set(&last, ty);
    Some(
        set.difference(&changes.modified)
            .difference(&changes.added)
            .difference(&changes.removed),
    )
}

/// Updates the annotation, if the object has one, so that a client-side apply may follow.
pub(super) fn update_annotation(object: &mut Value, config: &Value) {
    let Some(annotations) = object
        .pointer_mut("/metadata/annotations")
        .and_then(Value::as_object_mut)
    else {
        return;
    };
    if annotations
        .get(ANNOTATION)
        .and_then(Value::as_str)
        .is_none_or(str::is_empty)
    {
        return;
    }
    let mut config = config.clone();
    if let Some(annotations) = config
        .pointer_mut("/metadata/annotations")
        .and_then(Value::as_object_mut)
    {
        annotations.remove(ANNOTATION);
    }
    annotations.insert(
        ANNOTATION.to_owned(),
        Value::String(format!("{}\n", escaped(&config))),
    );
    let length = |(name, value): (&String, &Value)| name.len() + value.as_str().map_or(0, str::len);
    if annotations.iter().map(length).sum::<usize>() > MAX_ANNOTATIONS_BYTES {
        annotations.remove(ANNOTATION);
    }
}

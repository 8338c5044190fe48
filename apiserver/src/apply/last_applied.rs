//! The way from client-side to server-side apply with kubectl: what the annotation of the last client-side apply says is no conflict.

use super::compare::compare;
use super::managed::{Manager, Managers};
use super::set::FieldSet;
use super::{ApplyError, Write, attempt, walk};
use serde_json::Value;

const ANNOTATION: &str = "kubectl.kubernetes.io/last-applied-configuration";
/// All annotations of an object together may not be longer.
const MAX_ANNOTATIONS: usize = 256 << 10;

/// Applies again with force when all conflicts are about fields that still have the value of the annotation; else the conflict.
pub(super) fn allows(
    live: &Value,
    config: &Value,
    write: Write<'_, '_>,
    managers: &Managers,
    manager: &Manager,
    conflict: &ApplyError,
) -> Result<(Option<Value>, Managers), ApplyError> {
    let scope = write.scope();
    let Some(allowed) = unchanged_since(live, write) else {
        return Err(conflict.clone());
    };
    let ApplyError::Conflict { causes, .. } = conflict else {
        return Err(conflict.clone());
    };
    let shown = |path: &[super::PathElement]| path.iter().map(ToString::to_string).collect::<String>();
    let allowed: Vec<String> = allowed.paths().iter().map(|path| shown(path)).collect();
    if causes.iter().all(|cause| allowed.contains(&cause.field)) {
        let (outcome, managers) = attempt(&scope, live, config, managers, manager, true);
        return Ok((outcome?, managers));
    }
    Err(conflict.clone())
}

/// The fields of the annotation that are what it says.
fn unchanged_since(live: &Value, write: Write<'_, '_>) -> Option<FieldSet> {
    let last: Value = serde_json::from_str(live["metadata"]["annotations"][ANNOTATION].as_str()?).ok()?;
    if last["apiVersion"] != write.api_version {
        return None;
    }
    let ty = (write.types)(write.api_version)?;
    let changes = compare(&last, live, ty);
    let set = walk::field_set(&last, ty);
    Some(
        set.difference(&changes.modified)
            .difference(&changes.added)
            .difference(&changes.removed),
    )
}

/// Keeps the annotation true where there is one, so that a client-side apply may follow.
pub(super) fn renew(object: &mut Value, config: &Value) {
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
    annotations.insert(ANNOTATION.to_owned(), Value::String(format!("{config}\n")));
    let length = |(name, value): (&String, &Value)| name.len() + value.as_str().map_or(0, str::len);
    if annotations.iter().map(length).sum::<usize>() > MAX_ANNOTATIONS {
        annotations.remove(ANNOTATION);
    }
}

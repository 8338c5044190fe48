//! What is wrong with an object, beyond its metadata.

use super::{Registry, ScalePaths};
use crate::builtin;
use crate::kinds::Kind;
use crate::meta;
use crate::status::{ApiError, Cause};
use crate::strategy::{self, AllocationError};
use crate::types::ExplicitEmptyFields;
use serde_json::Value;

/// What is wrong with an object that is new, or replaces another.
pub(super) fn validate(
    kind: &Kind,
    object: &Value,
    old: Option<&Value>,
    empties: &ExplicitEmptyFields,
) -> Vec<Cause> {
    let Some(definition) = &kind.definition else {
        return of_builtin(kind, object, old, empties, "");
    };
    let metadata = builtin::validate_metadata(&object["metadata"], "metadata");
    let version = definition.version(&kind.version);
    let errors = version.map(|version| version.schema.validate(object, old));
    let errors = metadata.into_iter().chain(errors.into_iter().flatten());
    let scale = version.and_then(|version| version.scale.as_ref());
    let scale = scale.map(|scale| check_scale(scale, object)).unwrap_or_default();
    let again = metadata_again(object, old);
    again
        .into_iter()
        .chain(errors.map(Cause::from))
        .chain(scale)
        .collect()
}

fn of_builtin(
    kind: &Kind,
    object: &Value,
    old: Option<&Value>,
    empties: &ExplicitEmptyFields,
    part: &str,
) -> Vec<Cause> {
    let mut causes = metadata_again(object, old);
    causes.extend(strategy::validate(kind, object, old, empties, part));
    causes
}

/// The metadata's faults that the rules for all kinds find in an update, where they are applied twice. The kind's own find them, too.
fn metadata_again(object: &Value, old: Option<&Value>) -> Vec<Cause> {
    if old.is_none() {
        return vec![];
    }
    let errors = builtin::validate_metadata(&object["metadata"], "metadata");
    let causes = errors.into_iter().map(Cause::from);
    // A change may not add finalizers to what is being deleted; that they are none they do not see.
    let causes: Vec<Cause> = causes
        .filter(|cause| !cause.field.starts_with("metadata.finalizers"))
        .collect();
    [causes.clone(), causes].concat()
}

/// The same for a part that is written on a path of its own.
pub(super) fn validate_part(
    kind: &Kind,
    part: &str,
    object: &Value,
    old: &Value,
    empties: &ExplicitEmptyFields,
) -> Vec<Cause> {
    match (part, &kind.definition) {
        // Of a custom resource's status only the status is looked at, and called by what lies in it.
        ("status", Some(_)) => {
            let mut causes = validate(kind, object, Some(old), empties);
            causes.iter_mut().for_each(within_status);
            causes
        }
        ("status", None) if kind.kind == "CustomResourceDefinition" => vec![],
        ("status" | "ephemeralcontainers" | "resize", None) => {
            of_builtin(kind, object, Some(old), empties, part)
        }
        _ => validate(kind, object, Some(old), empties),
    }
}

/// What is wrong with an object, as it is told of its status alone.
fn within_status(cause: &mut Cause) {
    let message = cause.message.replace(": status.", ": ");
    cause.message = message.replace(": status in body", ":  in body");
    if cause.message.contains("Checked value must be")
        && let Some((before, at)) = cause.message.split_once(" in status")
    {
        cause.message = format!("{before} in {}", at.trim_start_matches('.'));
        "status".clone_into(&mut cause.field);
    }
}

/// What stands where a definition says that replicas and their selector stand.
fn check_scale(scale: &ScalePaths, object: &Value) -> Vec<Cause> {
    let mut causes = vec![];
    for path in [&scale.spec, &scale.status] {
        let field = format!(".{}", path.join("."));
        match nested(object, path, "int64", |value| value.as_i64().is_some()) {
            Err(why) => causes.push(Cause::invalid(&field, &Value::from(0), why)),
            Ok(Some(value)) if value.as_i64() < Some(0) => {
                causes.push(Cause::invalid(&field, value, "should be a non-negative integer"));
            }
            Ok(Some(value)) if value.as_i64() > Some(i64::from(i32::MAX)) => {
                let why = format!("should be less than or equal to {}", i32::MAX);
                causes.push(Cause::invalid(&field, value, why));
            }
            Ok(_) => {}
        }
    }
    if let Some(path) = &scale.selector
        && let Err(why) = nested(object, path, "string", Value::is_string)
    {
        causes.push(Cause::invalid(
            format!(".{}", path.join(".")),
            &Value::from(""),
            why,
        ));
    }
    causes
}

/// The value at a path, if it is of the Go type that is wanted.
fn nested<'a>(
    object: &'a Value,
    path: &[String],
    wanted: &str,
    fits: impl Fn(&Value) -> bool,
) -> Result<Option<&'a Value>, String> {
    let wrong = |depth: usize, value: &Value, wanted: &str| {
        let (shown, ty) = in_go(value);
        format!(
            ".{} accessor error: {shown} is of the type {ty}, expected {wanted}",
            path[..depth].join(".")
        )
    };
    let mut value = object;
    for (depth, key) in path.iter().enumerate() {
        match value {
            Value::Null => return Ok(None),
            Value::Object(fields) => match fields.get(key) {
                Some(inner) => value = inner,
                None => return Ok(None),
            },
            // The real server names the whole path, wherever it ends.
            other => return Err(wrong(path.len().max(depth), other, "map[string]interface{}")),
        }
    }
    if fits(value) {
        return Ok(Some(value));
    }
    Err(wrong(path.len(), value, wanted))
}

/// A value and its type as Go prints them.
fn in_go(value: &Value) -> (String, &'static str) {
    match value {
        Value::Null => ("<nil>".to_owned(), "<nil>"),
        Value::Bool(truth) => (truth.to_string(), "bool"),
        Value::Number(number) if number.is_i64() => (number.to_string(), "int64"),
        Value::Number(number) => (number.to_string(), "float64"),
        Value::String(text) => (text.clone(), "string"),
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(|item| in_go(item).0).collect();
            (format!("[{}]", items.join(" ")), "[]interface {}")
        }
        Value::Object(fields) => {
            let fields: Vec<String> = fields
                .iter()
                .map(|(name, value)| format!("{name}:{}", in_go(value).0))
                .collect();
            (format!("map[{}]", fields.join(" ")), "map[string]interface {}")
        }
    }
}

impl Registry {
    /// Gives an object what only one object can have, as addresses.
    pub(super) fn allocate(
        &self,
        kind: &Kind,
        object: &mut Value,
        old: Option<&Value>,
        dry_run: bool,
    ) -> Result<(), ApiError> {
        if kind.kind != "Service" || !kind.group.is_empty() {
            return Ok(());
        }
        let services = self.store.list(&kind.table(), "", "", None);
        let services = services.map(|page| page.objects).unwrap_or_default();
        let uid = meta::uid(object).to_owned();
        let others = services.iter().map(|service| service.value());
        let others = others.filter(|other| meta::uid(other) != uid);
        let cause = match strategy::allocate(kind, object, old, others, dry_run) {
            Ok(()) => return Ok(()),
            Err(AllocationError::Internal(why)) => return Err(why),
            Err(AllocationError::InvalidIpFamilies(causes)) => {
                return Err(ApiError::invalid(kind, meta::name(object), &causes));
            }
            Err(AllocationError::Invalid(cause)) => cause,
        };
        // What else is wrong is said first, but of an address only.
        let is_first = !dry_run && meta::name(object).is_empty() || cause.field.ends_with("nodePort");
        if is_first || validate(kind, object, None, &ExplicitEmptyFields::default()).is_empty() {
            return Err(ApiError::invalid(kind, meta::name(object), &[cause]));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_replicas_are_not_is_said_in_go() {
        let scale = ScalePaths {
            spec: vec!["spec".to_owned(), "n".to_owned()],
            status: vec!["status".to_owned(), "n".to_owned()],
            selector: None,
        };
        for (object, why) in [
            (
                json!({ "spec": { "n": "x" } }),
                "x is of the type string, expected int64",
            ),
            (
                json!({ "spec": [1, "a"] }),
                "[1 a] is of the type []interface {}, expected map[string]interface{}",
            ),
            (
                json!({ "status": { "n": 2.5 } }),
                "2.5 is of the type float64, expected int64",
            ),
            (
                json!({ "spec": { "n": null } }),
                "<nil> is of the type <nil>, expected int64",
            ),
            (json!({ "spec": { "n": -1 } }), "should be a non-negative integer"),
        ] {
            let causes = check_scale(&scale, &object);
            assert!(
                causes.len() == 1 && causes[0].message.ends_with(why),
                "{causes:?}"
            );
        }
        assert!(check_scale(&scale, &json!({ "spec": { "n": 3 }, "status": {} })).is_empty());
    }
}

//! Validation of objects beyond the generic metadata rules.

use super::Registry;
use crate::builtin;
use crate::crd::{CustomResourceDefinition, ScalePaths};
use crate::go_format;
use crate::kinds::{Kind, convert};
use crate::meta;
use crate::status::{ApiError, Cause};
use crate::strategy::{self, AllocationError, ServiceNetworks};
use crate::types::ExplicitEmptyFields;
use parking_lot::Mutex;
use serde_json::Value;

const SERVICE_CIDRS: &str = "servicecidrs.networking.k8s.io";

/// Validates a new object, or one that replaces `old`.
pub(super) fn validate(
    kind: &Kind,
    object: &Value,
    old: Option<&Value>,
    empties: &ExplicitEmptyFields,
) -> Vec<Cause> {
    let Some(definition) = &kind.definition else {
        return validate_builtin(kind, object, old, empties, "");
    };
    let metadata = builtin::validate_metadata(&object["metadata"], "metadata");
    let version = definition.version(&kind.version);
    let errors = version.map(|version| version.schema.validate(object, old));
    let errors = metadata.into_iter().chain(errors.into_iter().flatten());
    let mut causes: Vec<Cause> = errors.map(Cause::from).collect();
    if let Some(scale) = version.and_then(|version| version.scale.as_ref()) {
        validate_replicas(&scale.spec, object, &mut causes);
        validate_scale_status(scale, object, &mut causes);
    }
    causes
}

/// Validates a write to the status of a custom resource, which may leave the rest invalid.
fn validate_status(
    kind: &Kind,
    definition: &CustomResourceDefinition,
    object: &Value,
    old: &Value,
) -> Vec<Cause> {
    let metadata = builtin::validate_metadata(&object["metadata"], "metadata");
    let mut causes: Vec<Cause> = metadata.into_iter().map(Cause::from).collect();
    let Some(version) = definition.version(&kind.version) else {
        return causes;
    };
    let errors = version.schema.validate_status(object, old);
    causes.extend(errors.into_iter().map(Cause::from));
    causes.iter_mut().for_each(make_relative_to_status);
    if let Some(scale) = &version.scale {
        validate_scale_status(scale, object, &mut causes);
    }
    causes
}

fn validate_builtin(
    kind: &Kind,
    object: &Value,
    old: Option<&Value>,
    empties: &ExplicitEmptyFields,
    subresource: &str,
) -> Vec<Cause> {
    if convert::is_old_autoscaler(kind) {
        // The rules are those of the stored version.
        let stored = |object: &Value| convert::to_stored_version(kind, object.clone());
        let (object, old) = (stored(object), old.map(stored));
        strategy::validate(kind, &object, old.as_ref(), empties, subresource)
    } else {
        strategy::validate(kind, object, old, empties, subresource)
    }
}

/// Validates a write to a subresource.
pub(super) fn validate_subresource(
    kind: &Kind,
    subresource: &str,
    object: &Value,
    old: &Value,
    empties: &ExplicitEmptyFields,
) -> Vec<Cause> {
    match (subresource, &kind.definition) {
        ("status", Some(definition)) => validate_status(kind, definition, object, old),
        ("status", None) if kind.kind == "CustomResourceDefinition" => {
            strategy::validate_definition_status(object)
        }
        ("status" | "approval" | "ephemeralcontainers" | "finalize" | "resize", None) => {
            validate_builtin(kind, object, Some(old), empties, subresource)
        }
        _ => validate(kind, object, Some(old), empties),
    }
}

/// Rewrites a cause to the form in which kube-apiserver validates the status alone.
fn make_relative_to_status(cause: &mut Cause) {
    let message = cause.message.replace(": status.", ": ");
    cause.message = message.replace(": status in body", ":  in body");
    if let Some((before, below)) = cause.message.split_once("\"status.")
        && cause.field == "<nil>"
    {
        cause.message = format!("{before}\"{below}");
        "status".clone_into(&mut cause.field);
    }
    if cause.message.contains("Checked value must be")
        && let Some((before, at)) = cause.message.split_once(" in status")
    {
        cause.message = format!("{before} in {}", at.trim_start_matches('.'));
        "status".clone_into(&mut cause.field);
    }
}

/// Validates the replicas at a path of a definition's scale subresource.
fn validate_replicas(path: &[String], object: &Value, causes: &mut Vec<Cause>) {
    let field = format!(".{}", path.join("."));
    match nested_field(object, path, "int64", |value| value.as_i64().is_some()) {
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

/// Validates the replicas in the status, and the selector.
fn validate_scale_status(scale: &ScalePaths, object: &Value, causes: &mut Vec<Cause>) {
    validate_replicas(&scale.status, object, causes);
    if let Some(path) = &scale.selector
        && let Err(why) = nested_field(object, path, "string", Value::is_string)
    {
        causes.push(Cause::invalid(
            format!(".{}", path.join(".")),
            &Value::from(""),
            why,
        ));
    }
}

/// Returns the value at a path if it has the wanted Go type (Go's `unstructured.NestedFieldNoCopy`).
fn nested_field<'a>(
    object: &'a Value,
    path: &[String],
    expected: &str,
    fits: impl Fn(&Value) -> bool,
) -> Result<Option<&'a Value>, String> {
    let type_error = |depth: usize, value: &Value, expected: &str| {
        format!(
            ".{} accessor error: {} is of the type {}, expected {expected}",
            path[..depth].join("."),
            go_format::show(value),
            go_format::type_name(value)
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
            other => return Err(type_error(depth + 1, other, "map[string]interface{}")),
        }
    }
    if fits(value) {
        return Ok(Some(value));
    }
    Err(type_error(path.len(), value, expected))
}

impl Registry {
    /// Allocates what must be unique among objects: cluster IPs and node ports of a Service. No other write gets them while the returned
    /// value exists, which is until the object is stored or refused.
    pub(super) fn allocate(
        &self,
        kind: &Kind,
        object: &mut Value,
        old: Option<&Value>,
        dry_run: bool,
    ) -> Result<Option<Reservation<'_>>, ApiError> {
        if kind.kind != "Service" || !kind.group.is_empty() {
            return Ok(None);
        }
        let mut reserved = self.reserved_services.lock();
        let services = self.store.objects(&kind.table(), "");
        let uid = meta::uid(object).to_owned();
        let others = services
            .iter()
            .map(|service| service.value())
            .chain(reserved.iter());
        let others = others.filter(|other| meta::uid(other) != uid);
        let service_cidrs = self.store.objects(SERVICE_CIDRS, "");
        let service_cidrs = service_cidrs.iter().map(|object| object.value());
        let networks = ServiceNetworks::new(self.service_network, service_cidrs);
        let causes = match strategy::allocate(kind, object, old, others, &networks, dry_run) {
            Ok(()) if dry_run => return Ok(None),
            Ok(()) => {
                reserved.push(object.clone());
                return Ok(Some(Reservation(&self.reserved_services, uid)));
            }
            Err(AllocationError::Internal(why)) => return Err(why),
            Err(AllocationError::InvalidIpFamilies(causes)) => causes,
            Err(AllocationError::Invalid(cause)) => vec![cause],
        };
        Err(ApiError::invalid(kind, meta::name(object), &causes))
    }
}

/// What was allocated for a Service that is being written, by its uid.
pub(super) struct Reservation<'a>(&'a Mutex<Vec<Value>>, String);

impl Drop for Reservation<'_> {
    fn drop(&mut self) {
        let mut reserved = self.0.lock();
        if let Some(at) = reserved.iter().position(|service| meta::uid(service) == self.1) {
            reserved.swap_remove(at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn scale_path_errors_print_values_as_go() {
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
            let causes = scale_causes(&scale, &object);
            assert!(
                causes.len() == 1 && causes[0].message.ends_with(why),
                "{causes:?}"
            );
        }
        assert!(scale_causes(&scale, &json!({ "spec": { "n": 3 }, "status": {} })).is_empty());
    }

    fn scale_causes(scale: &ScalePaths, object: &Value) -> Vec<Cause> {
        let mut causes = vec![];
        validate_replicas(&scale.spec, object, &mut causes);
        validate_scale_status(scale, object, &mut causes);
        causes
    }
}

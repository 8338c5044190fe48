//! NamespaceLifecycle: nothing is created in a namespace that does not exist or is terminating, and some namespaces are never deleted.

use super::{Attributes, Operation};
use crate::meta;
use crate::status::{ApiError, Cause};
use serde_json::Value;

/// Namespaces that cannot be deleted.
const IMMORTAL_NAMESPACES: &[&str] = &["default", "kube-system", "kube-public"];

pub(super) fn admit(attributes: &Attributes<'_>, object: &Value) -> Result<(), ApiError> {
    match attributes.operation {
        Operation::Create if attributes.kind.namespaced => check_active(attributes, object),
        Operation::Delete
            if attributes.is_kind("", "Namespace") && IMMORTAL_NAMESPACES.contains(&attributes.name) =>
        {
            Err(attributes.forbidden(object, "this namespace may not be deleted"))
        }
        _ => Ok(()),
    }
}

/// Refuses a new object in a namespace that does not exist or is terminating.
fn check_active(attributes: &Attributes<'_>, object: &Value) -> Result<(), ApiError> {
    let namespace = attributes.namespace;
    let namespaces = attributes.catalog.any_version("", "namespaces");
    let namespaces = namespaces.ok_or_else(ApiError::no_such_resource)?;
    let Some(found) = attributes.store.get(&namespaces.table(), namespace) else {
        return Err(ApiError::not_found(namespaces, namespace));
    };
    if found.value()["status"]["phase"] != "Terminating" && !meta::is_being_deleted(found.value()) {
        return Ok(());
    }
    let why = format!("unable to create new content in namespace {namespace} because it is being terminated");
    let message = format!("namespace {namespace} is being terminated");
    let cause = Cause::new("NamespaceTerminating", "metadata.namespace", message);
    Err(attributes.forbidden(object, why).with_cause(&cause))
}

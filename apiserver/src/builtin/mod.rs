//! What built-in kinds are beyond their shape: defaults, and what is required, allowed and immutable.

mod definitions;
mod namespaces;

use crate::kinds::Kind;
use crate::status::Cause;
use serde_json::Value;

/// Fills in what the server gives.
pub(crate) fn fill(kind: &Kind, object: &mut Value, old: Option<&Value>) {
    match (kind.group.as_str(), kind.kind.as_str()) {
        ("", "Namespace") => namespaces::fill(object, old),
        ("apiextensions.k8s.io", "CustomResourceDefinition") => definitions::fill(object, old),
        _ => {}
    }
}

/// What is wrong with an object that is new, or replaces another.
pub(crate) fn check(kind: &Kind, object: &Value, old: Option<&Value>) -> Vec<Cause> {
    match (kind.group.as_str(), kind.kind.as_str()) {
        ("apiextensions.k8s.io", "CustomResourceDefinition") => definitions::check(object, old),
        _ => vec![],
    }
}

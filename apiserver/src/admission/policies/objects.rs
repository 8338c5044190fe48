//! The objects of a request, as expressions see them.

use super::evaluation::Inputs;
use crate::admission::WebhookContext;
use crate::admission::hook_request::{HookRequest, HookTarget};
use crate::meta;
use crate::status::ApiError;
use serde_json::Value;

/// The objects of a request in the version in which a policy matches.
pub(super) struct Versioned {
    review: Value,
    object: Value,
    old: Value,
}

impl Versioned {
    pub(super) fn new(
        request: &HookRequest<'_>,
        object: Option<&Value>,
        target: &HookTarget,
        context: &WebhookContext<'_>,
    ) -> Result<Self, ApiError> {
        Ok(Self {
            review: request.review_request(target, context),
            object: request.convert(object, target, context)?,
            old: request.convert(request.old, target, context)?,
        })
    }

    pub(super) fn inputs<'a>(
        &'a self,
        request: &'a HookRequest<'a>,
        namespace: &'a Value,
        params: &'a Value,
    ) -> Inputs<'a> {
        Inputs {
            request,
            review: &self.review,
            object: &self.object,
            old: &self.old,
            namespace,
            params,
        }
    }
}

/// The namespace of the object, as expressions see it; null for namespaces and what has none.
pub(super) fn namespace_object(request: &HookRequest<'_>) -> Result<Value, ApiError> {
    let resource = request.resource;
    if request.namespace.is_empty() || (resource.group.is_empty() && resource.kind == "Namespace") {
        return Ok(Value::Null);
    }
    let mut namespace = request.namespace()?.value().clone();
    for field in ["apiVersion", "kind"] {
        namespace.as_object_mut().map(|fields| fields.remove(field));
    }
    let metadata = meta::metadata_mut(&mut namespace);
    for field in ["managedFields", "ownerReferences"] {
        metadata.remove(field);
    }
    Ok(namespace)
}

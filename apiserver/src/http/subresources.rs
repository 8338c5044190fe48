//! Resources and subresources that are not stored: reviews, tokens, bindings and evictions.

use super::resources::{RequestContext, decode_object, write_context, write_options};
use super::run_to_end::RunToEnd;
use super::stored_name::check_stored_name;
use super::token_request;
use crate::admission::Operation;
use crate::auth::TokenUse;
use crate::kinds::Kind;
use crate::registry::{Eviction, Target, answer_review};
use crate::render::{ApiResponse, respond};
use crate::request::{DeleteOptions, WriteOptions};
use crate::status::ApiError;
use crate::types::is_time;
use serde_json::{Value, json};
use std::sync::Arc;

/// Handles a write to a subresource: `act` gets the body, decoded as the kind of the subresource. Decoding warnings are added to the
/// response or the error.
pub(super) fn handle_subresource(
    context: &RequestContext<'_>,
    target: &Target,
    options_kind: &str,
    act: impl FnOnce(Value, &WriteOptions) -> Result<ApiResponse, ApiError>,
) -> Result<ApiResponse, ApiError> {
    let mut options = write_options(context, options_kind)?;
    let name = &context.info.subresource;
    let kind = match target.kind.subresource(name) {
        Some(subresource) => Arc::new(target.kind.for_subresource(subresource)),
        None => target.kind.clone(),
    };
    // A body that is not a Scale gets one fixed error for custom resources.
    let custom_scale = name == "scale" && target.kind.definition.is_some();
    let scale_error = |error: ApiError| match error.code {
        400 if custom_scale => {
            let why = "no kind is registered for the type v1.Scale in scheme \"pkg/runtime/scheme.go:111\"";
            ApiError::bad_request(why.to_owned())
        }
        _ => error,
    };
    let mut object = decode_object(context, &kind, &mut options).map_err(scale_error)?;
    // The uid in a binding of a pod or in a request for a token is a precondition.
    if matches!(name.as_str(), "" | "eviction") {
        wipe_system_fields(&mut object);
    }
    let decoded = Target::new(&kind, &target.namespace, &target.name);
    let registry = &context.state.registry;
    let write = write_context(context, &options);
    let mut warnings = registry
        .decode_virtual_resource(&decoded, &mut object, name, write)
        .map_err(scale_error)?;
    // The scale is a part of a stored object, and is admitted with it.
    if name != "scale" {
        let operation = Operation::Create;
        warnings.extend(registry.admit_virtual_resource(target, name, operation, &mut object, write)?);
    }
    let mut response = act(object, &options).map_err(|error| error.with_warnings(&warnings))?;
    respond::prepend_warnings(&mut response, &warnings);
    Ok(response)
}

/// Clears the metadata that a client cannot set. The decoder, which follows, refuses values of wrong types.
fn wipe_system_fields(object: &mut Value) {
    let Some(Value::Object(metadata)) = object.get_mut("metadata") else {
        return;
    };
    metadata.retain(|key, value| match key.as_str() {
        "uid" | "selfLink" => !value.is_string(),
        "creationTimestamp" | "deletionTimestamp" => !value.as_str().is_some_and(is_time),
        "deletionGracePeriodSeconds" => !value.is_i64(),
        _ => true,
    });
}

/// The response of a subresource that returns only a success Status.
fn success_status(context: &RequestContext<'_>) -> ApiResponse {
    let status =
        json!({ "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201 });
    respond::value(201, context.format, &status)
}

/// Checks that the body names the same object as the path.
fn check_subresource_name(target: &Target, object: &Value, kind: &str) -> Result<(), ApiError> {
    if crate::meta::name(object) == target.name {
        return Ok(());
    }
    Err(ApiError::bad_request(format!(
        "name in URL does not match name in {kind} object"
    )))
}

pub(super) fn review(
    context: &RequestContext<'_>,
    target: &Target,
    kind: &Kind,
) -> Result<ApiResponse, ApiError> {
    handle_subresource(context, target, "CreateOptions", |mut review, _| {
        let state = context.state;
        let mut token_use = TokenUse::default();
        answer_review(
            &state.registry,
            &state.authenticator,
            context.user,
            kind,
            &target.namespace,
            &mut review,
            &mut token_use,
        )?;
        state.registry.label_used_secret(&token_use);
        // As in kube-apiserver, the client of a review gets no warnings of the token's use.
        respond::unstored(201, context.format, kind, &review)
    })
}

/// Issues a token for a service account.
pub(super) fn token(context: &RequestContext<'_>, target: &Target) -> Result<ApiResponse, ApiError> {
    handle_subresource(context, target, "CreateOptions", |request, _| {
        token_request::issue(context, target, request)
    })
}

/// Binds a pod to a node.
pub(super) fn bind(
    context: &RequestContext<'_>,
    target: &Target,
    kind: &Arc<Kind>,
) -> Result<ApiResponse, ApiError> {
    handle_subresource(context, target, "CreateOptions", |binding, options| {
        let registry = &context.state.registry;
        let (pods, name) = if kind.kind == "Pod" {
            check_subresource_name(target, &binding, "Binding")?;
            (kind.clone(), target.name.as_str())
        } else {
            (registry.resource("", "pods")?, crate::meta::name(&binding))
        };
        let pod = Target::new(&pods, &target.namespace, name);
        let bound = registry.bind(&pod, &binding, write_context(context, options));
        bound.map_err(|error| match error.code {
            // A wrong name, which only the body has, is found when the pod is looked up.
            404 => check_stored_name(name).err().unwrap_or(error),
            _ => error,
        })?;
        Ok(success_status(context))
    })
}

/// Evicts a pod.
pub(super) async fn evict(context: &RequestContext<'_>, target: &Target) -> Result<ApiResponse, ApiError> {
    let registry = &context.state.registry;
    let mut marked = None;
    let response = handle_subresource(context, target, "CreateOptions", |eviction, options| {
        check_subresource_name(target, &eviction, "Eviction")?;
        let deletion = eviction
            .get("deleteOptions")
            .filter(|options| options.is_object());
        let empty = json!({});
        let mut deletion = DeleteOptions::parse(context.query, Some(deletion.unwrap_or(&empty)))?;
        deletion.dry_run |= options.dry_run;
        match registry.evict(target, &deletion)? {
            Eviction::Evicted(pod) => {
                marked = pod;
                Ok(success_status(context))
            }
            Eviction::SeveralBudgets => {
                let status = json!({
                    "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "code": 500,
                    "message": "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."
                });
                Ok(respond::value(500, context.format, &status))
            }
        }
    });
    if let Some(pod) = marked {
        RunToEnd::new(registry.clone().remove_marked_pod(pod)).await;
    }
    response
}

//! Requests that delete an object, or a collection.

use super::resources::{RequestContext, converted, write_context};
use super::run_to_end::RunToEnd;
use crate::kinds::Kind;
use crate::registry::{DeleteResult, Deletion, Target};
use crate::render::{ApiResponse, respond};
use crate::request::{DeleteOptions, ListOptions, WriteOptions, body};
use crate::status::ApiError;
use serde_json::json;

pub(super) async fn delete(context: &RequestContext<'_>, target: &Target) -> Result<ApiResponse, ApiError> {
    let (options, own) = delete_options(context)?;
    let mut warnings = orphaned_pods_warnings(&target.kind, &options);
    let registry = &context.state.registry;
    if target.kind.conversion_webhook().is_some() {
        // An object that cannot be converted is not deleted.
        converted(context, target, registry.get(target)?)?;
    }
    let write = write_context(context, &own);
    let deletion = registry.begin_deletion(target, &options, write, &target.name);
    warnings.extend(write.take_warnings());
    let deletion = match deletion.map_err(|error| error.with_warnings(&warnings))? {
        Deletion::Done(result) => result,
        Deletion::Marked(pod) => {
            DeleteResult::Deleted(RunToEnd::new(registry.clone().remove_marked_pod(pod)).await)
        }
    };
    let is_left = matches!(deletion, DeleteResult::Pending(_));
    let code = if is_left && options.refuses_orphans {
        202
    } else {
        200
    };
    let mut response = delete_response(context, target, deletion, code)?;
    respond::add_warnings(&mut response, &warnings);
    Ok(response)
}

/// The warning that deleting a job without a propagation policy orphans its pods.
fn orphaned_pods_warnings(kind: &Kind, options: &DeleteOptions) -> Vec<String> {
    if kind.kind != "Job" || kind.group != "batch" || options.propagation.is_some() {
        return vec![];
    }
    let warning = "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove them or set \
         propagationPolicy=Orphan to suppress this warning";
    vec![warning.to_owned()]
}

fn delete_response(
    context: &RequestContext<'_>,
    target: &Target,
    deletion: DeleteResult,
    code: u16,
) -> Result<ApiResponse, ApiError> {
    Ok(match deletion {
        DeleteResult::Deleted(object) if !target.kind.returns_deleted() => {
            let mut details = target.kind.details(&target.name);
            details["uid"] = object.value()["metadata"]["uid"].clone();
            let status = json!({
                "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details,
            });
            respond::value(code, context.format, &status)
        }
        DeleteResult::Deleted(object) | DeleteResult::Pending(object) => {
            let object = converted(context, target, object)?;
            respond::object(code, context.format, &target.kind, &object)?
        }
    })
}

pub(super) async fn delete_collection(
    context: &RequestContext<'_>,
    target: &Target,
) -> Result<ApiResponse, ApiError> {
    let selection = ListOptions::parse(context.query, context.query.flag("watch"))?;
    // Before the options of the deletion, and without its warnings.
    target.kind.check_field_selector(&selection.fields)?;
    let (options, own) = delete_options(context)?;
    let registry = &context.state.registry;
    let write = write_context(context, &own);
    let mut marked = vec![];
    let deletion = registry.begin_collection(target, &selection, &options, write, &mut marked);
    if !marked.is_empty() {
        RunToEnd::new(registry.clone().remove_marked_pods(marked)).await;
    }
    let mut warnings = orphaned_pods_warnings(&target.kind, &options);
    warnings.extend(write.take_warnings());
    let response = deletion.and_then(|listing| respond::list(context.format, &target.kind, &listing));
    respond::with_warnings(response, &warnings)
}

/// Returns the options of a deletion, and those of the write that it is.
fn delete_options(context: &RequestContext<'_>) -> Result<(DeleteOptions, WriteOptions), ApiError> {
    let body = if context.body.is_empty() {
        None
    } else {
        Some(body::decode_options(&context.parts.headers, context.body)?)
    };
    let options = DeleteOptions::parse(context.query, body.as_ref())?;
    let mut own = WriteOptions {
        dry_run: options.dry_run,
        ..WriteOptions::default()
    };
    if context.webhooks.is_some() {
        own.sent = DeleteOptions::sent(context.query, body.as_ref());
    }
    Ok((options, own))
}

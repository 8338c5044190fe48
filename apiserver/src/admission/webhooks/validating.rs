//! Validating webhooks: all at once.

use super::WebhookContext;
use super::review::PendingReview;
use crate::admission::hook_request::HookRequest;
use crate::status::ApiError;
use serde_json::Value;

/// Calls all matching webhooks at the same time, and refuses the request if one of them does. The error is that of the first webhook in
/// order; kube-apiserver's is that of the first to respond.
pub(crate) fn validate(
    request: &HookRequest<'_>,
    object: Option<&Value>,
    context: &WebhookContext<'_>,
) -> Result<(), ApiError> {
    let hooks = &context.hooks.validating;
    if hooks.is_empty() || request.is_exempt() {
        return Ok(());
    }
    let own = request.target();
    let mut matching = vec![];
    for hook in hooks {
        let object = object.map(|object| (&own, object));
        if let Some(target) = request.matches(hook, object, context)? {
            matching.push((hook, target));
        }
    }
    let mut pending = vec![];
    for (hook, target) in &matching {
        let converted = object.map(|object| target.convert(&own, object, (request.store, context.caller)));
        let converted = converted.transpose()?;
        pending.push(PendingReview::send(
            hook,
            request,
            target,
            converted.as_deref(),
            context,
        ));
    }
    let mut refusal = None;
    for (at, ((hook, _), review)) in matching.iter().zip(pending).enumerate() {
        let outcome = review.and_then(|review| review.wait(hook, false, context));
        let Err(error) = outcome else { continue };
        if let Some(error) = error.refusal(hook) {
            refusal = refusal.or(Some(error));
        } else {
            let key = format!("failed-open.validating.webhook.admission.k8s.io/round_0_index_{at}");
            context.report.annotate(key, hook.name.clone());
        }
    }
    refusal.map_or(Ok(()), Err)
}

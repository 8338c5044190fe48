//! Mutating webhooks: one after the other, each sees the changes of those before it.

use super::WebhookContext;
use super::hook::Hook;
use super::review::{HookError, PendingReview};
use crate::admission::hook_request::{HookOperation, HookRequest, HookTarget};
use crate::admission::reinvocation::Reinvocation;
use crate::patch::{self, Decoding, PatchError};
use crate::quote::quoted;
use crate::status::ApiError;
use crate::storage::Store;
use crate::types;
use crate::webhook_client::WebhookCaller;
use serde::Serialize;
use serde_json::Value;

/// The audit annotation of a call, with kube-apiserver's order of fields.
#[derive(Serialize)]
struct MutationAnnotation<'a> {
    configuration: &'a str,
    webhook: &'a str,
    mutated: bool,
}

/// The audit annotation of a patch, with kube-apiserver's order of fields.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct PatchAnnotation<'a> {
    configuration: &'a str,
    webhook: &'a str,
    patch: &'a Value,
    patch_type: &'a str,
}

/// The calls of the mutating webhooks in one write.
pub(crate) struct MutatingWebhooks<'a> {
    request: HookRequest<'a>,
    context: WebhookContext<'a>,
    /// By the indexes of the webhooks.
    reinvocation: Reinvocation<usize>,
}

impl<'a> MutatingWebhooks<'a> {
    /// Prepares the calls; None if no webhook is called for the request.
    pub(crate) fn new(request: HookRequest<'a>, context: WebhookContext<'a>) -> Option<Self> {
        if context.hooks.mutating.is_empty() || request.is_exempt() {
            return None;
        }
        Some(Self {
            request,
            context,
            reinvocation: Reinvocation::default(),
        })
    }

    pub(crate) fn changed_the_object(&self) -> bool {
        self.reinvocation.was_changed()
    }

    /// Calls the matching webhooks, in the second round those to be called again. There is no object to change in a deletion.
    pub(crate) fn run(&mut self, object: Option<&mut Value>) -> Result<(), ApiError> {
        let own = self.request.target();
        let Some(object) = object else {
            return self.round(&mut None);
        };
        self.reinvocation.begin(object);
        let mut versioned = Some((own.clone(), object.take()));
        let outcome = self.round(&mut versioned);
        if let Some((target, changed)) = versioned {
            *object = own.convert(&target, &changed, self.access())?.into_owned();
        }
        self.reinvocation.end(object);
        outcome
    }

    /// `versioned` is the object in the version of the last webhook that was called.
    fn round(&mut self, versioned: &mut Option<(HookTarget, Value)>) -> Result<(), ApiError> {
        let round = u8::from(self.reinvocation.is_second_round());
        for (at, hook) in self.context.hooks.mutating.iter().enumerate() {
            let object = versioned.as_ref().map(|(target, object)| (target, object));
            let Some(target) = self.request.matches(hook, object, &self.context)? else {
                continue;
            };
            if !self.reinvocation.is_due(&at) {
                continue;
            }
            if let Some((from, object)) = versioned {
                *object = target.convert(from, object, self.access())?.into_owned();
                *from = target.clone();
            }
            let call = format!("webhook.admission.k8s.io/round_{round}_index_{at}");
            let outcome = self.call(hook, &target, versioned.as_mut().map(|(_, object)| object), &call);
            let mutated = *outcome.as_ref().unwrap_or(&false);
            let annotation = MutationAnnotation {
                configuration: &hook.configuration,
                webhook: &hook.name,
                mutated,
            };
            self.annotate(format!("mutation.{call}"), &annotation);
            if mutated {
                self.reinvocation.require_reinvocation();
            }
            if hook.is_reinvoked {
                self.reinvocation.invoked(at);
            }
            let Err(error) = outcome else { continue };
            if let Some(refusal) = error.refusal(hook) {
                return Err(refusal);
            }
            self.context
                .report
                .annotate(format!("failed-open.mutation.{call}"), hook.name.clone());
        }
        Ok(())
    }

    fn access(&self) -> (&'a Store, &'a dyn WebhookCaller) {
        (self.request.store, self.context.caller)
    }

    fn annotate(&self, key: String, annotation: &impl Serialize) {
        // These structs can always be serialized.
        let value = serde_json::to_string(annotation).unwrap_or_default();
        self.context.report.annotate(key, value);
    }

    /// Calls a webhook and applies its patch; true if that changed the object. `call` names the call in audit annotations.
    fn call(
        &self,
        hook: &Hook,
        target: &HookTarget,
        object: Option<&mut Value>,
        call: &str,
    ) -> Result<bool, HookError> {
        let review = PendingReview::send(hook, &self.request, target, object.as_deref(), &self.context)?;
        let json_patch = review.wait(hook, true, &self.context)?;
        if json_patch.is_empty() {
            return Ok(false);
        }
        let internal = |why: String| HookError::Refused(ApiError::internal(why));
        let undecodable = |why: String| {
            HookError::failed(
                hook,
                format!("received undecodable patch in webhook response: {why}"),
            )
        };
        let operations = types::decode(&json_patch).map_err(undecodable)?.value;
        if operations.is_null() || operations.as_array().is_some_and(Vec::is_empty) {
            return Ok(false);
        }
        let Some(object) = object else {
            let name = quoted(&hook.name);
            return Err(internal(format!(
                "admission webhook {name} attempted to modify the object, which is not supported for this operation"
            )));
        };
        let annotation = PatchAnnotation {
            configuration: &hook.configuration,
            webhook: &hook.name,
            patch: &operations,
            patch_type: "JSONPatch",
        };
        self.annotate(format!("patch.{call}"), &annotation);
        let patched = patch::json_patch(object, &json_patch, Decoding::Lenient);
        let patched = patched.map_err(|error| match error {
            PatchError::BadRequest(why) => undecodable(why),
            // A client would not get the details.
            PatchError::Unprocessable(why) => internal(why),
            other => internal(other.to_string()),
        });
        let mut patched = patched?.object;
        let is_changed = patched != *object;
        if self.request.operation != HookOperation::Connect {
            target.decode(&mut patched).map_err(internal)?;
        }
        *object = patched;
        Ok(is_changed)
    }
}

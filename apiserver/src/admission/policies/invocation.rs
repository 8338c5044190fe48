//! Where a policy applies to a request: by which bindings, with which params.

use super::definition::{Binding, Definition};
use crate::admission::WebhookContext;
use crate::admission::hook_request::{HookRequest, HookTarget};
use serde_json::Value;

/// One evaluation of a policy for a request.
pub(super) struct Invocation<'p> {
    pub(super) binding: &'p Binding,
    /// The version in which the policy matches.
    pub(super) target: HookTarget,
    /// Null without params.
    pub(super) params: Value,
}

/// Why a policy, or a binding of it, cannot be evaluated for a request.
pub(super) struct ConfigurationError<'p> {
    /// None if it is the policy.
    pub(super) binding: Option<&'p Binding>,
    pub(super) message: String,
}

impl<'p> ConfigurationError<'p> {
    pub(super) fn new(binding: Option<&'p Binding>, why: &str) -> Self {
        let what = if binding.is_some() { "binding" } else { "policy" };
        Self {
            binding,
            message: format!("failed to configure {what}: {why}"),
        }
    }
}

impl Definition {
    /// Returns the evaluations for a request, in the order of the bindings. `object` is the new object, if there is one.
    pub(super) fn invocations(
        &self,
        request: &HookRequest<'_>,
        object: Option<&Value>,
        context: &WebhookContext<'_>,
    ) -> Vec<Result<Invocation<'_>, ConfigurationError<'_>>> {
        let of_policy = |why: &str| vec![Err(ConfigurationError::new(None, why))];
        let target = match self.matches.target(request, object) {
            Ok(None) => return vec![],
            Ok(Some(target)) => target,
            Err(error) => return of_policy(&error.message),
        };
        let param_kind = self.param_kind.as_ref().map(|kind| kind.resolve(request));
        let param_kind = match param_kind.transpose() {
            Ok(kind) => kind,
            Err(why) => return of_policy(&why),
        };
        let mut invocations = vec![];
        for binding in &self.bindings {
            let failed = |why: &str| Err(ConfigurationError::new(Some(binding), why));
            let matches = binding.matches.as_ref();
            match matches.map(|matches| matches.target(request, object)) {
                None | Some(Ok(Some(_))) => {}
                Some(Ok(None)) => continue,
                Some(Err(error)) => {
                    invocations.push(failed(&error.message));
                    continue;
                }
            }
            let params = match (param_kind, &binding.param_ref) {
                (Some(kind), Some(reference)) => reference.find(kind, request, context),
                _ => Ok(vec![Value::Null]),
            };
            match params {
                Err(why) => invocations.push(failed(&why)),
                Ok(params) => invocations.extend(params.into_iter().map(|params| {
                    Ok(Invocation {
                        binding,
                        target: target.clone(),
                        params,
                    })
                })),
            }
        }
        invocations
    }
}

//! A write under all validating policies.

use super::definition::{Binding, is_exempt};
use super::evaluation::{Denial, Evaluation};
use super::invocation::{ConfigurationError, Invocation};
use super::objects::{Versioned, namespace_object};
use super::validating_policy::ValidatingPolicy;
use crate::admission::hook_request::HookRequest;
use crate::admission::{WebhookContext, forbidden};
use crate::status::ApiError;
use serde::Serialize;
use serde_json::{Value, json};

/// The key of the audit annotation about violations.
const FAILURE_ANNOTATION: &str = "validation.policy.admission.k8s.io/validation_failure";
/// A violation in the audit annotation, with kube-apiserver's order of fields.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ValidationFailure<'a> {
    message: &'a str,
    policy: &'a str,
    binding: &'a str,
    expression_index: usize,
    validation_actions: &'a [String],
}

/// Evaluates all policies that match, and refuses the request if one of them denies it. The error is that of the first; warnings and audit
/// annotations are those of all.
pub(in crate::admission) fn validate(
    request: &HookRequest<'_>,
    object: Option<&Value>,
    context: &WebhookContext<'_>,
) -> Result<(), ApiError> {
    let policies = &context.hooks.validating_policies;
    if policies.is_empty() || is_exempt(request.resource) {
        return Ok(());
    }
    let mut first = None;
    for policy in policies {
        let mut write = Write {
            request,
            object,
            context,
            policy,
            denials: vec![],
            annotations: vec![],
        };
        write.apply()?;
        write.report_annotations();
        first = first.or(write.denials.into_iter().next());
    }
    first.map_or(Ok(()), Err)
}

/// A write under one policy.
struct Write<'a> {
    request: &'a HookRequest<'a>,
    object: Option<&'a Value>,
    context: &'a WebhookContext<'a>,
    policy: &'a ValidatingPolicy,
    denials: Vec<ApiError>,
    /// The values of each key, without duplicates.
    annotations: Vec<(String, Vec<String>)>,
}

impl Write<'_> {
    fn apply(&mut self) -> Result<(), ApiError> {
        let (request, policy) = (self.request, self.policy);
        let mut versioned = None;
        for invocation in policy.definition.invocations(request, self.object, self.context) {
            let Invocation {
                binding,
                target,
                params,
            } = match invocation {
                Ok(invocation) => invocation,
                Err(error) => {
                    self.fail(&error);
                    continue;
                }
            };
            if versioned.is_none() {
                match Versioned::new(request, self.object, &target, self.context) {
                    Ok(converted) => versioned = Some(converted),
                    Err(error) => {
                        let why = format!("failed to convert object version: {}", error.message);
                        self.fail(&ConfigurationError::new(Some(binding), &why));
                        continue;
                    }
                }
            }
            let Some(versioned) = &versioned else { continue };
            let namespace = namespace_object(request)?;
            let inputs = versioned.inputs(request, &namespace, &params);
            self.record(binding, policy.evaluate(&inputs));
        }
        Ok(())
    }

    /// Records that a policy cannot be evaluated.
    fn fail(&mut self, error: &ConfigurationError<'_>) {
        if self.policy.definition.fails_closed {
            self.deny(error.binding, &Denial::error(error.message.clone()));
        }
    }

    /// Acts as the binding says.
    fn record(&mut self, binding: &Binding, evaluation: Evaluation) {
        let report = self.context.report;
        for (at, denial) in &evaluation.denials {
            for action in &binding.actions {
                match action.as_str() {
                    "Deny" => self.deny(Some(binding), denial),
                    "Warn" => report.warn(&format!(
                        "Validation failed for ValidatingAdmissionPolicy '{}' with binding '{}': {}",
                        self.policy.definition.name, binding.name, denial.message
                    )),
                    _ => {
                        let failure = ValidationFailure {
                            message: &denial.message,
                            policy: &self.policy.definition.name,
                            binding: &binding.name,
                            expression_index: *at,
                            validation_actions: &binding.actions,
                        };
                        // This struct can always be serialized.
                        let failures = serde_json::to_string(&[failure]).unwrap_or_default();
                        report.annotate(FAILURE_ANNOTATION, failures);
                    }
                }
            }
        }
        for denial in &evaluation.annotation_errors {
            self.deny(Some(binding), denial);
        }
        for (key, value) in evaluation.annotations {
            match self.annotations.iter_mut().find(|(known, _)| *known == key) {
                Some((_, values)) if values.contains(&value) => {}
                Some((_, values)) => values.push(value),
                None => self.annotations.push((key, vec![value])),
            }
        }
    }

    fn deny(&mut self, binding: Option<&Binding>, denial: &Denial) {
        let Denial { reason, message } = denial;
        let policy = &self.policy.definition.name;
        let message = match binding {
            Some(Binding { name, .. }) => {
                format!(
                    "ValidatingAdmissionPolicy '{policy}' with binding '{name}' denied request: {message}"
                )
            }
            None => format!("ValidatingAdmissionPolicy '{policy}' denied request: {message}"),
        };
        let object = self.object.unwrap_or(&Value::Null);
        let HookRequest { resource, name, .. } = *self.request;
        let mut error = forbidden(resource, name, object, &message);
        error.code = match reason.as_str() {
            "Unauthorized" => 401,
            "Forbidden" => 403,
            "RequestEntityTooLarge" => 413,
            _ => 422,
        };
        error.reason = reason.clone().into();
        if let Some(details) = &mut error.details {
            details["causes"] = json!([{ "message": message }]);
        }
        self.denials.push(error);
    }

    fn report_annotations(&self) {
        for (key, values) in &self.annotations {
            let key = format!("{}/{key}", self.policy.definition.name);
            self.context.report.annotate(key, values.join(", "));
        }
    }
}

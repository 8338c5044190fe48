//! A write under all mutating policies.

use super::definition::{Definition, is_exempt};
use super::evaluation::Inputs;
use super::invocation::{ConfigurationError, Invocation};
use super::mutating_policy::{MutatingPolicy, MutationError};
use super::objects::namespace_object;
use crate::admission::hook_request::{HookRequest, HookTarget};
use crate::admission::reinvocation::Reinvocation;
use crate::admission::{WebhookContext, forbidden};
use crate::meta;
use crate::status::ApiError;
use crate::storage::Store;
use crate::webhook_client::WebhookCaller;
use serde_json::{Value, json};

/// The index of a policy, the name of its binding, and namespace and name of the params.
type Key = (usize, String, String);

/// The evaluations of the mutating policies in one write. If a policy changed the object, all plugins run again.
pub(crate) struct MutatingPolicies<'a> {
    request: HookRequest<'a>,
    context: WebhookContext<'a>,
    reinvocation: Reinvocation<Key>,
}

/// An error of a policy with `failurePolicy: Fail`.
struct PolicyError {
    message: String,
    /// Whether the policy was evaluated.
    is_invalid: bool,
}

impl<'a> MutatingPolicies<'a> {
    /// Prepares the evaluations; None if no policy is evaluated for the request.
    pub(crate) fn new(request: HookRequest<'a>, context: WebhookContext<'a>) -> Option<Self> {
        if context.hooks.mutating_policies.is_empty() || is_exempt(request.resource) {
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

    /// Evaluates the policies that match, in a second round those that are to be evaluated again.
    pub(crate) fn run(&mut self, object: &mut Value) -> Result<(), ApiError> {
        self.reinvocation.begin(object);
        let own = self.request.target();
        let mut versioned = (own.clone(), object.take());
        let outcome = self.round(&mut versioned);
        let (target, changed) = versioned;
        *object = own.convert(&target, &changed, self.access())?.into_owned();
        self.reinvocation.end(object);
        outcome
    }

    /// `versioned` is the object in the version of the last policy that was evaluated.
    fn round(&mut self, versioned: &mut (HookTarget, Value)) -> Result<(), ApiError> {
        let (request, context) = (self.request, self.context);
        let policies = &context.hooks.mutating_policies;
        let invocations: Vec<_> = policies
            .iter()
            .map(|policy| {
                policy
                    .definition
                    .invocations(&request, Some(&versioned.1), &context)
            })
            .collect();
        if invocations.iter().all(Vec::is_empty) {
            return Ok(());
        }
        let namespace = namespace_object(&request)?;
        let mut errors = vec![];
        // Errors of configurations come before those of evaluations.
        for (policy, invocations) in policies.iter().zip(&invocations) {
            let failed = invocations
                .iter()
                .filter_map(|invocation| invocation.as_ref().err());
            errors.extend(failed.filter_map(|error| PolicyError::configuration(&policy.definition, error)));
        }
        let mut was_mutated = false;
        for (at, (policy, invocations)) in policies.iter().zip(&invocations).enumerate() {
            for invocation in invocations.iter().flatten() {
                let params = &invocation.params;
                let params = format!("{}/{}", meta::namespace(params), meta::name(params));
                let key = (at, invocation.binding.name.clone(), params);
                was_mutated |= self.invoke(policy, invocation, key, versioned, &namespace, &mut errors)?;
            }
        }
        if was_mutated {
            self.reinvocation.require_reinvocation();
        }
        self.refuse(&errors, &versioned.1)
    }

    /// Evaluates a policy; true if a mutation succeeded.
    fn invoke(
        &mut self,
        policy: &MutatingPolicy,
        invocation: &Invocation<'_>,
        key: Key,
        (from, object): &mut (HookTarget, Value),
        namespace: &Value,
        errors: &mut Vec<PolicyError>,
    ) -> Result<bool, ApiError> {
        let target = &invocation.target;
        *object = target.convert(from, object, self.access())?.into_owned();
        *from = target.clone();
        let old = self.request.convert(self.request.old, target, &self.context)?;
        let review = self.request.review_request(target, &self.context);
        let inputs = Inputs {
            request: &self.request,
            review: &review,
            object,
            old: &old,
            namespace,
            params: &invocation.params,
        };
        let definition = &policy.definition;
        let binding = &invocation.binding.name;
        match definition.conditions_are_met(&inputs) {
            Ok(true) => {}
            Ok(false) => return Ok(false),
            Err(why) => {
                errors.extend(PolicyError::evaluation(definition, binding, &why));
                return Ok(false);
            }
        }
        if !self.reinvocation.is_due(&key) {
            return Ok(false);
        }
        let mut mutated = None;
        for mutation in &policy.mutations {
            let inputs = Inputs {
                object: mutated.as_ref().unwrap_or(object),
                ..inputs
            };
            match mutation.mutate(definition, &inputs, target) {
                Ok(changed) => mutated = Some(changed),
                Err(MutationError::Refused(error)) => return Err(error),
                Err(MutationError::Failed(why)) => {
                    errors.extend(PolicyError::evaluation(definition, binding, &why));
                }
            }
        }
        let was_mutated = mutated.is_some();
        if let Some(mutated) = mutated.filter(|mutated| mutated != object) {
            *object = mutated;
            self.reinvocation.require_reinvocation();
        }
        if policy.is_reinvoked {
            self.reinvocation.invoked(key);
        }
        Ok(was_mutated)
    }

    /// Refuses the request if there are errors, with the message of the first.
    fn refuse(&self, errors: &[PolicyError], object: &Value) -> Result<(), ApiError> {
        let Some(first) = errors.first() else {
            return Ok(());
        };
        let HookRequest { resource, name, .. } = self.request;
        let mut error = forbidden(resource, name, object, "");
        error.message.clone_from(&first.message);
        if first.is_invalid {
            error.reason = "Invalid".into();
        }
        if let Some(details) = &mut error.details {
            let causes = errors.iter().map(|error| json!({ "message": error.message }));
            details["causes"] = causes.collect();
        }
        Err(error)
    }

    fn access(&self) -> (&'a Store, &'a dyn WebhookCaller) {
        (self.request.store, self.context.caller)
    }
}

impl PolicyError {
    /// The error of a policy that cannot be evaluated; none if it ignores errors.
    fn configuration(policy: &Definition, error: &ConfigurationError<'_>) -> Option<Self> {
        let name = &policy.name;
        let subject = match error.binding {
            Some(binding) => format!("policy '{name}' with binding '{}'", binding.name),
            None => format!("policy {name:?}"),
        };
        policy.fails_closed.then(|| Self {
            message: format!("{subject} denied request: {}", error.message),
            is_invalid: false,
        })
    }

    /// The error of an evaluation; none if the policy ignores errors.
    fn evaluation(policy: &Definition, binding: &str, why: &str) -> Option<Self> {
        let name = &policy.name;
        policy.fails_closed.then(|| Self {
            message: format!("policy '{name}' with binding '{binding}' denied request: {why}"),
            is_invalid: true,
        })
    }
}

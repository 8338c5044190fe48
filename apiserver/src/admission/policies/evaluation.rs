//! The evaluation of one validating policy for one object.

use super::definition::Definition;
use super::validating_policy::{ValidatingPolicy, Validation};
use crate::admission::hook_request::HookRequest;
use crate::cel::{Activation, Authorize, Budget, Expression, OVER_BUDGET, Outcome, Variable};
use serde_json::Value;
use std::sync::Arc;

/// The maximum size of a message from an expression.
const MAX_MESSAGE_BYTES: usize = 5 << 10;
/// The maximum size of the value of an audit annotation.
const MAX_ANNOTATION_BYTES: usize = 10 << 10;

/// What expressions see, in the version in which the policy matches.
#[derive(Clone, Copy)]
pub(super) struct Inputs<'a> {
    pub(super) request: &'a HookRequest<'a>,
    /// The request, as expressions see it.
    pub(super) review: &'a Value,
    /// Null in a deletion.
    pub(super) object: &'a Value,
    pub(super) old: &'a Value,
    /// Null for what has no namespace, and for namespaces.
    pub(super) namespace: &'a Value,
    /// Null without params.
    pub(super) params: &'a Value,
}

/// What a policy says about an object.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Evaluation {
    /// What is violated, with the indexes of the validations.
    pub(super) denials: Vec<(usize, Denial)>,
    /// Keys and values for the audit event.
    pub(super) annotations: Vec<(String, String)>,
    /// Audit annotations that could not be evaluated, which refuse the request whatever the actions are.
    pub(super) annotation_errors: Vec<Denial>,
}

/// Why an object is denied.
#[derive(Debug, PartialEq)]
pub(super) struct Denial {
    /// The reason of the error.
    pub(super) reason: String,
    pub(super) message: String,
}

impl Evaluation {
    /// The policy as a whole cannot be evaluated.
    fn failed(why: String) -> Self {
        Self {
            denials: vec![(0, Denial::error(why))],
            ..Self::default()
        }
    }
}

impl Denial {
    /// An error, as opposed to a violation.
    pub(super) fn error(message: String) -> Self {
        Self {
            reason: "Invalid".to_owned(),
            message,
        }
    }
}

impl Inputs<'_> {
    pub(super) fn activation(
        &self,
        variables: &Arc<[Variable]>,
        namespace: &Value,
        budget: Budget,
    ) -> Activation {
        let values = [
            ("object", self.object),
            ("oldObject", self.old),
            ("request", self.review),
            ("namespaceObject", namespace),
            ("params", self.params),
        ];
        Activation::new(values, variables, self.request.own_access(), budget)
    }
}

impl ValidatingPolicy {
    /// Evaluates the policy.
    pub(super) fn evaluate(&self, inputs: &Inputs<'_>) -> Evaluation {
        match self.definition.conditions_are_met(inputs) {
            Ok(true) => {}
            Ok(false) => return Evaluation::default(),
            Err(why) => return Evaluation::failed(why),
        }
        let authorize: Authorize<'_> = &|check| inputs.request.authorize(check);
        let Definition {
            variables,
            fails_closed,
            ..
        } = &self.definition;
        let activation = inputs.activation(variables, inputs.namespace, Budget::Policy);
        let mut evaluation = Evaluation::default();
        let over_budget = |why: String| {
            if *fails_closed {
                Evaluation::failed(why)
            } else {
                Evaluation::default()
            }
        };
        for (at, validation) in self.validations.iter().enumerate() {
            let denial = match activation.evaluate(&validation.expression, authorize) {
                Ok(Outcome::Bool(true)) => continue,
                Ok(_) => Denial {
                    reason: validation.reason.clone(),
                    message: validation.failure_message(&activation),
                },
                Err(why) if why == OVER_BUDGET => return over_budget(why),
                Err(why) if *fails_closed => Denial::error(why),
                Err(_) => continue,
            };
            evaluation.denials.push((at, denial));
        }
        for annotation in &self.annotations {
            let error = match activation.evaluate(&annotation.expression, &|_| None) {
                Ok(Outcome::Text(value)) => {
                    let value = value.trim();
                    let end = value.floor_char_boundary(MAX_ANNOTATION_BYTES);
                    if !value.is_empty() {
                        let annotation = (annotation.key.clone(), value[..end].to_owned());
                        evaluation.annotations.push(annotation);
                    }
                    continue;
                }
                Ok(Outcome::Null) => continue,
                Ok(outcome) => format!(
                    "valueExpression '{}' resulted in unsupported return type: {}. Return type must be either string or null.",
                    annotation.text,
                    outcome.type_name()
                ),
                Err(why) if why == OVER_BUDGET => return over_budget(why),
                Err(why) if *fails_closed => why,
                Err(_) => continue,
            };
            evaluation.annotation_errors.push(Denial::error(error));
        }
        evaluation
    }
}

impl Validation {
    /// The message of a violation: the result of its `messageExpression` if that is a valid message, else its message, else its expression.
    fn failure_message(&self, activation: &Activation) -> String {
        let evaluate = |expression: &Expression| match activation.evaluate(expression, &|_| None) {
            Ok(Outcome::Text(text)) => Some(text.trim().to_owned()),
            _ => None,
        };
        let is_message =
            |text: &String| !text.is_empty() && text.len() <= MAX_MESSAGE_BYTES && !text.contains('\n');
        let evaluated = self.message_expression.as_ref().and_then(evaluate);
        evaluated
            .filter(is_message)
            .unwrap_or_else(|| match self.message.trim() {
                "" => format!("failed expression: {}", self.text.trim()),
                message => message.to_owned(),
            })
    }
}

//! The stored validating policies with their bindings, compiled.

use super::definition::{Definition, items};
use crate::admission::expressions::Expressions;
use crate::cel::Expression;
use crate::meta::text;
use crate::storage::Store;
use serde_json::Value;

pub(in crate::admission) const VALIDATING_POLICIES: &str =
    "validatingadmissionpolicies.admissionregistration.k8s.io";
pub(in crate::admission) const VALIDATING_BINDINGS: &str =
    "validatingadmissionpolicybindings.admissionregistration.k8s.io";

/// A validating policy that is bound.
#[derive(Debug)]
pub(in crate::admission) struct ValidatingPolicy {
    pub(super) definition: Definition,
    pub(super) validations: Vec<Validation>,
    pub(super) annotations: Vec<AuditAnnotation>,
}

/// What a policy demands of an object.
#[derive(Debug)]
pub(super) struct Validation {
    pub(super) text: String,
    pub(super) expression: Expression,
    /// Empty if there is none.
    pub(super) message: String,
    pub(super) message_expression: Option<Expression>,
    /// The reason of the error.
    pub(super) reason: String,
}

/// An annotation of the audit event.
#[derive(Debug)]
pub(super) struct AuditAnnotation {
    pub(super) key: String,
    pub(super) text: String,
    pub(super) expression: Expression,
}

impl ValidatingPolicy {
    /// Compiles all policies that are bound, in the order of their names.
    pub(in crate::admission) fn load_all(store: &Store, expressions: &mut Expressions) -> Vec<Self> {
        let tables = (VALIDATING_POLICIES, VALIDATING_BINDINGS);
        let bound = Definition::load_bound(store, tables, expressions);
        let policies = bound.into_iter().map(|(definition, policy)| {
            let spec = &policy.value()["spec"];
            Self {
                definition,
                validations: items(spec, "validations")
                    .map(|validation| Validation::parse(validation, expressions))
                    .collect(),
                annotations: items(spec, "auditAnnotations")
                    .map(|annotation| AuditAnnotation::parse(annotation, expressions))
                    .collect(),
            }
        });
        policies.collect()
    }
}

impl Validation {
    fn parse(validation: &Value, expressions: &mut Expressions) -> Self {
        let expression = text(validation, "expression");
        let message_expression = text(validation, "messageExpression");
        let reason = match text(validation, "reason") {
            "" => "Invalid",
            reason => reason,
        };
        Self {
            expression: expressions.get(expression),
            text: expression.to_owned(),
            message: text(validation, "message").to_owned(),
            message_expression: (!message_expression.is_empty()).then(|| expressions.get(message_expression)),
            reason: reason.to_owned(),
        }
    }
}

impl AuditAnnotation {
    fn parse(annotation: &Value, expressions: &mut Expressions) -> Self {
        let expression = text(annotation, "valueExpression");
        Self {
            key: text(annotation, "key").to_owned(),
            expression: expressions.get(expression),
            text: expression.to_owned(),
        }
    }
}

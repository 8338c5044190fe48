//! The stored policies with their bindings, compiled.

use super::params::{ParamKind, ParamRef};
use crate::admission::match_resources::{MatchResources, text, texts};
use crate::cel::{Expression, Variable};
use crate::meta;
use crate::storage::Store;
use serde_json::Value;
use std::sync::Arc;

pub(in crate::admission) const POLICIES: &str = "validatingadmissionpolicies.admissionregistration.k8s.io";
pub(in crate::admission) const BINDINGS: &str =
    "validatingadmissionpolicybindings.admissionregistration.k8s.io";

/// A policy that is bound.
#[derive(Debug)]
pub(in crate::admission) struct Policy {
    pub(super) name: String,
    pub(super) matches: MatchResources,
    pub(super) conditions: Vec<Expression>,
    pub(super) variables: Arc<[Variable]>,
    pub(super) validations: Vec<Validation>,
    pub(super) annotations: Vec<AuditAnnotation>,
    /// Whether errors refuse the request (`failurePolicy: Fail`).
    pub(super) fails_closed: bool,
    pub(super) param_kind: Option<ParamKind>,
    pub(super) bindings: Vec<Binding>,
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

/// Where a policy applies, and what a violation leads to.
#[derive(Debug)]
pub(super) struct Binding {
    pub(super) name: String,
    /// None if the binding applies wherever its policy does.
    pub(super) matches: Option<MatchResources>,
    /// `Deny`, `Warn` and `Audit`.
    pub(super) actions: Vec<String>,
    pub(super) param_ref: Option<ParamRef>,
}

impl Policy {
    /// Compiles all policies that are bound, in the order of their names.
    pub(in crate::admission) fn load_all(store: &Store) -> Vec<Self> {
        let bindings = store.objects(BINDINGS, "");
        let bindings: Vec<&Value> = bindings.iter().map(|binding| binding.value()).collect();
        let policies = store.objects(POLICIES, "");
        let policies = policies.iter().map(|policy| policy.value());
        policies
            .filter_map(|policy| Self::bound(policy, &bindings))
            .collect()
    }

    /// Compiles a policy with those of the bindings that name it, if any does.
    fn bound(policy: &Value, bindings: &[&Value]) -> Option<Self> {
        let name = meta::name(policy);
        let of_policy = bindings
            .iter()
            .filter(|binding| binding["spec"]["policyName"] == name);
        let bindings: Vec<Binding> = of_policy.map(|binding| Binding::parse(binding)).collect();
        (!bindings.is_empty()).then(|| Self::parse(policy, bindings))
    }

    /// Reads a valid and defaulted policy.
    pub(super) fn parse(policy: &Value, bindings: Vec<Binding>) -> Self {
        let spec = &policy["spec"];
        let items = |field: &str| spec[field].as_array().into_iter().flatten();
        let compile = |item: &Value| Expression::compile(&text(&item["expression"]));
        Self {
            name: meta::name(policy).to_owned(),
            matches: MatchResources::of_policy(&spec["matchConstraints"]),
            conditions: items("matchConditions").map(compile).collect(),
            variables: items("variables")
                .map(|variable| (text(&variable["name"]), compile(variable)))
                .collect(),
            validations: items("validations").map(Validation::parse).collect(),
            annotations: items("auditAnnotations").map(AuditAnnotation::parse).collect(),
            fails_closed: spec["failurePolicy"] != "Ignore",
            param_kind: ParamKind::parse(&spec["paramKind"]),
            bindings,
        }
    }
}

impl Validation {
    fn parse(validation: &Value) -> Self {
        let (expression, reason) = (text(&validation["expression"]), text(&validation["reason"]));
        let message_expression = validation["messageExpression"].as_str();
        Self {
            expression: Expression::compile(&expression),
            text: expression,
            message: text(&validation["message"]),
            message_expression: message_expression
                .filter(|expression| !expression.is_empty())
                .map(Expression::compile),
            reason: if reason.is_empty() {
                "Invalid".to_owned()
            } else {
                reason
            },
        }
    }
}

impl AuditAnnotation {
    fn parse(annotation: &Value) -> Self {
        let expression = text(&annotation["valueExpression"]);
        Self {
            key: text(&annotation["key"]),
            expression: Expression::compile(&expression),
            text: expression,
        }
    }
}

impl Binding {
    pub(super) fn parse(binding: &Value) -> Self {
        let spec = &binding["spec"];
        let constraints = Some(&spec["matchResources"]).filter(|constraints| constraints.is_object());
        Self {
            name: meta::name(binding).to_owned(),
            matches: constraints.map(MatchResources::of_policy),
            actions: texts(&spec["validationActions"]),
            param_ref: ParamRef::parse(&spec["paramRef"]),
        }
    }
}

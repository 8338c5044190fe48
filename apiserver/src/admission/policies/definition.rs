//! What validating and mutating policies have in common: where they apply, with which bindings and params.

use super::evaluation::Inputs;
use super::params::{ParamKind, ParamRef};
use crate::admission::expressions::Expressions;
use crate::admission::match_conditions;
use crate::admission::match_resources::{MatchResources, texts};
use crate::cel::{Authorize, Budget, Expression, Variable};
use crate::kinds::Kind;
use crate::meta;
use crate::storage::{Object, Store};
use serde_json::Value;
use std::sync::Arc;

/// The requests that no policy sees, by groups and beginnings of resources: policies and their bindings, otherwise a faulty policy could refuse
/// the change that repairs it, and reviews of users and their permissions.
const EXEMPT: &[(&str, &str)] = &[
    ("admissionregistration.k8s.io", "validatingadmissionpolic"),
    ("admissionregistration.k8s.io", "mutatingadmissionpolic"),
    ("authentication.k8s.io", ""),
    ("authorization.k8s.io", ""),
];

/// A policy that is bound, without what it demands or changes.
#[derive(Debug)]
pub(super) struct Definition {
    pub(super) name: String,
    pub(super) matches: MatchResources,
    conditions: Vec<Expression>,
    pub(super) variables: Arc<[Variable]>,
    /// Whether errors refuse the request (`failurePolicy: Fail`).
    pub(super) fails_closed: bool,
    pub(super) param_kind: Option<ParamKind>,
    pub(super) bindings: Vec<Binding>,
}

/// Where a policy applies, and what a violation leads to.
#[derive(Debug)]
pub(super) struct Binding {
    pub(super) name: String,
    /// None if the binding applies wherever its policy does.
    pub(super) matches: Option<MatchResources>,
    /// `Deny`, `Warn` and `Audit`; none for a mutating policy.
    pub(super) actions: Vec<String>,
    pub(super) param_ref: Option<ParamRef>,
}

/// True if no policy sees requests to the resource.
pub(super) fn is_exempt(resource: &Kind) -> bool {
    let mut exempt = EXEMPT.iter();
    exempt.any(|(group, plural)| resource.group == *group && resource.plural.starts_with(plural))
}

impl Definition {
    /// Compiles all policies of a table that are bound, each with its object, in the order of their names.
    pub(super) fn load_bound(
        store: &Store,
        (policies, bindings): (&str, &str),
        expressions: &mut Expressions,
    ) -> Vec<(Self, Arc<Object>)> {
        let bindings = store.objects(bindings, "");
        let bound = store.objects(policies, "").into_iter().filter_map(|policy| {
            let name = meta::name(policy.value());
            let of_policy = bindings.iter().map(|binding| binding.value());
            let of_policy = of_policy.filter(|binding| binding["spec"]["policyName"] == name);
            let bindings: Vec<Binding> = of_policy.map(Binding::parse).collect();
            (!bindings.is_empty()).then(|| (Self::parse(policy.value(), bindings, expressions), policy))
        });
        bound.collect()
    }

    /// Reads a valid and defaulted policy.
    fn parse(policy: &Value, bindings: Vec<Binding>, expressions: &mut Expressions) -> Self {
        let spec = &policy["spec"];
        let names = items(spec, "variables").map(|variable| meta::text(variable, "name").to_owned());
        Self {
            name: meta::name(policy).to_owned(),
            matches: MatchResources::of_policy(&spec["matchConstraints"]),
            conditions: expressions.of_items(&spec["matchConditions"]),
            variables: names.zip(expressions.of_items(&spec["variables"])).collect(),
            fails_closed: spec["failurePolicy"] != "Ignore",
            param_kind: ParamKind::parse(&spec["paramKind"]),
            bindings,
        }
    }

    /// Whether the policy's conditions are met.
    ///
    /// # Errors
    ///
    /// Returns why they cannot be evaluated; not if the policy ignores errors.
    pub(super) fn conditions_are_met(&self, inputs: &Inputs<'_>) -> Result<bool, String> {
        if self.conditions.is_empty() {
            return Ok(true);
        }
        let authorize: Authorize<'_> = &|check| inputs.request.authorize(check);
        // Conditions do not see the namespace.
        let activation = inputs.activation(&self.variables, &Value::Null, Budget::Conditions);
        let met = match_conditions::are_met(&self.conditions, &activation, authorize);
        met.or_else(|why| if self.fails_closed { Err(why) } else { Ok(false) })
    }
}

impl Binding {
    fn parse(binding: &Value) -> Self {
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

pub(super) fn items<'v>(spec: &'v Value, field: &str) -> impl Iterator<Item = &'v Value> {
    spec[field].as_array().into_iter().flatten()
}

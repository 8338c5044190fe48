//! The stored mutating policies with their bindings, compiled, and what one of their mutations makes of an object.

use super::definition::{Definition, items};
use super::evaluation::Inputs;
use crate::admission::expressions::Expressions;
use crate::admission::hook_request::HookTarget;
use crate::apply;
use crate::cel::{Authorize, Budget, Expression};
use crate::meta::text;
use crate::patch::{self, Decoding, PatchError};
use crate::status::ApiError;
use crate::storage::Store;
use crate::types::{self, Type};
use serde_json::Value;

pub(in crate::admission) const MUTATING_POLICIES: &str =
    "mutatingadmissionpolicies.admissionregistration.k8s.io";
pub(in crate::admission) const MUTATING_BINDINGS: &str =
    "mutatingadmissionpolicybindings.admissionregistration.k8s.io";

/// A mutating policy that is bound.
#[derive(Debug)]
pub(in crate::admission) struct MutatingPolicy {
    pub(super) definition: Definition,
    pub(super) mutations: Vec<Mutation>,
    /// Whether the policy is evaluated again after others changed the object (`reinvocationPolicy: IfNeeded`).
    pub(super) is_reinvoked: bool,
}

/// How a policy changes an object.
#[derive(Debug)]
pub(super) enum Mutation {
    /// An expression that makes an apply configuration, which is merged into the object.
    ApplyConfiguration(Expression),
    /// An expression that makes a JSON patch.
    JsonPatch(Expression),
}

/// Why an object cannot be changed.
pub(super) enum MutationError {
    /// The policy decides whether this refuses the request.
    Failed(String),
    /// The request is refused.
    Refused(ApiError),
}

impl MutatingPolicy {
    /// Compiles all policies that are bound, in the order of their names.
    pub(in crate::admission) fn load_all(store: &Store, expressions: &mut Expressions) -> Vec<Self> {
        let tables = (MUTATING_POLICIES, MUTATING_BINDINGS);
        let bound = Definition::load_bound(store, tables, expressions);
        let policies = bound.into_iter().map(|(definition, policy)| {
            let spec = &policy.value()["spec"];
            Self {
                definition,
                mutations: items(spec, "mutations")
                    .map(|mutation| Mutation::parse(mutation, expressions))
                    .collect(),
                is_reinvoked: spec["reinvocationPolicy"] == "IfNeeded",
            }
        });
        policies.collect()
    }
}

impl Mutation {
    fn parse(mutation: &Value, expressions: &mut Expressions) -> Self {
        let mut compile = |field: &str| expressions.get(text(&mutation[field], "expression"));
        match mutation["patchType"].as_str() {
            Some("JSONPatch") => Self::JsonPatch(compile("jsonPatch")),
            _ => Self::ApplyConfiguration(compile("applyConfiguration")),
        }
    }

    /// Returns the changed object, with its defaults.
    pub(super) fn mutate(
        &self,
        policy: &Definition,
        inputs: &Inputs<'_>,
        target: &HookTarget,
    ) -> Result<Value, MutationError> {
        let kind = &target.kind;
        let activation = inputs.activation(&policy.variables, inputs.namespace, Budget::Policy);
        let authorize: Authorize<'_> = &|check| inputs.request.authorize(check);
        match self {
            Self::ApplyConfiguration(expression) => {
                let evaluated = activation.configuration(expression, authorize);
                let mut configuration = evaluated.map_err(MutationError::Failed)?;
                configuration["apiVersion"] = inputs.object["apiVersion"].clone();
                configuration["kind"] = inputs.object["kind"].clone();
                let ty = type_of(target).ok_or_else(|| {
                    let gvk = apply::gvk(&kind.api_version(), &kind.kind);
                    format!("failed to convert patch object to typed object: no corresponding type for {gvk}")
                });
                let merged = ty.and_then(|ty| apply::merge_configuration(inputs.object, &configuration, ty));
                let mut merged =
                    merged.map_err(|why| MutationError::Failed(format!("error applying patch: {why}")))?;
                target.decode(&mut merged).map_err(MutationError::Failed)?;
                Ok(merged)
            }
            Self::JsonPatch(expression) => {
                let evaluated = activation.json_patch(expression, authorize);
                let patch = evaluated.map_err(MutationError::Failed)?.to_string();
                match patch::json_patch(inputs.object, patch.as_bytes(), Decoding::Lenient) {
                    Ok(patched) => decode(target, patched.object),
                    Err(PatchError::Unprocessable(why)) if why.ends_with(": test failed") => {
                        Ok(inputs.object.clone())
                    }
                    Err(PatchError::Unprocessable(why)) => {
                        Err(MutationError::Failed(format!("JSON Patch: {why}")))
                    }
                    Err(other) => Err(MutationError::Failed(format!("JSON Patch: {other}"))),
                }
            }
        }
    }
}

/// Decodes a patched object, in which there are no unknown fields.
fn decode(target: &HookTarget, mut object: Value) -> Result<Value, MutationError> {
    let refused = |why: String| MutationError::Refused(ApiError::internal(why));
    let unknown = target.decode(&mut object).map_err(refused)?;
    if target.kind.definition.is_none() && !unknown.is_empty() {
        return Err(refused(format!("strict decoding error: {}", unknown.join(", "))));
    }
    Ok(object)
}

/// The type of the objects; none for those of subresources with a kind of another group, which the documents of their group lack.
fn type_of(target: &HookTarget) -> Option<&Type> {
    let kind = &target.kind;
    if kind.api_version() != target.resource.api_version() {
        return None;
    }
    match &kind.definition {
        None => types::builtin(&kind.api_version(), &kind.kind),
        Some(definition) => definition
            .version(&kind.version)
            .map(|version| version.schema.ty()),
    }
}

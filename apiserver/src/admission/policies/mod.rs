//! MutatingAdmissionPolicies and ValidatingAdmissionPolicies, evaluated as by kube-apiserver.
//!
//! Reading order: `definition` (what the stored policies have in common, with their bindings), `params` (the objects that a binding refers to),
//! `invocation` (where a policy applies to a request), `objects` (what expressions see); `mutating_policy` and `mutate`;
//! `validating_policy`, `evaluation` and `validate`.
//!
//! Policies are evaluated where the other plugins mutate and validate, before webhooks. Differences from kube-apiserver, besides those of
//! kube-cel: policies are evaluated in the order of their names, and take effect at once; their cost is limited by the number of steps; no policy
//! is evaluated for connections (`CONNECT`); `.status.typeChecking` is written by no controller, as with a kube-apiserver alone.

mod definition;
mod evaluation;
mod invocation;
mod mutate;
#[cfg(test)]
mod mutate_tests;
mod mutating_policy;
mod objects;
mod params;
mod validate;
#[cfg(test)]
mod validate_tests;
mod validating_policy;

pub(super) use mutate::MutatingPolicies;
pub(super) use mutating_policy::{MUTATING_BINDINGS, MUTATING_POLICIES, MutatingPolicy};
pub(super) use validate::validate;
pub(super) use validating_policy::{VALIDATING_BINDINGS, VALIDATING_POLICIES, ValidatingPolicy};

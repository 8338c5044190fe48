//! ValidatingAdmissionPolicies, evaluated as by kube-apiserver.
//!
//! Reading order: `policy` (the stored policies with their bindings, compiled), `params` (the objects that a binding refers to), `objects` and
//! `evaluation` (one policy for one object), `validate` (a write under all policies).
//!
//! A policy is evaluated where the other plugins validate: before validating webhooks. Differences from kube-apiserver, besides those of
//! kube-cel: policies are evaluated in the order of their names, and take effect at once; their cost is limited by the number of steps; no policy
//! is evaluated for connections (`CONNECT`); `.status.typeChecking` is written by no controller, as with a kube-apiserver alone.

mod evaluation;
mod objects;
mod params;
mod policy;
#[cfg(test)]
mod tests;
mod validate;

pub(super) use policy::{BINDINGS, POLICIES, Policy};
pub(super) use validate::validate;

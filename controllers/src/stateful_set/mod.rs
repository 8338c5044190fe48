//! StatefulSets: pods with a name and claims of their own, which are created, updated and deleted in the order of their ordinals.
//!
//! Read in this order: [`desired`] (the spec as numbers), [`identity`] (names and labels by ordinal), [`plan`] (which pods to create, update
//! and delete), [`retention`] (who owns the claims, so that they are deleted with their owner), [`claims`] (what follows for the claims of a
//! pod), [`revisions`] (which template is the present one, and which the former), [`objects`] (pods and claims as they are created), [`status`].
//! [`controller`] reads the caches, [`carry_out`] does what the plan says (claims by [`claim_writer`]), [`metrics`] counts replicas.
//!
//! The names of pods are known: one that exists already is not created a second time, so that no expectations are needed.

mod carry_out;
mod claim_writer;
mod claims;
mod controller;
mod desired;
mod identity;
mod metrics;
mod objects;
mod plan;
mod retention;
mod revisions;
mod status;

#[cfg(test)]
mod rollout_model;
#[cfg(test)]
mod test_objects;

pub(crate) use controller::register;

//! Deployments: rolls a pod template out over ReplicaSets, one for each template that the Deployment had.
//!
//! Read in this order: [`plan`] (which steps a reconcile takes), [`desired`] (the spec as numbers), [`replica_sets`] (the ReplicaSets, as the
//! plan changes them), [`template`] (which of them is the newest), [`annotations`], [`revision`]. Then the
//! steps: [`rolling`], [`recreate`], [`scale`], [`history`], [`rollback`]. Then what is reported: [`status`], [`progress`], [`conditions`].
//! [`controller`] reads the caches, [`carry_out`] does what the plan says; [`pods`] looks for pods of a Deployment.
//!
//! A reconcile differs from upstream's in what it sends: one update of each changed ReplicaSet, and one of the Deployment's status, instead
//! of a request after each step. A reconcile that fails is retried without end; upstream gives up after 15 retries.

mod annotations;
mod carry_out;
mod conditions;
mod controller;
mod desired;
mod history;
mod plan;
mod pods;
mod progress;
mod recreate;
mod replica_sets;
mod revision;
mod rollback;
mod rolling;
mod scale;
mod status;
mod template;

#[cfg(test)]
mod rollout_events;
#[cfg(test)]
mod rollout_model;
#[cfg(test)]
mod test_objects;

pub(crate) use controller::register;

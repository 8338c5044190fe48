//! Runs the pods of a Job until enough of them have succeeded, and counts each exactly once.
//!
//! Read `rules` (what the spec asks for), `job_pod`, `plan` (what the caches say, and the next step for the pods) with its parts `indexes`
//! of `index_set`s, `backoff`, `failure_policy`, `success_policy`, `verdict` and `removal`; then `progress` and `tracking` (the status),
//! and `controller` with its parts `claims`, `carry_out`, `count`, `new_pod`, `finalizers`, `memory` and `batch`. `orphan_pods` is a second
//! controller, `tracked_pods` a metric. `gang` and `gang_objects` schedule all pods of a Job together.

mod backoff;
mod batch;
mod carry_out;
mod claims;
mod conditions;
mod controller;
mod count;
mod failure_policy;
mod features;
mod finalizers;
mod finish_time;
mod gang;
mod gang_objects;
mod index_set;
mod indexes;
#[cfg(test)]
mod job_events;
#[cfg(test)]
mod job_model;
mod job_pod;
mod memory;
mod metrics;
mod new_pod;
mod orphan_pods;
mod plan;
mod progress;
mod removal;
mod rules;
mod success_policy;
#[cfg(test)]
mod test_objects;
mod tracked_pods;
mod tracking;
mod verdict;

pub(crate) use controller::register;

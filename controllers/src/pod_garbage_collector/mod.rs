//! Deletes pods that no kubelet will delete: on nodes that are gone or out of service, never scheduled, or too many that have ended.
//!
//! Read `plan` (which pods, and why), `quarantine` (nodes that are missing), `controller`.

mod controller;
mod metrics;
mod plan;
mod quarantine;

pub(crate) use controller::register;

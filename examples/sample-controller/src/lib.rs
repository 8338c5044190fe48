//! Kubernetes' sample-controller on kubewright, with the same kind, rules and messages.
//!
//! [`api`] has the kind; [`controller`] has upstream's `syncHandler` and event handlers.
//! It updates whole objects to be comparable with upstream, and so has no use for typed apply (`#[derive(ApplyConfiguration)]`). An operator
//! of your own should use it, as the scaffold of `kubewright new` does: an update drops fields that the compiled types do not know.

pub mod api;
pub mod controller;

//! Kubernetes' sample-controller on kubewright, with the same kind, rules and messages.
//!
//! [`api`] has the kind; [`controller`] has upstream's `syncHandler` and event handlers.
//! It updates whole objects to be comparable with upstream. An operator of your own should use server-side apply, as in
//! the scaffold of `kubewright new`: an update drops fields that the compiled types do not know.

pub mod api;
pub mod controller;

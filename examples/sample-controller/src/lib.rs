//! Kubernetes' sample-controller on kubewright: the same kind, the same rules, the same messages.
//!
//! [`api`] is the kind, [`controller`] what upstream calls the `syncHandler` and the event handlers around it.
//! It updates whole objects, as upstream does, to be comparable with it; an operator of your own should rather apply the
//! fields that it means (`kubewright new` scaffolds that): an update drops fields that the compiled types do not know.

pub mod api;
pub mod controller;

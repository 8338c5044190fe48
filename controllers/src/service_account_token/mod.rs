//! Fills the Secrets of type `kubernetes.io/service-account-token`, and deletes those whose service account is gone.
//!
//! [`plan`] decides about a Secret, [`signer`] makes the token, [`controller`] sends the writes.

mod controller;
mod plan;
mod signer;

pub(crate) use controller::register;

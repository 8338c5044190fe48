//! Tests of reconcilers without an API server.
//!
//! A [`Harness`] registers an operator on seeded caches, runs one reconcile and returns the requests that it sent. A [`ScriptedApi`] responds to the
//! [`Request`]s; use it alone to test code that sends requests without a controller. For tests with an API server see the package
//! `kubewright-testkit`.

mod api;
mod default_replies;
mod harness;
mod request;
pub(crate) mod request_diff;

pub use api::{Reply, ScriptedApi};
pub use harness::Harness;
pub use request::Request;
pub(crate) use request_diff::assert_requests;

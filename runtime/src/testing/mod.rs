//! Testing reconcilers without a server.
//!
//! A [`Harness`] registers an operator, is seeded with objects, runs one reconcile and shows what it sent. Behind it a [`ScriptedApi`] answers
//! the [`Request`]s; it can be used alone to test what sends requests without a controller. For tests with an API server see the
//! package `kubewright-testkit`.

mod answers;
mod api;
mod difference;
mod harness;
mod request;

pub use api::{Reply, ScriptedApi};
pub use difference::assert_requests;
pub use harness::Harness;
pub use request::Request;

//! Tests of operators.
//!
//! A [`Harness`] registers an operator on seeded caches, runs one reconcile and returns the requests that it sent, without an API server. A
//! [`ScriptedApi`] responds to the [`Request`]s; use it alone to test code that sends requests without a controller.
//!
//! [`Harness::admit`] calls validators and defaulters, [`Harness::assert_conversions`] tries the conversion between versions.
//!
//! A [`TestOperator`] runs the whole operator in the test's process, against an API server such as that of the package `kubewright-testkit`.

mod admission;
mod api;
mod conversions;
mod default_replies;
mod harness;
mod request;
pub(crate) mod request_diff;
mod same_fields;
mod test_operator;

pub use admission::Admitted;
pub use api::{Reply, ScriptedApi};
pub use harness::Harness;
pub use request::Request;
pub(crate) use request_diff::assert_requests;
pub use test_operator::TestOperator;

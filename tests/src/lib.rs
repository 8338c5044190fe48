//! Whole-program tests: what a user does, done by a program, judged by the real kube-apiserver.
//!
//! [`Project`] is a scaffolded operator in a temporary folder; [`Operator`] is one that runs under its generated Role.
//! The tests themselves stand in `tests/`, a file a story. Those that need a control plane are `#[ignore]`d with the
//! reason; `cargo xtask control-plane`, then `cargo test -- --ignored` runs them.

#![expect(
    clippy::expect_used,
    reason = "a test that cannot go on must stop and say why"
)]

mod operator;
mod project;

pub use operator::{Deployed, Operator};
pub use project::{Outcome, Project};

//! Whole-program tests: what a user does, done by a program, judged by an API server.
//!
//! [`Project`] is a scaffolded operator in a temporary folder; [`Operator`] is one that runs under its generated Role.
//! The tests themselves stand in `tests/`, a file a story; [`on_both_servers`] runs them on the embedded API server and, where it is
//! asked for, on the real one. Tests that need a control plane are `#[ignore]`d with the reason; `cargo xtask control-plane`, then
//! `cargo test -- --ignored` runs them.

#![expect(
    clippy::expect_used,
    reason = "a test that cannot go on must stop and say why"
)]

mod both;
mod object;
mod operator;
mod project;
mod yaml;

pub use both::{embedded, real};
pub use object::{condition, named};
pub use operator::{Deployed, Operator};
pub use project::{Outcome, Project};
pub use yaml::objects;

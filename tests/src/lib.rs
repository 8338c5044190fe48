//! Whole-program tests: each runs the commands that a user would run and checks the result through an API server.
//!
//! [`Project`] is a scaffolded operator project in a temporary folder; [`Operator`] is a running operator under its generated Role.
//! The tests are in `tests/`, one file per scenario. [`on_both_servers`] runs a test against the embedded API server and against a
//! real one. Tests that need a real control plane are `#[ignore]`d; run them with `cargo xtask control-plane`, then
//! `cargo test -- --ignored`.

#![expect(
    clippy::expect_used,
    reason = "a test that cannot continue panics with a reason"
)]

mod object;
mod operator;
mod project;
mod servers;
mod yaml;

pub use object::{condition, new_object};
pub use operator::{DeployedProject, Operator};
pub use project::{CommandOutput, Project};
pub use servers::{embedded, real};
pub use yaml::read_manifests;

/// Tests of the examples in the derives' documentation. In the package of the derives they would build its dependencies a second time.
#[cfg(doctest)]
mod derive_examples {
    #[doc = include_str!("../../codegen-macros/src/projection.md")]
    struct Projection;

    #[doc = include_str!("../../codegen-macros/src/convert.md")]
    struct Convert;

    #[doc = include_str!("../../codegen-macros/src/apply_configuration.md")]
    struct ApplyConfiguration;
}

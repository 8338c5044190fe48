//! Deletes Jobs some time after they have finished.
//!
//! Read `plan` (when a Job expires), `controller`.

mod controller;
mod plan;

pub(crate) use controller::register;

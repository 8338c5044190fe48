//! Ensures that each active namespace has a service account `default`.

mod controller;
mod plan;

pub(crate) use controller::register;

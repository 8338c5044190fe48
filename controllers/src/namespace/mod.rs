//! Deletes what a namespace contains, when the namespace is deleted, and then its finalizer.
//!
//! Read `content` (the deletion of one resource's objects), `plan` (what follows from their outcomes), `controller`.

mod content;
mod controller;
mod plan;

pub(crate) use controller::register;

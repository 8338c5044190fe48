//! Deletes objects whose owners are gone, finalizes owners that wait for their dependents, and orphans dependents.
//!
//! Read `graph` (which objects a change makes worth a look), `monitors` (the informers of every deletable resource), `owner_state` (whether
//! an owner exists), `collector` (what is done with one object), `controller` (registration and the loops).
//!
//! There is no `plan`: what follows for an object depends on what the API server says of one owner after another, and on its answers to the
//! writes before. `graph` is the pure part.

mod absent_owners;
mod collector;
mod controller;
mod graph;
mod monitors;
mod owner_state;
mod patches;

pub(crate) use controller::register;

const NAME: &str = "garbage-collector-controller";
/// The finalizer of an owner that waits until its dependents are deleted.
const FOREGROUND: &str = "foregroundDeletion";
/// The finalizer of an owner that waits until its dependents do not refer to it any more.
const ORPHAN: &str = "orphan";

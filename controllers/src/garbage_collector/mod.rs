//! Deletes objects whose owners are gone, finalizes owners that wait for their dependents, and orphans dependents.
//!
//! Read `graph` (which objects a change makes worth a look), `monitors` (the informers of every deletable resource), `owner_state` (whether
//! an owner exists), `collector` (what is done with one object), `controller` (registration and the loops).

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

//! What the API server was asked: its audit log, and the question whether permissions fit exactly.
//!
//! Read log (the events and the ways to pick some), then permissions (units, what is used, what is missing),
//! then manifests (the units that an operator asks for).

mod event;
mod log;
mod manifests;
mod permissions;

pub use event::{AuditEvent, Owner, Stage};
pub use log::{AuditError, AuditLog};
pub use permissions::{Mismatch, Unit};

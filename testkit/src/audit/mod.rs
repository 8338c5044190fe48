//! The API server's audit log, and checks that an identity's permissions are exactly those that it uses.
//!
//! Read log (events and filters), then permissions (units, unused and missing ones), then manifests (the units that an operator declares).

mod event;
mod log;
mod manifests;
mod permissions;

pub use event::{AuditEvent, Owner, Stage};
pub use log::{AuditError, AuditLog};
pub use permissions::{PermissionMismatch, PermissionUnit};

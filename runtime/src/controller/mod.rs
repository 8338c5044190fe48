//! Controllers: from a change to a call of reconcile, and what becomes of its result.

use crate::ObjectName;

/// What the user writes.
pub trait Reconciler: Send + Sync + 'static {
    /// Brings the world of `key` to what its object asks for.
    fn reconcile(&self, key: &ObjectName) -> impl Future<Output = Result<Action, ReconcileError>> + Send;
}

/// What follows a successful reconcile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    #[doc = "d"]
    Done,
    #[doc = "d"]
    After(std::time::Duration),
    #[doc = "d"]
    Again,
}

/// Why a reconcile failed.
#[derive(Debug)]
pub struct ReconcileError {}

/// What an operator registers.
pub struct Setup {}

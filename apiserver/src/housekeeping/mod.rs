//! What a cluster's controllers do to stored objects, each in a task of its own.

mod definitions;
mod garbage_collector;
mod namespaces;

use crate::registry::Registry;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;

/// A background task of the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HousekeepingTask {
    /// Serves the kinds of CustomResourceDefinitions; deletes the custom resources of deleted definitions.
    CustomResourceDefinitions,
    /// Deletes objects after their owners, and finalizes owners that wait for their dependents.
    GarbageCollector,
    /// Deletes the content of terminating namespaces, then the namespaces.
    Namespaces,
}

impl HousekeepingTask {
    /// All tasks.
    pub const ALL: [Self; 3] = [
        Self::CustomResourceDefinitions,
        Self::GarbageCollector,
        Self::Namespaces,
    ];

    /// Runs the task until the future is dropped.
    pub(crate) async fn run(self, registry: Arc<Registry>) {
        match self {
            Self::CustomResourceDefinitions => definitions::run(&registry).await,
            Self::GarbageCollector => garbage_collector::run(&registry).await,
            Self::Namespaces => namespaces::run(&registry).await,
        }
    }
}

/// Calls `reconcile` at once and after each change; if it returns true, also after the interval.
async fn reconcile_on_changes(
    mut changes: watch::Receiver<u64>,
    retry_interval: Duration,
    mut reconcile: impl FnMut() -> bool,
) {
    loop {
        changes.mark_unchanged();
        let needs_retry = reconcile();
        let next = changes.changed();
        if needs_retry {
            let _ = tokio::time::timeout(retry_interval, next).await;
        } else if next.await.is_err() {
            return;
        }
    }
}

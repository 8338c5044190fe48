//! What a cluster's controllers do to stored objects, each in a task of its own.

mod api_services;
mod definition_names;
mod definitions;
mod flow_schemas;
mod garbage_collector;
mod namespaces;
mod protection;
#[cfg(test)]
mod tests;

use crate::registry::Registry;
use futures::future::select_all;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;

/// A background task of the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HousekeepingTask {
    /// Serves the kinds of CustomResourceDefinitions, with their APIServices; deletes the custom resources of deleted definitions.
    CustomResourceDefinitions,
    /// Sets the condition `Dangling` of FlowSchemas, without delay.
    FlowSchemas,
    /// Deletes objects after their owners, and finalizes owners that wait for their dependents.
    GarbageCollector,
    /// Deletes the content of terminating namespaces, then the namespaces.
    Namespaces,
    /// Removes the finalizers of deleted claims, volumes and volume attributes classes that are not in use.
    StorageProtection,
}

impl HousekeepingTask {
    /// All tasks.
    pub const ALL: [Self; 5] = [
        Self::CustomResourceDefinitions,
        Self::FlowSchemas,
        Self::GarbageCollector,
        Self::Namespaces,
        Self::StorageProtection,
    ];

    /// Runs the task until the future is dropped. It acts `delay` after the change that it reacts to: see
    /// [`ApiServerBuilder::housekeeping_delay`](crate::ApiServerBuilder::housekeeping_delay).
    pub(crate) async fn run(self, registry: Arc<Registry>, delay: Duration) {
        match self {
            Self::CustomResourceDefinitions => definitions::run(registry, delay).await,
            Self::FlowSchemas => flow_schemas::run(&registry).await,
            Self::GarbageCollector => garbage_collector::run(&registry, delay).await,
            Self::Namespaces => namespaces::run(&registry, delay).await,
            Self::StorageProtection => protection::run(&registry, delay).await,
        }
    }
}

/// Calls `reconcile` at once, and after each of these changes when the delay has passed; if it returns true, also after the interval. Changes
/// during the delay are processed together.
async fn reconcile_on_changes<const N: usize>(
    mut changes: [watch::Receiver<u64>; N],
    delay: Duration,
    retry_interval: Duration,
    mut reconcile: impl FnMut() -> bool,
) {
    loop {
        changes.iter_mut().for_each(watch::Receiver::mark_unchanged);
        let needs_retry = reconcile();
        let next = select_all(changes.iter_mut().map(|changes| Box::pin(changes.changed())));
        if needs_retry {
            let _ = tokio::time::timeout(retry_interval, next).await;
        } else if next.await.0.is_err() {
            return;
        }
        if !delay.is_zero() {
            tokio::time::sleep(delay).await;
        }
    }
}

//! What a cluster's controllers do to stored objects, each in a task of its own.

mod api_services;
mod definition_names;
mod definitions;
mod extension_servers;
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
use tokio::sync::watch::{self, error::RecvError};
use tokio::time::{Instant, timeout, timeout_at};

/// A background task of the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HousekeepingTask {
    /// Serves the kinds of CustomResourceDefinitions, with their APIServices; deletes the custom resources of deleted definitions.
    CustomResourceDefinitions,
    /// Sets the condition `Available` of APIServices with a service.
    ExtensionServers,
    /// Sets the condition `Dangling` of FlowSchemas, without delay.
    FlowSchemas,
    /// Deletes objects after their owners, and finalizes owners that wait for their dependents.
    GarbageCollector,
    /// Deletes the content of terminating namespaces, then the namespaces.
    Namespaces,
    /// Removes the finalizers of deleted claims, volumes and volume attributes classes that are not in use.
    StorageProtection,
}

/// A name of a task that does not exist.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown housekeeping task {0:?}: this server has {names}", names = HousekeepingTask::ALL.map(HousekeepingTask::name).join(", "))]
pub struct UnknownHousekeepingTask(String);

impl HousekeepingTask {
    /// All tasks.
    pub const ALL: [Self; 6] = [
        Self::CustomResourceDefinitions,
        Self::ExtensionServers,
        Self::FlowSchemas,
        Self::GarbageCollector,
        Self::Namespaces,
        Self::StorageProtection,
    ];

    /// All but the garbage collector and the namespace task, for servers beside a controller manager that does the work of both.
    pub const BESIDE_CONTROLLER_MANAGER: [Self; 4] = [
        Self::CustomResourceDefinitions,
        Self::ExtensionServers,
        Self::FlowSchemas,
        Self::StorageProtection,
    ];

    /// Returns the name of the task in [`select`](Self::select).
    pub fn name(self) -> &'static str {
        match self {
            Self::CustomResourceDefinitions => "custom-resource-definitions",
            Self::ExtensionServers => "extension-servers",
            Self::FlowSchemas => "flow-schemas",
            Self::GarbageCollector => "garbage-collector",
            Self::Namespaces => "namespaces",
            Self::StorageProtection => "storage-protection",
        }
    }

    /// Returns the tasks of these names, as kube-controller-manager's flag `--controllers` selects controllers: `*` is all, `-foo` is all but
    /// `foo` beside `*`.
    ///
    /// # Errors
    ///
    /// If a name is unknown.
    pub fn select(names: &[String]) -> Result<Vec<Self>, UnknownHousekeepingTask> {
        let is_known = |name: &str| Self::ALL.iter().any(|task| task.name() == name);
        let mut listed = names.iter().filter(|name| !matches!(name.as_str(), "*" | ""));
        if let Some(unknown) = listed.find(|name| !is_known(name.strip_prefix('-').unwrap_or(name))) {
            return Err(UnknownHousekeepingTask(unknown.clone()));
        }
        let is_selected = |task: &Self| {
            // The first mention of a task counts.
            let mention = names
                .iter()
                .find(|name| name.trim_start_matches('-') == task.name());
            mention.map_or(names.iter().any(|name| name == "*"), |name| {
                !name.starts_with('-')
            })
        };
        Ok(Self::ALL.into_iter().filter(is_selected).collect())
    }

    /// Runs the task until the future is dropped. It acts `delay` after the change that it reacts to: see
    /// [`ApiServerBuilder::housekeeping_delay`](crate::ApiServerBuilder::housekeeping_delay).
    pub(crate) async fn run(self, registry: Arc<Registry>, delay: Duration) {
        match self {
            Self::CustomResourceDefinitions => definitions::run(registry, delay).await,
            Self::ExtensionServers => extension_servers::run(&registry, delay).await,
            Self::FlowSchemas => flow_schemas::run(&registry).await,
            Self::GarbageCollector => garbage_collector::run(&registry, delay).await,
            Self::Namespaces => namespaces::run(&registry, delay).await,
            Self::StorageProtection => protection::run(&registry, delay).await,
        }
    }
}

/// A task waits at most this many delays while changes follow each other: a server that is always written to must not hold it up.
const MAX_DELAYS: u32 = 4;

/// Calls `reconcile` at once, and after these changes when none came for the delay, or [`MAX_DELAYS`] of it have passed; if it returns true,
/// also after the interval.
async fn reconcile_on_changes<const N: usize>(
    mut changes: [watch::Receiver<u64>; N],
    delay: Duration,
    retry_interval: Duration,
    mut reconcile: impl FnMut() -> bool,
) {
    loop {
        changes.iter_mut().for_each(watch::Receiver::mark_unchanged);
        let needs_retry = reconcile();
        let next = next_change(&mut changes);
        if needs_retry {
            let _ = timeout(retry_interval, next).await;
        } else if next.await.is_err() {
            return;
        }
        let latest = Instant::now() + delay * MAX_DELAYS;
        loop {
            changes.iter_mut().for_each(watch::Receiver::mark_unchanged);
            let quiet = (Instant::now() + delay).min(latest);
            match timeout_at(quiet, next_change(&mut changes)).await {
                Ok(Ok(())) => {}
                Ok(Err(_)) => return,
                Err(_) => break,
            }
        }
    }
}

/// Waits for a change of any of them.
async fn next_change<const N: usize>(changes: &mut [watch::Receiver<u64>; N]) -> Result<(), RecvError> {
    select_all(changes.iter_mut().map(|changes| Box::pin(changes.changed())))
        .await
        .0
}

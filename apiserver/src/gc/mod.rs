//! Housekeeping: what goes with its owner, and with its namespace.

mod namespaces;
mod owners;

use crate::registry::Registry;
use std::sync::Arc;
use std::time::Duration;

/// How soon what is held by finalizers is looked at again.
const PATIENCE: Duration = Duration::from_millis(200);

/// Runs until it is dropped.
pub(crate) async fn run(registry: Arc<Registry>) {
    let mut changes = registry.store.subscribe();
    let mut collector = owners::Collector::default();
    loop {
        changes.mark_unchanged();
        let waits = collector.collect(&registry) | namespaces::clean(&registry);
        let next = changes.changed();
        if waits {
            let _ = tokio::time::timeout(PATIENCE, next).await;
        } else if next.await.is_err() {
            return;
        }
    }
}

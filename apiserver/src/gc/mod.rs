//! Background controllers: the garbage collector, the namespace controller, and the conditions of FlowSchemas.

mod flow_schemas;
mod garbage_collector;
mod namespace_controller;

use crate::registry::Registry;
use std::sync::Arc;
use std::time::Duration;

/// How soon objects that are held by finalizers are processed again.
const FINALIZER_RETRY_INTERVAL: Duration = Duration::from_millis(200);

/// Runs the controllers until the future is dropped.
pub(crate) async fn run(registry: Arc<Registry>) {
    tokio::join!(collect(registry.clone()), flow_schemas::run(registry));
}

async fn collect(registry: Arc<Registry>) {
    let mut changes = registry.store.subscribe();
    let mut collector = garbage_collector::GarbageCollector::default();
    loop {
        changes.mark_unchanged();
        let needs_retry =
            collector.collect(&registry) | namespace_controller::finalize_terminating(&registry);
        let next = changes.changed();
        if needs_retry {
            let _ = tokio::time::timeout(FINALIZER_RETRY_INTERVAL, next).await;
        } else if next.await.is_err() {
            return;
        }
    }
}

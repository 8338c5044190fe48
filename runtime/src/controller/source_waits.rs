//! What a running controller waits for: the cache sync of its sources, and the expiry of their expectations.

use std::future::pending;

use futures::future::join_all;

use super::{Expectations, source_set::SourceSet};
use crate::cache::InformerHandle;

impl SourceSet {
    /// The expectations of all sources, each once.
    pub(super) fn expectations(&self) -> Vec<Expectations> {
        let state = self.state.lock();
        let mut distinct: Vec<Expectations> = Vec::new();
        for expectations in state
            .connected
            .values()
            .filter_map(|source| source.expectations.as_ref())
        {
            if !distinct.iter().any(|known| known.is_same(expectations)) {
                distinct.push(expectations.clone());
            }
        }
        distinct
    }

    /// The informers of registered sources that have not synced.
    pub(super) fn unsynced(&self) -> Vec<InformerHandle> {
        let state = self.state.lock();
        let registered = state.connected.values().filter(|source| source.is_registered);
        let informers = registered.map(|source| source.informer.clone());
        informers.filter(|informer| !informer.has_synced()).collect()
    }

    /// Waits for the cache sync of the registered sources. Does not wait for sources that are removed. Cancel safe.
    pub(super) async fn wait_for_sync(&self) {
        while let Some(informer) = self.unsynced().first() {
            informer.wait_for_sync_or_stop().await;
            if !informer.has_synced()
                && self
                    .unsynced()
                    .first()
                    .is_some_and(|first| first.is_same(informer))
            {
                // It is being removed; or its factory was shut down, and it never syncs.
                self.changed.notified().await;
            }
        }
    }

    /// Enqueues keys when their awaited expectations expire, until it is dropped.
    pub(super) async fn run_expiry(&self) {
        loop {
            let expectations = self.expectations();
            let expiries = async {
                join_all(expectations.iter().map(Expectations::run_expiry)).await;
                pending::<()>().await;
            };
            tokio::select! {
                () = self.changed.notified() => {}
                () = expiries => {}
            }
        }
    }
}

//! Cache sync: whether and when caches hold the first list, and which informers count for it.

use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use futures::future::join_all;

use super::{
    InformerHandle, SharedInformer, SharedInformerFactory,
    factory::{FactoryShared, namespaces},
    freshness::FreshnessCheck,
    untyped_informer::UntypedInformer,
};
use crate::ApiResource;

impl<K> SharedInformer<K> {
    /// Whether the cache has synced: the first list is in the store, and every sink has received it.
    pub fn has_synced(&self) -> bool {
        self.untyped.has_synced()
    }

    /// Waits for the cache sync ([`has_synced`](Self::has_synced)). Never returns if the informer is not started. Cancel safe.
    pub async fn wait_for_sync(&self) {
        self.untyped.wait_for_sync().await;
    }
}

impl SharedInformerFactory {
    /// Waits for the cache sync: until every started informer [has synced](SharedInformer::has_synced), or until [`shutdown`](Self::shutdown).
    /// Does not wait for informers that are removed, nor for those that started for a source added at run time
    /// ([`ControllerSources`](crate::controller::ControllerSources)). Cancel safe.
    pub async fn wait_for_cache_sync(&self) {
        self.wait_for_cache_sync_of(&self.progress()).await;
    }

    /// As [`wait_for_cache_sync`](Self::wait_for_cache_sync), for these informers.
    pub(crate) async fn wait_for_cache_sync_of(&self, informers: &[InformerHandle]) {
        let synced = async {
            for informer in informers.iter().map(InformerHandle::untyped) {
                if informer.counts_for_readiness() {
                    informer.wait_for_sync_or_stop().await;
                }
            }
        };
        self.shared.cancel.run_until_cancelled(synced).await;
    }

    /// Waits until the caches of all started informers are as current as a quorum read at the time of the call. A replica that becomes
    /// leader calls this before it acts on its cache. Skips the same informers as [`wait_for_cache_sync`](Self::wait_for_cache_sync). Costs a list of one object, and at most a short watch, for each namespace.
    ///
    /// Waits as long as changes are known to be missing. If that cannot be determined, because the API server sends no bookmarks, it waits
    /// for 30 seconds and logs that. Resource versions that are not numbers are not waited for; that is logged too. Ends with
    /// [`shutdown`](Self::shutdown). Cancel safe.
    pub async fn wait_until_current(&self) {
        self.wait_until_current_of(&self.progress()).await;
    }

    /// As [`wait_until_current`](Self::wait_until_current), for these informers.
    pub(crate) async fn wait_until_current_of(&self, informers: &[InformerHandle]) {
        let FactoryShared {
            list_watch,
            state,
            cancel,
            ..
        } = &*self.shared;
        let factory_namespaces = state.lock().namespaces.clone();
        let started = informers
            .iter()
            .map(InformerHandle::untyped)
            .filter(|informer| informer.counts_for_readiness());
        let waits = started.flat_map(|informer| {
            let namespaces = namespaces(informer, &factory_namespaces).into_iter();
            namespaces.map(move |namespace| {
                let source = list_watch(informer.info(), namespace.as_deref(), &informer.options);
                let check = FreshnessCheck::new(informer.clone(), namespace, source);
                async move {
                    informer.stop.run_until_cancelled(check.wait()).await;
                }
            })
        });
        cancel.run_until_cancelled(join_all(waits)).await;
    }

    /// Returns the kinds of started informers that have not synced, without those that started for a source added at run time.
    pub fn unsynced(&self) -> Vec<ApiResource> {
        let informers = self.untyped_informers();
        let waiting = informers
            .iter()
            .filter(|informer| informer.counts_for_readiness() && !informer.has_synced());
        waiting.map(|informer| informer.info().clone()).collect()
    }

    /// Checks the health of a kind's started informers. The error says that a cache has not synced, or that there has been no watch for
    /// longer than `max_watch_gap`. Informers that started for a source added at run time are not checked.
    pub fn check(&self, kind: &ApiResource, max_watch_gap: Duration) -> Result<(), String> {
        let informers = self.untyped_informers();
        let of_kind =
            |informer: &&Arc<UntypedInformer>| informer.counts_for_readiness() && informer.info() == kind;
        for informer in informers.iter().filter(of_kind) {
            if !informer.has_synced() {
                return Err(format!("waiting for the first list of {}", kind.group_resource()));
            }
            if let Some(missing) = informer
                .watch_health
                .missing_for()
                .filter(|missing| *missing > max_watch_gap)
            {
                return Err(format!(
                    "no watch of {} for {} s",
                    kind.group_resource(),
                    missing.as_secs()
                ));
            }
        }
        Ok(())
    }
}

impl UntypedInformer {
    /// Whether the first list of every namespace was stored and distributed to the sinks.
    pub(super) fn has_synced(&self) -> bool {
        *self.synced.borrow()
    }

    pub(super) fn set_synced(&self) {
        self.synced.send_replace(true);
    }

    /// Waits for [`has_synced`](Self::has_synced). Cancel safe.
    pub(super) async fn wait_for_sync(&self) {
        // The sender lives as long as `self`.
        let _ = self.synced.subscribe().wait_for(|synced| *synced).await;
    }

    /// Waits for [`has_synced`](Self::has_synced), or until the informer is removed or its factory is shut down. Cancel safe.
    pub(super) async fn wait_for_sync_or_stop(&self) {
        self.stop.run_until_cancelled(self.wait_for_sync()).await;
    }

    /// Excludes the informer from readiness, unless it has started or a registered source needs it.
    pub(super) fn set_optional(&self) {
        if !self.is_started() && !self.is_required.load(Ordering::Relaxed) {
            self.is_optional.store(true, Ordering::Relaxed);
        }
    }

    /// Includes the informer in readiness: a registered source needs it.
    pub(super) fn set_required(&self) {
        self.is_required.store(true, Ordering::Relaxed);
        self.is_optional.store(false, Ordering::Relaxed);
    }

    /// Whether readiness and the start of controllers depend on the informer: it has started, and not only for sources that were added at
    /// run time.
    pub(super) fn counts_for_readiness(&self) -> bool {
        self.is_started() && !self.is_optional.load(Ordering::Relaxed)
    }
}

//! Start and end of a factory's informers: all at once, or one while the others run.

use std::sync::Arc;

use super::{
    InformerHandle, SharedInformer, SharedInformerFactory,
    factory::{FactoryShared, FactoryState, namespaces},
    untyped_informer::UntypedInformer,
    warnings,
};

impl SharedInformerFactory {
    /// Starts the informers that are not running yet. Call it again after creating more. Must be called within a tokio runtime.
    ///
    /// In a multi-threaded runtime all informers of a factory share one thread, named `informers`: functions that they call inline
    /// (transforms, index functions, owner mappings, predicates) must not block. Handlers run on the runtime's threads.
    pub fn start(&self) {
        if self.shared.cancel.is_cancelled() {
            tracing::warn!("informers were not started: the factory was shut down; create another factory");
            return;
        }
        let state = {
            let mut state = self.shared.state.lock();
            state.is_started = true;
            state.clone()
        };
        for informer in &state.informers {
            self.shared.start(informer, &state);
        }
    }

    /// Starts one informer of this factory, if the factory was started. Must be called within a tokio runtime.
    pub(crate) fn start_late(&self, informer: &InformerHandle) {
        let state = self.shared.state.lock().clone();
        let is_known = |known: &Arc<UntypedInformer>| Arc::ptr_eq(known, informer.untyped());
        if state.is_started && state.informers.iter().any(is_known) {
            self.shared.start(informer.untyped(), &state);
        }
    }

    /// Removes an informer while the others run (controller-runtime's `RemoveInformer`). Returns whether this factory had it.
    ///
    /// Its watches end, and its handlers and sinks receive nothing more. Sources of controllers that use it end too, whichever controller
    /// they belong to: keys that waited for it to show a write no longer wait. Statistics, metrics and health checks no longer show it.
    /// A [`ControllerSources::remove`](crate::controller::ControllerSources::remove) ends one source and leaves the informer running.
    ///
    /// Returns at once; its tasks end at their next await, and a running call of a handler ends as usual. Listers that exist keep returning
    /// the last state, which no longer changes. The store is freed when the last of them, and of the informer's other handles, is dropped;
    /// objects that were taken from it stay valid. Then the same kind and options make a fresh informer, which lists again. Custom kinds
    /// stay in [`custom_kinds`](Self::custom_kinds).
    pub fn remove<K>(&self, informer: &SharedInformer<K>) -> bool {
        let informer = &informer.untyped;
        let is_known = {
            let mut state = self.shared.state.lock();
            let before = state.informers.len();
            state.informers.retain(|known| !Arc::ptr_eq(known, informer));
            state.informers.len() < before
        };
        if is_known {
            informer.stop.cancel();
            if !informer.is_started() {
                // There is no task that ends the listeners.
                informer.registrations.stop();
            }
            informer.observers.report_removal();
        }
        is_known
    }

    /// Waits until an informer panics, and returns what happened; forever if none does. Cancel safe.
    pub(crate) async fn failure(&self) -> String {
        self.shared.failure.wait().await.clone()
    }

    /// Stops all informers and waits until their tasks have ended. They never start again.
    pub async fn shutdown(&self) {
        self.shared.cancel.cancel();
        self.shared.tracker.close();
        self.shared.tracker.wait().await;
    }
}

impl FactoryShared {
    /// Starts an informer that was not started before.
    fn start(&self, informer: &Arc<UntypedInformer>, state: &FactoryState) {
        if informer.is_started() || informer.stop.is_cancelled() {
            return;
        }
        let namespaces = namespaces(informer, &state.namespaces);
        for warning in warnings::before_start(informer, &namespaces, &state.informers) {
            tracing::warn!("{warning}");
        }
        let sources = namespaces.into_iter().map(|namespace| {
            let source = (self.list_watch)(informer.info(), namespace.as_deref(), &informer.options);
            (namespace, source)
        });
        let run = informer.start(
            sources.collect(),
            state.queue,
            &state.reflector_options,
            &self.tracker,
        );
        let Some(run) = run else { return };
        let first_failure = self.failure.clone();
        self.thread.spawn(&self.tracker, async move {
            if let Err(failure) = run.await {
                // Only the first one is kept.
                let _ = first_failure.set(failure);
            }
        });
        let (stop, never_decoded) = (informer.stop.clone(), warnings::never_decoded(informer.clone()));
        self.tracker.spawn(async move {
            if let Some(Some(hint)) = stop.run_until_cancelled(never_decoded).await {
                tracing::info!("{hint}");
            }
        });
    }
}

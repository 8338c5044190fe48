//! Source set: the sources of one controller, registered or added while it runs, and their connection with the work queue.

use std::{
    collections::BTreeMap,
    future::pending,
    sync::{Arc, Weak},
};

use futures::future::join_all;
use parking_lot::Mutex;
use tokio::sync::Notify;

use super::{
    Expectations, RegistrationError,
    consistency::ConsistencyStore,
    controller_sources::{ControllerSources, SourceId},
    enqueue::EnqueueHandler,
    source::{EventSource, KeyMapping},
};
use crate::{
    ApiResource, Scope,
    cache::{
        HandlerOptions, HandlerRegistration, InformerHandle, InformerObserver, ObserverId,
        SharedInformerFactory,
    },
    workqueue::WorkQueue,
};

/// The sources of one controller.
#[derive(Default)]
pub(super) struct SourceSet {
    state: Mutex<SourceSetState>,
    /// Notified when a source was connected or removed. For one waiter.
    changed: Notify,
}

#[derive(Default)]
struct SourceSetState {
    phase: SourcePhase,
    connected: BTreeMap<SourceId, ConnectedSource>,
}

enum SourcePhase {
    /// The controller was not created: added sources are queued.
    Registered(Vec<(SourceId, EventSource)>),
    Connected(Arc<SourceTarget>),
    /// The controller has stopped, or is disabled.
    Stopped,
}

impl Default for SourcePhase {
    fn default() -> Self {
        Self::Registered(Vec::new())
    }
}

/// What sources are connected with.
pub(super) struct SourceTarget {
    pub(super) controller: Box<str>,
    pub(super) primary: ApiResource,
    pub(super) queue: Arc<WorkQueue>,
    pub(super) consistency: Arc<ConsistencyStore>,
    pub(super) options: HandlerOptions,
    /// Starts informers of added sources.
    pub(super) factory: Option<SharedInformerFactory>,
}

struct ConnectedSource {
    informer: InformerHandle,
    registration: HandlerRegistration,
    expectations: Option<Expectations>,
    /// Whether it was registered with the controller, whose start waits for its cache sync.
    is_registered: bool,
    observer: Option<ObserverId>,
}

/// Removes a source when its informer is removed.
struct SourceObserver {
    sources: Weak<SourceSet>,
    id: SourceId,
}

impl InformerObserver for SourceObserver {
    fn removed(&self) {
        if let Some(sources) = self.sources.upgrade() {
            sources.remove(self.id);
        }
    }
}

impl SourceSet {
    /// Connects the controller's registered sources and those that were queued.
    pub(super) fn connect_all(
        self: &Arc<Self>,
        registered: Vec<EventSource>,
        target: SourceTarget,
    ) -> Result<(), RegistrationError> {
        let target = Arc::new(target);
        let queued = {
            let mut state = self.state.lock();
            let SourcePhase::Registered(queued) = &mut state.phase else {
                return Err(RegistrationError::SharedSources {
                    controller: target.controller.to_string(),
                });
            };
            let queued = std::mem::take(queued);
            state.phase = SourcePhase::Connected(target.clone());
            queued
        };
        for source in registered {
            self.connect(SourceId::next(), source, &target, true)?;
        }
        for (id, source) in queued {
            self.connect(id, source, &target, false)?;
        }
        Ok(())
    }

    /// Adds a source: queues it, or connects it and starts its informer.
    pub(super) fn add(self: &Arc<Self>, source: EventSource) -> Result<SourceId, RegistrationError> {
        let id = SourceId::next();
        let target = {
            let mut state = self.state.lock();
            match &mut state.phase {
                SourcePhase::Registered(queued) => {
                    queued.push((id, source));
                    return Ok(id);
                }
                SourcePhase::Connected(target) => target.clone(),
                SourcePhase::Stopped => return Err(RegistrationError::StoppedController),
            }
        };
        self.connect(id, source, &target, false)?;
        Ok(id)
    }

    fn connect(
        self: &Arc<Self>,
        id: SourceId,
        source: EventSource,
        target: &SourceTarget,
        is_registered: bool,
    ) -> Result<(), RegistrationError> {
        target.check_scopes(&source)?;
        let (informer, expectations) = (source.informer.clone(), source.expectations.clone());
        let stopped = || RegistrationError::StoppedInformer {
            controller: target.controller.to_string(),
            kind: informer.info().kind.to_string(),
        };
        if !target.consistency.add_informer(&informer) {
            return Err(stopped());
        }
        if is_registered {
            informer.set_required();
        } else {
            informer.set_optional();
        }
        let registration = EnqueueHandler::connect(source, target).inspect_err(|_| {
            target.consistency.remove_informer(&informer);
        })?;
        let connected = ConnectedSource {
            informer: informer.clone(),
            registration,
            expectations,
            is_registered,
            observer: None,
        };
        if let Err(connected) = self.insert(id, connected) {
            self.disconnect(&connected, target);
            return Err(RegistrationError::StoppedController);
        }
        let observer = SourceObserver {
            sources: Arc::downgrade(self),
            id,
        };
        let Some(observer) = informer.observe(observer) else {
            self.remove(id);
            return Err(stopped());
        };
        if !self.set_observer(id, observer) {
            informer.stop_observing(observer);
        }
        if let Some(factory) = target.factory.as_ref().filter(|_| !is_registered) {
            factory.start_late(&informer);
        }
        Ok(())
    }

    /// Adds a connected source, unless the controller has stopped.
    fn insert(&self, id: SourceId, source: ConnectedSource) -> Result<(), ConnectedSource> {
        let mut state = self.state.lock();
        if !matches!(state.phase, SourcePhase::Connected(_)) {
            return Err(source);
        }
        state.connected.insert(id, source);
        drop(state);
        self.changed.notify_one();
        Ok(())
    }

    /// Returns whether the source still exists.
    fn set_observer(&self, id: SourceId, observer: ObserverId) -> bool {
        let mut state = self.state.lock();
        let source = state.connected.get_mut(&id);
        source.map(|source| source.observer = Some(observer)).is_some()
    }

    /// Removes a source. Returns whether it existed.
    pub(super) fn remove(&self, id: SourceId) -> bool {
        let mut state = self.state.lock();
        let SourceSetState { phase, connected } = &mut *state;
        match phase {
            SourcePhase::Registered(queued) => {
                let Some(index) = queued.iter().position(|(known, _)| *known == id) else {
                    return false;
                };
                let removed = queued.remove(index);
                // Without the lock: dropping runs the user's `Drop`.
                drop(state);
                drop(removed);
                true
            }
            SourcePhase::Connected(target) => {
                let (Some(removed), target) = (connected.remove(&id), target.clone()) else {
                    return false;
                };
                drop(state);
                self.disconnect(&removed, &target);
                true
            }
            SourcePhase::Stopped => false,
        }
    }

    /// Ends a source that is no longer in the set.
    fn disconnect(&self, source: &ConnectedSource, target: &SourceTarget) {
        source.registration.remove();
        if let Some(observer) = source.observer {
            source.informer.stop_observing(observer);
        }
        target.consistency.remove_informer(&source.informer);
        if let Some(expectations) = &source.expectations
            && !self
                .expectations()
                .iter()
                .any(|other| other.is_same(expectations))
        {
            expectations.drop_all();
        }
        self.changed.notify_one();
    }

    /// Ends all sources; none can be added any more.
    fn stop(&self) {
        let (phase, connected) = {
            let mut state = self.state.lock();
            let phase = std::mem::replace(&mut state.phase, SourcePhase::Stopped);
            (phase, std::mem::take(&mut state.connected))
        };
        if let SourcePhase::Connected(target) = &phase {
            for (_, source) in connected {
                self.disconnect(&source, target);
            }
        }
    }

    /// The number of sources that were added and not removed, without the registered ones.
    pub(super) fn added_count(&self) -> usize {
        let state = self.state.lock();
        let connected = state.connected.values();
        let connected = connected.filter(|source| !source.is_registered).count();
        match &state.phase {
            SourcePhase::Registered(queued) => queued.len(),
            SourcePhase::Connected(_) | SourcePhase::Stopped => connected,
        }
    }

    /// The consistency store of the running controller.
    #[cfg(test)]
    pub(super) fn consistency(&self) -> Option<Arc<ConsistencyStore>> {
        match &self.state.lock().phase {
            SourcePhase::Connected(target) => Some(target.consistency.clone()),
            SourcePhase::Registered(_) | SourcePhase::Stopped => None,
        }
    }

    /// The expectations of all sources, each once.
    fn expectations(&self) -> Vec<Expectations> {
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

    /// Waits for the cache sync of the registered sources. A source that is removed meanwhile does not count. Cancel safe.
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

impl SourceTarget {
    fn check_scopes(&self, source: &EventSource) -> Result<(), RegistrationError> {
        let is_owned = matches!(source.mapping, KeyMapping::Owner);
        if is_owned && self.primary.scope == Scope::Namespaced && source.kind.scope == Scope::Cluster {
            return Err(RegistrationError::OwnsAcrossScopes {
                controller: self.controller.to_string(),
                owner: self.primary.kind.to_string(),
                owned: source.kind.kind.to_string(),
            });
        }
        Ok(())
    }
}

/// The sources of a controller that is registered or runs. Dropping it ends them.
pub(super) struct SourcesGuard(pub(super) ControllerSources);

impl SourcesGuard {
    /// Whether both are of one handle.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0.0, &other.0.0)
    }
}

impl Drop for SourcesGuard {
    fn drop(&mut self) {
        self.0.0.stop();
    }
}

//! Source set: the sources of one controller, registered or added while it runs, and their connection with the work queue.

use std::{
    collections::BTreeMap,
    sync::{Arc, Weak},
};

use parking_lot::Mutex;
use tokio::sync::Notify;

use super::{
    Expectations, RegistrationError, controller_sources::SourceId, enqueue::EnqueueHandler,
    source::EventSource, source_target::SourceTarget,
};
use crate::cache::{HandlerOptions, HandlerRegistration, InformerHandle, InformerObserver, ObserverId};

/// The sources of one controller.
#[derive(Default)]
pub(super) struct SourceSet {
    pub(super) state: Mutex<SourceSetState>,
    /// Notified when a source was connected or removed. For one waiter.
    pub(super) changed: Notify,
}

#[derive(Default)]
pub(super) struct SourceSetState {
    phase: SourcePhase,
    /// Whether connected sources enqueue keys, or wait for that.
    is_enqueueing: bool,
    pub(super) connected: BTreeMap<SourceId, ConnectedSource>,
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

/// A source that enqueues keys, or will do so.
pub(super) struct ConnectedSource {
    pub(super) informer: InformerHandle,
    handler: SourceHandler,
    pub(super) expectations: Option<Expectations>,
    /// Whether it was registered with the controller, whose start waits for its cache sync.
    pub(super) is_registered: bool,
    observer: Option<ObserverId>,
}

enum SourceHandler {
    /// Boxed: it is large.
    Unregistered(Box<EnqueueHandler>),
    Registered(HandlerRegistration),
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

impl ConnectedSource {
    /// Registers its handler, if that was not done.
    fn registered(self, options: HandlerOptions) -> Self {
        let handler = match self.handler {
            SourceHandler::Unregistered(handler) => {
                SourceHandler::Registered(handler.register(&self.informer, options))
            }
            registered @ SourceHandler::Registered(_) => registered,
        };
        Self { handler, ..self }
    }
}

impl SourceSet {
    /// Connects the controller's registered sources and those that were queued. They enqueue nothing before
    /// [`start_enqueueing`](Self::start_enqueueing).
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

    /// Lets the sources enqueue keys: of the objects that their informers have, and of all changes from now on.
    pub(super) fn start_enqueueing(&self) {
        let mut state = self.state.lock();
        let SourceSetState {
            phase: SourcePhase::Connected(target),
            is_enqueueing,
            connected,
        } = &mut *state
        else {
            return;
        };
        *is_enqueueing = true;
        for (id, source) in std::mem::take(connected) {
            connected.insert(id, source.registered(target.options));
        }
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
            kind: informer.info().kind_and_version(),
        };
        if !target.consistency.add_informer(&informer) {
            return Err(stopped());
        }
        if is_registered {
            informer.set_required();
        } else {
            informer.set_optional();
        }
        let handler = EnqueueHandler::new(source, target).inspect_err(|_| {
            target.consistency.remove_informer(&informer);
        })?;
        let connected = ConnectedSource {
            informer: informer.clone(),
            handler: SourceHandler::Unregistered(Box::new(handler)),
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
        let SourcePhase::Connected(target) = &state.phase else {
            return Err(source);
        };
        let source = if state.is_enqueueing {
            source.registered(target.options)
        } else {
            source
        };
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
        let SourceSetState { phase, connected, .. } = &mut *state;
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
        if let SourceHandler::Registered(registration) = &source.handler {
            registration.remove();
        }
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
    pub(super) fn stop(&self) {
        let (phase, connected) = {
            let mut state = self.state.lock();
            let phase = std::mem::replace(&mut state.phase, SourcePhase::Stopped);
            (phase, std::mem::take(&mut state.connected))
        };
        if let SourcePhase::Connected(target) = &phase {
            for source in connected.values() {
                self.disconnect(source, target);
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
    pub(super) fn consistency(&self) -> Option<Arc<super::consistency::ConsistencyStore>> {
        match &self.state.lock().phase {
            SourcePhase::Connected(target) => Some(target.consistency.clone()),
            SourcePhase::Registered(_) | SourcePhase::Stopped => None,
        }
    }
}

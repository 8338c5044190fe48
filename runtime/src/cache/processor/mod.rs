//! The processor: distributes changes of the store to handlers and sinks (client-go's sharedProcessor).
//!
//! `registration` adds and removes listeners, `pending_notifications` and `coalescing_queue` queue the changes of a handler, `resync` decides
//! which listeners receive unchanged objects. The [`Processor`] belongs to the processing task of an informer.

mod coalescing_queue;
mod pending_notifications;
#[cfg(test)]
mod processor_tests;
mod registration;
mod resync;

use std::sync::Arc;

use tokio::{runtime::Handle, task::coop::consume_budget, time::Instant};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

pub use self::registration::HandlerRegistration;
pub(super) use self::registration::Registrations;
use self::{
    pending_notifications::Notification,
    registration::{AddedListener, ListenerGuard},
    resync::ResyncSchedule,
};
use super::{Change, store::StoreEvent};
use crate::panics::caught;

pub(super) type Sink = Box<dyn Fn(&Change<'_>) + Send + Sync>;
pub(super) type HandlerFn = Box<dyn Fn(&StoreEvent, bool) + Send + Sync>;

/// A listener of an informer's changes.
pub(super) enum Listener {
    /// Called inline, by the processing task.
    Sink(Sink),
    /// Called in its own task, which may fall behind.
    Handler(HandlerFn),
}

/// The listeners of a running informer. Owned by its processing task, so that none is added while changes are distributed.
pub(super) struct Processor {
    registrations: Arc<Registrations>,
    listeners: Vec<RunningListener>,
    handlers: Handlers,
}

/// The runtime and the cancellation of handler tasks.
pub(super) struct Handlers {
    pub(super) tracker: TaskTracker,
    pub(super) runtime: Handle,
    pub(super) cancel: CancellationToken,
}

struct RunningListener {
    dispatch: Dispatch,
    registration: HandlerRegistration,
    schedule: ResyncSchedule,
}

enum Dispatch {
    Sink(
        Sink,
        #[expect(dead_code, reason = "ends with the sink")] ListenerGuard,
    ),
    /// Into the pending notifications of the handler's task.
    Queue,
}

impl Processor {
    pub(super) fn new(registrations: Arc<Registrations>, handlers: Handlers) -> Self {
        registrations.set_running();
        Self {
            registrations,
            listeners: Vec::new(),
            handlers,
        }
    }

    /// Drops removed listeners and starts added ones. An added listener first receives `replay`, the objects in the store.
    pub(super) fn adopt(&mut self, replay: impl Fn() -> Vec<StoreEvent>, has_synced: bool) {
        self.listeners
            .retain(|listener| !listener.registration.is_removed());
        while let Some(added) = self.registrations.next_added() {
            let running = self.start(added);
            for change in replay() {
                running.distribute(&change, true);
            }
            if has_synced {
                running.set_synced();
            }
            running.flush();
            self.listeners.push(running);
        }
    }

    fn start(&self, added: AddedListener) -> RunningListener {
        let AddedListener {
            listener,
            resync,
            guard,
        } = added;
        let registration = guard.0.clone();
        let dispatch = match listener {
            Listener::Sink(sink) => Dispatch::Sink(sink, guard),
            Listener::Handler(handler) => {
                let Handlers {
                    tracker,
                    runtime,
                    cancel,
                } = &self.handlers;
                tracker.spawn_on(run_handler(guard, handler, cancel.clone()), runtime);
                Dispatch::Queue
            }
        };
        RunningListener {
            dispatch,
            registration,
            schedule: ResyncSchedule::new(resync, Instant::now()),
        }
    }

    /// Determines the listeners that resync until the next check. Returns whether there is one.
    pub(super) fn begin_resync(&mut self) -> bool {
        let now = Instant::now();
        for listener in &mut self.listeners {
            listener.schedule.check(now);
        }
        self.is_resyncing()
    }

    /// Whether a listener resyncs, and so receives unchanged objects.
    pub(super) fn is_resyncing(&self) -> bool {
        self.listeners
            .iter()
            .any(|listener| listener.schedule.is_resyncing)
    }

    /// Distributes a change that is in the store to all listeners; an unchanged object only to those that resync. Handlers wake up at the
    /// next [`flush`](Self::flush).
    pub(super) fn distribute(&self, change: &StoreEvent, is_in_initial_list: bool) {
        for listener in &self.listeners {
            if listener.schedule.is_resyncing || !change.is_unchanged() {
                listener.distribute(change, is_in_initial_list);
            }
        }
    }

    /// Marks the first list as distributed.
    pub(super) fn set_synced(&self) {
        for listener in &self.listeners {
            listener.set_synced();
            listener.flush();
        }
    }

    /// Wakes the handlers that have pending changes.
    pub(super) fn flush(&self) {
        self.listeners.iter().for_each(RunningListener::flush);
    }
}

impl Drop for Processor {
    fn drop(&mut self) {
        self.registrations.stop();
    }
}

impl RunningListener {
    fn distribute(&self, change: &StoreEvent, is_in_initial_list: bool) {
        if self.registration.is_removed() {
            return;
        }
        match &self.dispatch {
            Dispatch::Sink(sink, _) => catch_panic(self.registration.name(), || {
                sink(&Change::from_event(change, is_in_initial_list));
            }),
            Dispatch::Queue => self.registration.queue().push(Notification::Changed {
                change: change.clone(),
                is_in_initial_list,
            }),
        }
    }

    fn set_synced(&self) {
        match &self.dispatch {
            Dispatch::Sink(..) => self.registration.set_synced(),
            Dispatch::Queue => self.registration.queue().push(Notification::Synced),
        }
    }

    fn flush(&self) {
        self.registration.queue().flush();
    }
}

/// Calls a handler with its pending notifications. Drops the handler before the guard, which marks it as ended.
async fn run_handler(guard: ListenerGuard, handler: HandlerFn, cancel: CancellationToken) {
    let ListenerGuard(registration) = &guard;
    while !cancel.is_cancelled() && !registration.is_removed() {
        match registration.queue().pop() {
            Some(Notification::Changed {
                change,
                is_in_initial_list,
            }) => {
                catch_panic(registration.name(), || handler(&change, is_in_initial_list));
                consume_budget().await;
            }
            Some(Notification::Synced) => registration.set_synced(),
            None => tokio::select! {
                () = cancel.cancelled() => {}
                () = registration.removed() => {}
                () = registration.queue().wait() => {}
            },
        }
    }
}

/// Calls `callback`; a panic is logged and does not propagate.
fn catch_panic(listener: &str, callback: impl FnOnce()) {
    if let Err(panic) = caught(callback) {
        tracing::error!(
            "{listener} panicked: {panic}; it misses this change and continues with the next one"
        );
    }
}

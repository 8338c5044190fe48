//! Tells handlers and sinks of what was changed in the store.
//!
//! `registration` is where they are added, `ring` and `coalesced` hold what a handler was not yet told, `resync` knows who is told of what
//! has not changed. The [`Processor`] belongs to the processing task of an informer.

mod coalesced;
mod pending_notifications;
mod registration;
mod resync;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use tokio::{runtime::Handle, task::coop::consume_budget, time::Instant};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

pub use self::registration::HandlerRegistration;
pub(super) use self::registration::Registrations;
use self::{
    pending_notifications::Notification,
    registration::{ListenerGuard, Waiting},
    resync::Schedule,
};
use super::{Change, store::StoreEvent};
use crate::panics::caught;

pub(super) type Sink = Box<dyn Fn(&Change<'_>) + Send + Sync>;
pub(super) type Handler = Box<dyn Fn(&StoreEvent, bool) + Send + Sync>;

/// Who wants to be told.
pub(super) enum Listener {
    /// Called in line.
    Sink(Sink),
    /// Called in a task of its own, which is behind by as much as it likes.
    Handler(Handler),
}

/// The listeners of a running informer; owned by its processing task, so that nobody is added while changes are told.
pub(super) struct Processor {
    registrations: Arc<Registrations>,
    listeners: Vec<Running>,
    handlers: Handlers,
}

/// Where handlers run, and until when.
pub(super) struct Handlers {
    pub(super) tracker: TaskTracker,
    pub(super) runtime: Handle,
    pub(super) cancel: CancellationToken,
}

struct Running {
    way: Dispatch,
    registration: HandlerRegistration,
    schedule: Schedule,
}

enum Dispatch {
    Sink(
        Sink,
        #[expect(dead_code, reason = "ends with the sink")] ListenerGuard,
    ),
    Ring,
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

    /// Forgets listeners that were removed and takes over those that were added; `replay` is the store, which they are told of first.
    pub(super) fn adopt(&mut self, replay: impl Fn() -> Vec<StoreEvent>, has_synced: bool) {
        self.listeners
            .retain(|listener| !listener.registration.is_removed());
        while let Some(waiting) = self.registrations.next() {
            let running = self.start(waiting);
            for change in replay() {
                running.tell(&change, true);
            }
            if has_synced {
                running.synced();
            }
            running.told();
            self.listeners.push(running);
        }
    }

    fn start(&self, waiting: Waiting) -> Running {
        let Waiting {
            listener,
            resync,
            lease,
        } = waiting;
        let registration = lease.0.clone();
        let way = match listener {
            Listener::Sink(sink) => Dispatch::Sink(sink, lease),
            Listener::Handler(handler) => {
                let Handlers {
                    tracker,
                    runtime,
                    cancel,
                } = &self.handlers;
                tracker.spawn_on(run_handler(lease, handler, cancel.clone()), runtime);
                Dispatch::Ring
            }
        };
        Running {
            way,
            registration,
            schedule: Schedule::new(resync, Instant::now()),
        }
    }

    /// Looks who resyncs from now on. Says whether somebody does.
    pub(super) fn begin_resync(&mut self) -> bool {
        let now = Instant::now();
        for listener in &mut self.listeners {
            listener.schedule.check(now);
        }
        self.is_resyncing()
    }

    /// Whether somebody wants to be told of what has not changed.
    pub(super) fn is_resyncing(&self) -> bool {
        self.listeners
            .iter()
            .any(|listener| listener.schedule.is_resyncing)
    }

    /// Tells everybody of a change that is in the store, and those who resync of what has not changed. Handlers begin when all was
    /// [`told`](Self::told).
    pub(super) fn tell(&self, change: &StoreEvent, is_in_initial_list: bool) {
        for listener in &self.listeners {
            if listener.schedule.is_resyncing || !change.is_unchanged() {
                listener.tell(change, is_in_initial_list);
            }
        }
    }

    /// Everything in the first list was told.
    pub(super) fn synced(&self) {
        for listener in &self.listeners {
            listener.synced();
            listener.told();
        }
    }

    /// Some changes were told.
    pub(super) fn told(&self) {
        self.listeners.iter().for_each(Running::told);
    }
}

impl Drop for Processor {
    fn drop(&mut self) {
        self.registrations.stop();
    }
}

impl Running {
    fn tell(&self, change: &StoreEvent, is_in_initial_list: bool) {
        if self.registration.is_removed() {
            return;
        }
        match &self.way {
            Dispatch::Sink(sink, _) => contained(self.registration.name(), || {
                sink(&Change::of(change, is_in_initial_list));
            }),
            Dispatch::Ring => self.registration.ring().push(Notification::Changed {
                change: change.clone(),
                is_in_initial_list,
            }),
        }
    }

    fn synced(&self) {
        match &self.way {
            Dispatch::Sink(..) => self.registration.set_synced(),
            Dispatch::Ring => self.registration.ring().push(Notification::Synced),
        }
    }

    fn told(&self) {
        self.registration.ring().pushed_all();
    }
}

/// The lease ends last, after the handler was dropped.
async fn run_handler(lease: ListenerGuard, handler: Handler, cancel: CancellationToken) {
    let ListenerGuard(registration) = &lease;
    while !cancel.is_cancelled() && !registration.is_removed() {
        match registration.ring().pop() {
            Some(Notification::Changed {
                change,
                is_in_initial_list,
            }) => {
                contained(registration.name(), || handler(&change, is_in_initial_list));
                consume_budget().await;
            }
            Some(Notification::Synced) => registration.set_synced(),
            None => tokio::select! {
                () = cancel.cancelled() => {}
                () = registration.removed() => {}
                () = registration.ring().pushed() => {}
            },
        }
    }
}

/// Calls `callback`; a panic is logged and ends there.
fn contained(who: &str, callback: impl FnOnce()) {
    if let Err(panic) = caught(callback) {
        tracing::error!("{who} panicked: {panic}; it misses this change and goes on");
    }
}

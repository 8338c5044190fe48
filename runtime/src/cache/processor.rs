//! Tells handlers and sinks of what was changed in the store.

use std::{
    any::Any,
    collections::VecDeque,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use parking_lot::Mutex;
use tokio::sync::{Notify, mpsc};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{Change, store::Stored};

/// What a handler's ring carries.
#[derive(Debug, Clone)]
pub(super) enum Notification {
    Changed {
        change: Stored,
        is_in_initial_list: bool,
    },
    /// Everything in the first list was told.
    Synced,
}

pub(super) type Sink = Box<dyn Fn(&Change<'_>) + Send + Sync>;
pub(super) type Handler = Box<dyn Fn(&Stored, bool) + Send + Sync>;

/// Who wants to be told.
pub(super) enum Listener {
    /// Called in line.
    Sink(Sink),
    /// Called in a task of its own, which is behind by as much as it likes.
    Handler(Handler),
}

/// A registered handler or sink.
///
/// Dropping it does nothing: the handler goes on until the informer stops.
#[derive(Debug, Clone, Default)]
pub struct HandlerRegistration {
    removed: CancellationToken,
    synced: Arc<AtomicBool>,
}

impl HandlerRegistration {
    /// Whether the handler was told of everything in the first list, and has returned from that.
    pub fn has_synced(&self) -> bool {
        self.synced.load(Ordering::Acquire)
    }

    /// Stops the handler; what it was not yet told it will not be told. A call that runs is not waited for. May be called again, and by the handler.
    pub fn remove(&self) {
        self.removed.cancel();
    }
}

/// Listeners that were added and whom the processing task has not yet taken over.
#[derive(Default)]
pub(super) struct Registrations {
    waiting: Mutex<VecDeque<(Listener, HandlerRegistration)>>,
    added: Notify,
}

impl Registrations {
    pub(super) fn add(&self, listener: Listener) -> HandlerRegistration {
        let registration = HandlerRegistration::default();
        self.waiting.lock().push_back((listener, registration.clone()));
        self.added.notify_one();
        registration
    }

    /// Waits until somebody was added.
    pub(super) async fn added(&self) {
        self.added.notified().await;
    }

    fn next(&self) -> Option<(Listener, HandlerRegistration)> {
        self.waiting.lock().pop_front()
    }
}

/// The listeners of a running informer; owned by its processing task, so that nobody is added while changes are told.
pub(super) struct Processor {
    listeners: Vec<Running>,
    tracker: TaskTracker,
    cancel: CancellationToken,
}

struct Running {
    way: Way,
    registration: HandlerRegistration,
}

enum Way {
    Sink(Sink),
    Ring(mpsc::UnboundedSender<Notification>),
}

impl Processor {
    pub(super) fn new(tracker: TaskTracker, cancel: CancellationToken) -> Self {
        Self {
            listeners: Vec::new(),
            tracker,
            cancel,
        }
    }

    /// Takes over the listeners that were added; `replay` is the store, which they are told of first.
    pub(super) fn adopt(
        &mut self,
        registrations: &Registrations,
        replay: impl Fn() -> Vec<Stored>,
        has_synced: bool,
    ) {
        while let Some((listener, registration)) = registrations.next() {
            let way = match listener {
                Listener::Sink(sink) => Way::Sink(sink),
                Listener::Handler(handler) => {
                    let (sender, ring) = mpsc::unbounded_channel();
                    self.tracker.spawn(run_handler(
                        handler,
                        ring,
                        registration.clone(),
                        self.cancel.clone(),
                    ));
                    Way::Ring(sender)
                }
            };
            let running = Running { way, registration };
            for change in replay() {
                running.tell(&change, true);
            }
            if has_synced {
                running.synced();
            }
            self.listeners.push(running);
        }
    }

    /// Tells everybody of a change that is in the store.
    pub(super) fn tell(&mut self, change: &Stored, is_in_initial_list: bool) {
        for listener in &self.listeners {
            listener.tell(change, is_in_initial_list);
        }
    }

    /// Forgets listeners that were removed.
    pub(super) fn sweep(&mut self) {
        self.listeners
            .retain(|listener| !listener.registration.removed.is_cancelled());
    }

    /// Everything in the first list was told.
    pub(super) fn synced(&self) {
        for listener in &self.listeners {
            listener.synced();
        }
    }
}

impl Running {
    fn tell(&self, change: &Stored, is_in_initial_list: bool) {
        if self.registration.removed.is_cancelled() {
            return;
        }
        match &self.way {
            Way::Sink(sink) => contained("a sink", || sink(&Change::of(change, is_in_initial_list))),
            Way::Ring(sender) => {
                // A task that has ended was removed.
                let _ = sender.send(Notification::Changed {
                    change: change.clone(),
                    is_in_initial_list,
                });
            }
        }
    }

    fn synced(&self) {
        match &self.way {
            Way::Sink(_) => self.registration.synced.store(true, Ordering::Release),
            Way::Ring(sender) => {
                let _ = sender.send(Notification::Synced);
            }
        }
    }
}

async fn run_handler(
    handler: Handler,
    mut ring: mpsc::UnboundedReceiver<Notification>,
    registration: HandlerRegistration,
    cancel: CancellationToken,
) {
    loop {
        let notification = tokio::select! {
            biased;
            () = cancel.cancelled() => return,
            () = registration.removed.cancelled() => return,
            notification = ring.recv() => notification,
        };
        match notification {
            Some(Notification::Changed {
                change,
                is_in_initial_list,
            }) => {
                contained("an event handler", || handler(&change, is_in_initial_list));
            }
            Some(Notification::Synced) => registration.synced.store(true, Ordering::Release),
            None => return,
        }
    }
}

/// Calls `callback`; a panic is logged and ends there.
fn contained(who: &str, callback: impl FnOnce()) {
    if let Err(panic) = catch_unwind(AssertUnwindSafe(callback)) {
        tracing::error!(
            "{who} of an informer panicked: {}; it misses this change and goes on",
            message(&*panic)
        );
    }
}

fn message(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("without a message")
}

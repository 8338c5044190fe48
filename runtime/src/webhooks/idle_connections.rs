//! The connections that wait for a request: when too many are open, the one that has waited longest makes room.
//!
//! Clients may keep connections open between requests, as API servers do. Without this, clients that only connect could keep all others out.

use std::{collections::BTreeMap, sync::Arc};

use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

/// Connections in the order in which they are closed: first those that never sent a request, each group by the time since when they idle.
type Order = (bool, u64);

/// All connections of a server that idle.
#[derive(Default)]
pub(super) struct IdleConnections {
    state: Mutex<IdleState>,
    added: Notify,
}

#[derive(Default)]
struct IdleState {
    idle: BTreeMap<Order, CancellationToken>,
    next: u64,
}

/// An open connection, which idles until its first request.
pub(super) struct OpenConnection {
    all: Arc<IdleConnections>,
    /// Its place among those that idle; none during a request.
    order: Mutex<Option<Order>>,
    close: CancellationToken,
}

impl IdleConnections {
    /// Adds a connection.
    pub(super) fn open(self: &Arc<Self>) -> OpenConnection {
        let connection = OpenConnection {
            all: self.clone(),
            order: Mutex::new(None),
            close: CancellationToken::new(),
        };
        connection.idle(false);
        connection
    }

    /// Has the next connection in the order close. False if none idles.
    pub(super) fn close_one(&self) -> bool {
        let first = self.state.lock().idle.pop_first();
        first.inspect(|(_, close)| close.cancel()).is_some()
    }

    /// Waits until a connection was added since the last call.
    pub(super) async fn added(&self) {
        self.added.notified().await;
    }
}

impl OpenConnection {
    /// Returns when the connection must close, to make room.
    pub(super) async fn closed(&self) {
        self.close.cancelled().await;
    }

    /// Begins a request: until [`end_request`](Self::end_request) the connection is not closed.
    pub(super) fn begin_request(&self) {
        let order = self.order.lock().take();
        if let Some(order) = order {
            self.all.state.lock().idle.remove(&order);
        }
    }

    /// Ends a request.
    pub(super) fn end_request(&self) {
        self.idle(true);
    }

    fn idle(&self, had_request: bool) {
        let mut state = self.all.state.lock();
        let order = (had_request, state.next);
        state.next += 1;
        state.idle.insert(order, self.close.clone());
        *self.order.lock() = Some(order);
        drop(state);
        self.all.added.notify_one();
    }
}

impl Drop for OpenConnection {
    fn drop(&mut self) {
        self.begin_request();
    }
}

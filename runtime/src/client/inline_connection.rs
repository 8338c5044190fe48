//! HTTP connections that are polled by the task that reads the response, for watches.
//!
//! hyper has a connection future, which moves bytes between the socket and a response. Usually it runs as a task of its own: then each chunk
//! of a watch is handed from that task to the reader's, which wakes a thread each time. Here the reader polls the connection future, and so
//! reads all bytes that have arrived at once.
//!
//! With a task for each connection a watch event costs 36 to 87 % more CPU on the whole path: see "Mechanisms" in benches/README.md.

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use bytes::Bytes;
use futures::future::poll_fn;
use http::Response;
use http_body::{Frame, SizeHint};
use hyper::rt::Executor;
use parking_lot::Mutex;
use tokio::sync::OwnedSemaphorePermit;

use super::http_client::{PendingResponse, ResponseBody};

/// hyper's future of a connection.
type ConnectionFuture = Pin<Box<dyn Future<Output = ()> + Send>>;

tokio::task_local! {
    /// The connections that the request of this task opens.
    static OPENED: OpenedConnections;
}

#[derive(Clone, Default)]
struct OpenedConnections(Arc<Mutex<Vec<ConnectionFuture>>>);

/// hyper's executor: hands a connection future to the request that opens it; outside of [`send`] it spawns a task.
#[derive(Clone, Copy, Debug)]
pub(super) struct ReaderExecutor;

impl Executor<ConnectionFuture> for ReaderExecutor {
    fn execute(&self, connection: ConnectionFuture) {
        let mut connection = Some(connection);
        let _ = OPENED.try_with(|opened| opened.0.lock().extend(connection.take()));
        if let Some(connection) = connection {
            tokio::spawn(connection);
        }
    }
}

/// Waits for a response. Reading its body polls the connection that the request opened; dropping the body closes it.
pub(super) async fn send(sending: PendingResponse) -> Result<Response<InlineBody>, kube::Error> {
    let mut connections = InlineConnections::default();
    let sending = OPENED.scope(connections.opened.clone(), sending);
    let mut sending = std::pin::pin!(sending);
    let response = poll_fn(|cx| {
        let sent = sending.as_mut().poll(cx);
        if sent.is_pending() {
            // If that makes the response ready, it wakes this task.
            connections.poll(cx);
        }
        sent
    });
    let response = response.await?;
    Ok(response.map(|body| InlineBody {
        body,
        connections,
        _slot: None,
    }))
}

/// The body of a response, with the connection that it is read from.
pub(crate) struct InlineBody {
    body: ResponseBody,
    connections: InlineConnections,
    /// Of a watch that shares a connection, which has a task of its own: the place on it, until the body is dropped.
    _slot: Option<OwnedSemaphorePermit>,
}

impl InlineBody {
    /// The body of a response over a connection that others share.
    pub(super) fn shared(body: ResponseBody, slot: OwnedSemaphorePermit) -> Self {
        Self {
            body,
            connections: InlineConnections::default(),
            _slot: Some(slot),
        }
    }
}

impl http_body::Body for InlineBody {
    type Data = Bytes;
    type Error = kube::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, kube::Error>>> {
        let frame = Pin::new(&mut self.body).poll_frame(cx);
        if frame.is_ready() || self.connections.poll(cx) {
            return frame;
        }
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }
}

#[derive(Default)]
struct InlineConnections {
    running: Vec<ConnectionFuture>,
    opened: OpenedConnections,
}

impl InlineConnections {
    /// Polls all connections. Returns whether there were none.
    fn poll(&mut self, cx: &mut Context<'_>) -> bool {
        self.running.append(&mut self.opened.0.lock());
        let before = self.running.len();
        self.running
            .retain_mut(|connection| connection.as_mut().poll(cx).is_pending());
        before == 0
    }
}

#[cfg(test)]
#[path = "inline_connection_tests.rs"]
mod tests;

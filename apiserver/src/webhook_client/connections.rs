//! Connections to webhooks, which are kept after a call.

use super::redirect::Target;
use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper_util::rt::TokioIo;
use parking_lot::Mutex;
use std::time::{Duration, Instant};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::timeout;

/// The idle connections to one address, as many as client-go keeps.
const MAX_IDLE_PER_ADDRESS: usize = 25;
/// How long a connection is kept.
const IDLE_TIMEOUT: Duration = Duration::from_secs(90);
/// How long a connection may take to become idle when its response was read.
const SETTLE_TIMEOUT: Duration = Duration::from_millis(100);

/// A request with its body.
type PostRequest = Request<Full<Bytes>>;

/// What a connection leads to: two targets with the same place can share one.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Place {
    address: (String, u16),
    /// The name in the certificate; None without TLS.
    server_name: Option<String>,
}

impl Place {
    fn of(target: &Target) -> Self {
        Self {
            address: target.address.clone(),
            server_name: target.is_tls.then(|| target.server_name.clone()),
        }
    }
}

/// A connection to a webhook.
#[derive(Debug)]
pub(super) struct Connection {
    place: Place,
    sender: SendRequest<Full<Bytes>>,
}

impl Connection {
    /// Starts HTTP on a stream to the target.
    pub(super) async fn open(
        target: &Target,
        stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    ) -> hyper::Result<Self> {
        let (sender, connection) = handshake(TokioIo::new(stream)).await?;
        // The connection makes progress only while it is polled. It ends when the server closes it, or the sender was dropped.
        tokio::spawn(connection);
        let place = Place::of(target);
        Ok(Self { place, sender })
    }

    /// Sends a request. The error has the request if nothing of it was written.
    pub(super) async fn try_send(
        &mut self,
        request: PostRequest,
    ) -> Result<Response<Incoming>, Box<(hyper::Error, Option<PostRequest>)>> {
        let sent = self.sender.try_send_request(request).await;
        sent.map_err(|mut error| {
            let unsent = error.take_message();
            Box::new((error.into_error(), unsent))
        })
    }
}

/// The connections that no call uses, the oldest first.
#[derive(Debug, Default)]
pub(super) struct IdleConnections(Mutex<Vec<(Instant, Connection)>>);

impl IdleConnections {
    /// Returns an open connection to a target.
    pub(super) fn take(&self, target: &Target) -> Option<Connection> {
        let place = Place::of(target);
        let mut idle = self.0.lock();
        remove_unusable(&mut idle);
        let at = idle
            .iter()
            .rposition(|(_, connection)| connection.place == place)?;
        Some(idle.remove(at).1)
    }

    /// Keeps a connection whose response was read. It is closed instead if the server wants that, or if there are enough.
    pub(super) async fn keep(&self, mut connection: Connection) {
        let ready = timeout(SETTLE_TIMEOUT, connection.sender.ready()).await;
        if !matches!(ready, Ok(Ok(()))) {
            return;
        }
        let mut idle = self.0.lock();
        remove_unusable(&mut idle);
        let same = idle.iter().filter(|(_, other)| other.place == connection.place);
        if same.count() < MAX_IDLE_PER_ADDRESS {
            idle.push((Instant::now(), connection));
        }
    }
}

fn remove_unusable(idle: &mut Vec<(Instant, Connection)>) {
    idle.retain(|(since, connection)| since.elapsed() < IDLE_TIMEOUT && !connection.sender.is_closed());
}

//! Connections that nobody drives but who reads from them.
//!
//! HTTP/1 needs a future that moves bytes between the socket and a response. In a task of its own, as usual, each piece of a watch is
//! handed from that task to the reader's, which wakes one thread or another every time. Here the reader polls it, and so takes all that
//! has come at once.

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use bytes::Bytes;
use futures::future::poll_fn;
use http::{Request, Response};
use http_body::{Frame, SizeHint};
use hyper::rt::Executor;
use kube::client::Body;
use parking_lot::Mutex;

/// What moves a connection's bytes, or sees to its end.
type Driver = Pin<Box<dyn Future<Output = ()> + Send>>;

tokio::task_local! {
    /// What the request that is being sent has opened.
    static OPENED: Opened;
}

#[derive(Clone, Default)]
struct Opened(Arc<Mutex<Vec<Driver>>>);

/// Gives a connection's driver to the request that opened it; a task of its own, where there is none.
#[derive(Clone, Copy, Debug)]
pub(super) struct ReaderExecutor;

impl Executor<Driver> for ReaderExecutor {
    fn execute(&self, driver: Driver) {
        let mut driver = Some(driver);
        let _ = OPENED.try_with(|opened| opened.0.lock().extend(driver.take()));
        if let Some(driver) = driver {
            tokio::spawn(driver);
        }
    }
}

/// Sends a request. A connection that it opens is driven by whoever reads the response, and closed with it.
pub(super) async fn send(
    client: &kube::Client,
    request: Request<Body>,
) -> Result<Response<DrivenBody>, kube::Error> {
    let mut drivers = Drivers::default();
    let sending = OPENED.scope(drivers.opened.clone(), client.send(request));
    let mut sending = std::pin::pin!(sending);
    let response = poll_fn(|cx| {
        let sent = sending.as_mut().poll(cx);
        if sent.is_pending() {
            // Where that brings the answer, it wakes this task.
            drivers.poll(cx);
        }
        sent
    });
    let response = response.await?;
    Ok(response.map(|body| DrivenBody { body, drivers }))
}

/// The body of a response, and what brings it.
pub(crate) struct DrivenBody {
    body: Body,
    drivers: Drivers,
}

impl http_body::Body for DrivenBody {
    type Data = Bytes;
    type Error = kube::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, kube::Error>>> {
        let frame = Pin::new(&mut self.body).poll_frame(cx);
        if frame.is_ready() || self.drivers.poll(cx) {
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
struct Drivers {
    running: Vec<Driver>,
    opened: Opened,
}

impl Drivers {
    /// Whether there are none.
    fn poll(&mut self, cx: &mut Context<'_>) -> bool {
        self.running.append(&mut self.opened.0.lock());
        let before = self.running.len();
        self.running
            .retain_mut(|driver| driver.as_mut().poll(cx).is_pending());
        before == 0
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use futures::StreamExt as _;
    use http_body_util::BodyExt as _;
    use tokio::{
        io::{AsyncReadExt as _, AsyncWriteExt as _},
        net::{TcpListener, TcpStream},
    };

    use super::*;
    use crate::client::Connection;

    const HEAD: &str = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";

    /// Reads the head of a request.
    async fn asked(stream: &mut TcpStream) {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(stream.read_u8().await.unwrap());
        }
    }

    async fn listening() -> (TcpListener, Connection) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let config = kube::Config::new(url.parse().unwrap());
        (listener, Connection::connect(config, "test").unwrap())
    }

    async fn answering(pieces: &'static [&'static str]) -> (Connection, Arc<AtomicUsize>) {
        let (listener, connection) = listening().await;
        let connections = Arc::new(AtomicUsize::new(0));
        let opened = connections.clone();
        tokio::spawn(async move {
            loop {
                let (mut stream, _) = listener.accept().await.unwrap();
                opened.fetch_add(1, Ordering::SeqCst);
                asked(&mut stream).await;
                stream.write_all(HEAD.as_bytes()).await.unwrap();
                for piece in pieces {
                    tokio::task::yield_now().await;
                    let chunk = format!("{:x}\r\n{piece}\r\n", piece.len());
                    stream.write_all(chunk.as_bytes()).await.unwrap();
                }
                // The rest of the response does not come.
                tokio::spawn(async move { stream.read_u8().await });
            }
        });
        (connection, connections)
    }

    fn get() -> Request<Body> {
        Request::get("/api/v1/pods?watch=true")
            .body(Body::empty())
            .unwrap()
    }

    #[tokio::test]
    async fn who_reads_a_response_drives_its_connection() {
        let (connection, _) = answering(&["one", "two", "three"]).await;
        let before = tokio::runtime::Handle::current().metrics().num_alive_tasks();
        let response = connection.send_and_drive(get()).await.unwrap();
        // The server's task for the open connection.
        let tasks = || tokio::runtime::Handle::current().metrics().num_alive_tasks() - before;
        let mut chunks = response.into_body().into_data_stream();
        for expected in ["one", "two", "three"] {
            assert_eq!(chunks.next().await.unwrap().unwrap(), expected);
        }
        assert!(tasks() <= 1, "{} tasks", tasks());
    }

    #[tokio::test]
    async fn a_response_that_is_dropped_closes_its_connection_and_another_request_opens_one() {
        let (connection, connections) = answering(&["one"]).await;
        for count in 1..=3 {
            let response = connection.send_and_drive(get()).await.unwrap();
            let mut chunks = response.into_body().into_data_stream();
            assert_eq!(chunks.next().await.unwrap().unwrap(), "one");
            assert_eq!(connections.load(Ordering::SeqCst), count);
        }
    }

    /// A list's connection has a task of its own, which would hand over each event of a watch by itself.
    #[tokio::test]
    async fn a_watch_takes_no_connection_that_a_list_left() {
        let (listener, connection) = listening().await;
        let connections = Arc::new(AtomicUsize::new(0));
        let opened = connections.clone();
        tokio::spawn(async move {
            loop {
                let (mut stream, _) = listener.accept().await.unwrap();
                opened.fetch_add(1, Ordering::SeqCst);
                tokio::spawn(async move {
                    while stream.peek(&mut [0]).await.is_ok_and(|bytes| bytes > 0) {
                        asked(&mut stream).await;
                        let answer = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ndone";
                        stream.write_all(answer.as_bytes()).await.unwrap();
                    }
                });
            }
        });
        for _ in 0..2 {
            let listed = connection.informers().send(get()).await.unwrap();
            assert_eq!(listed.into_body().collect().await.unwrap().to_bytes(), "done");
            assert_eq!(connections.load(Ordering::SeqCst), 1);
        }
        for count in 2..=3 {
            let watched = connection.send_and_drive(get()).await.unwrap();
            assert_eq!(watched.into_body().collect().await.unwrap().to_bytes(), "done");
            assert_eq!(connections.load(Ordering::SeqCst), count);
        }
    }

    #[tokio::test]
    async fn two_responses_at_once_do_not_wait_for_each_other() {
        let (connection, _) = answering(&["one", "two"]).await;
        let first = connection.send_and_drive(get()).await.unwrap();
        let second = connection.send_and_drive(get()).await.unwrap();
        for response in [second, first] {
            let mut chunks = response.into_body().into_data_stream();
            assert_eq!(chunks.next().await.unwrap().unwrap(), "one");
            assert_eq!(chunks.next().await.unwrap().unwrap(), "two");
        }
    }
}

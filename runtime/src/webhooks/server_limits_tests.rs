//! Limits of time and size: what one client can do to others.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;
use crate::webhooks::router::{MAX_BODY_BYTES, MAX_BODY_BYTES_IN_FLIGHT};

#[tokio::test]
async fn slow_webhook_delays_only_its_own_request_and_times_out() {
    let server = TestServer::with_handlers().await;
    let slow = server.post("/slow?timeout=1s", "{}");
    let others = async {
        for _ in 0..5 {
            assert_eq!(server.post("/echo", "{}").await.0, 200);
        }
    };
    let (slow, ()) = tokio::join!(slow, others);
    assert_eq!(
        slow,
        (
            504,
            "the webhook did not answer within its timeout of 1s\n".to_owned()
        )
    );
}

#[tokio::test]
async fn large_and_slow_bodies_are_refused() {
    let server = TestServer::with_handlers().await;
    let mut stream = server.connect().await;
    let head = format!(
        "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: {}\r\n\r\n",
        MAX_BODY_BYTES + 1
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    let large = (413, "the body is larger than 8388608 bytes\n".to_owned());
    assert_eq!(response(&mut stream).await, large);

    // Chunked, so that its length is not announced.
    let mut stream = server.connect().await;
    let head = "POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n";
    stream.write_all(head.as_bytes()).await.unwrap();
    let chunk = format!("100000\r\n{}\r\n", "x".repeat(1 << 20));
    // The server closes before it has read everything.
    for _ in 0..9 {
        if stream.write_all(chunk.as_bytes()).await.is_err() {
            break;
        }
    }
    assert_eq!(response(&mut stream).await, large);

    let mut stream = server.connect().await;
    let head = "POST /echo?timeout=1s HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n{";
    stream.write_all(head.as_bytes()).await.unwrap();
    assert_eq!(
        response(&mut stream).await,
        (408, "the body took too long\n".to_owned())
    );
}

/// The client sends many requests and reads no response: the server stops reading.
#[tokio::test]
async fn client_that_never_reads_gets_no_more_than_one_answer() {
    let calls = Arc::new(AtomicUsize::new(0));
    let counter = calls.clone();
    let server = TestServer::start(|routes, metrics| {
        let large = move |_| {
            counter.fetch_add(1, Ordering::Relaxed);
            // More than the buffers of the sockets.
            async { Ok(vec![b' '; 32 << 20]) }
        };
        routes.add("/large".to_owned(), Arc::new(Answering(large)), metrics);
        let echo = |body: Bytes| async move { Ok(body.to_vec()) };
        routes.add("/echo".to_owned(), Arc::new(Answering(echo)), metrics);
    })
    .await;
    let mut stream = server.connect().await;
    let request = "POST /large HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}";
    stream.write_all(request.repeat(50).as_bytes()).await.unwrap();
    while calls.load(Ordering::Relaxed) == 0 {
        sleep(Duration::from_millis(1)).await;
    }
    for _ in 0..20 {
        assert_eq!(server.post("/echo", "{}").await.0, 200);
    }
    assert_eq!(calls.load(Ordering::Relaxed), 1);
}

#[tokio::test]
async fn too_many_reviews_wait_and_are_refused_at_their_deadline() {
    let server = TestServer::with_handlers().await;
    // Each counts as the largest body; together they are more than what may be in flight.
    let count = MAX_BODY_BYTES_IN_FLIGHT / MAX_BODY_BYTES;
    let mut waiting = Vec::new();
    for _ in 0..count {
        let mut stream = server.connect().await;
        let head = format!("POST /slow HTTP/1.1\r\nHost: x\r\nContent-Length: {MAX_BODY_BYTES}\r\n\r\n{{");
        stream.write_all(head.as_bytes()).await.unwrap();
        waiting.push(stream);
    }
    let expected = format!(r#"requests_in_flight{{webhook="/slow"}} {count}"#);
    while !server.metrics().contains(&expected) {
        sleep(Duration::from_millis(1)).await;
    }
    let (code, text) = server.post("/echo?timeout=1s", "{}").await;
    assert_eq!((code, &*text), (503, "too many reviews at once\n"));
    drop(waiting);
    assert_eq!(server.post("/echo?timeout=30s", "{}").await.0, 200);
}

use std::sync::atomic::{AtomicUsize, Ordering};

use futures::StreamExt as _;
use http_body_util::BodyExt as _;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
};

use http::Request;
use kube::client::Body;

use super::*;
use crate::client::Connection;

const HEAD: &str = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";

/// Reads the head of a request.
async fn read_request(stream: &mut TcpStream) {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.unwrap());
    }
}

async fn listen() -> (TcpListener, Connection) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let config = kube::Config::new(url.parse().unwrap());
    (listener, Connection::connect(config, "test").unwrap())
}

async fn serve(pieces: &'static [&'static str]) -> (Connection, Arc<AtomicUsize>) {
    let (listener, connection) = listen().await;
    let connections = Arc::new(AtomicUsize::new(0));
    let opened = connections.clone();
    tokio::spawn(async move {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            opened.fetch_add(1, Ordering::SeqCst);
            read_request(&mut stream).await;
            stream.write_all(HEAD.as_bytes()).await.unwrap();
            for piece in pieces {
                tokio::task::yield_now().await;
                let chunk = format!("{:x}\r\n{piece}\r\n", piece.len());
                stream.write_all(chunk.as_bytes()).await.unwrap();
            }
            // The response stays unfinished.
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
async fn reader_of_a_response_polls_its_connection() {
    let (connection, _) = serve(&["one", "two", "three"]).await;
    let before = tokio::runtime::Handle::current().metrics().num_alive_tasks();
    let response = connection.send_watch(get()).await.unwrap();
    // The server's task for the open connection.
    let tasks = || tokio::runtime::Handle::current().metrics().num_alive_tasks() - before;
    let mut chunks = response.into_body().into_data_stream();
    for expected in ["one", "two", "three"] {
        assert_eq!(chunks.next().await.unwrap().unwrap(), expected);
    }
    assert!(tasks() <= 1, "{} tasks", tasks());
}

#[tokio::test]
async fn dropped_response_closes_its_connection() {
    let (connection, connections) = serve(&["one"]).await;
    for count in 1..=3 {
        let response = connection.send_watch(get()).await.unwrap();
        let mut chunks = response.into_body().into_data_stream();
        assert_eq!(chunks.next().await.unwrap().unwrap(), "one");
        assert_eq!(connections.load(Ordering::SeqCst), count);
    }
}

/// A list's connection is polled by a task of its own, which would pass on each event of a watch.
#[tokio::test]
async fn watch_does_not_reuse_the_connection_of_a_list() {
    let (listener, connection) = listen().await;
    let connections = Arc::new(AtomicUsize::new(0));
    let opened = connections.clone();
    tokio::spawn(async move {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            opened.fetch_add(1, Ordering::SeqCst);
            tokio::spawn(async move {
                while stream.peek(&mut [0]).await.is_ok_and(|bytes| bytes > 0) {
                    read_request(&mut stream).await;
                    let answer = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ndone";
                    stream.write_all(answer.as_bytes()).await.unwrap();
                }
            });
        }
    });
    for _ in 0..2 {
        let listed = connection.send_list(get()).await.unwrap();
        assert_eq!(listed.into_body().collect().await.unwrap().to_bytes(), "done");
        assert_eq!(connections.load(Ordering::SeqCst), 1);
    }
    for count in 2..=3 {
        let watched = connection.send_watch(get()).await.unwrap();
        assert_eq!(watched.into_body().collect().await.unwrap().to_bytes(), "done");
        assert_eq!(connections.load(Ordering::SeqCst), count);
    }
}

#[tokio::test]
async fn concurrent_responses_do_not_block_each_other() {
    let (connection, _) = serve(&["one", "two"]).await;
    let first = connection.send_watch(get()).await.unwrap();
    let second = connection.send_watch(get()).await.unwrap();
    for response in [second, first] {
        let mut chunks = response.into_body().into_data_stream();
        assert_eq!(chunks.next().await.unwrap().unwrap(), "one");
        assert_eq!(chunks.next().await.unwrap().unwrap(), "two");
    }
}

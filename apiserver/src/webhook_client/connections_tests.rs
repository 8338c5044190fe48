//! Calls share connections.

use super::{CallError, Client, IdleConnections, Target, read, send, tls_config};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

/// A server that responds `{}`, and counts its connections.
struct Server {
    address: SocketAddr,
    connections: Arc<AtomicUsize>,
    /// Accepts and serves until it is dropped.
    _tasks: JoinSet<()>,
}

impl Server {
    async fn start(address: &str, connection_header: &'static str) -> Self {
        let listener = TcpListener::bind(address).await.unwrap();
        let address = listener.local_addr().unwrap();
        let connections = Arc::new(AtomicUsize::new(0));
        let count = connections.clone();
        let mut tasks = JoinSet::new();
        tasks.spawn(async move {
            let mut served = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                count.fetch_add(1, Ordering::Relaxed);
                served.spawn(serve(stream, connection_header));
            }
        });
        Self {
            address,
            connections,
            _tasks: tasks,
        }
    }

    fn connections(&self) -> usize {
        self.connections.load(Ordering::Relaxed)
    }
}

/// Responds to each request: the test sends it in one piece.
async fn serve(mut stream: TcpStream, connection_header: &str) {
    let mut buffer = [0; 4096];
    while stream.read(&mut buffer).await.is_ok_and(|length| length > 0) {
        let response =
            format!("HTTP/1.1 200 OK\r\nConnection: {connection_header}\r\nContent-Length: 2\r\n\r\n{{}}");
        if stream.write_all(response.as_bytes()).await.is_err() {
            return;
        }
    }
}

fn client() -> Client {
    Client {
        tls: Arc::new(tls_config(b"").unwrap()),
        idle: IdleConnections::default(),
    }
}

async fn call(client: &Client, address: SocketAddr) -> Result<(), CallError> {
    let target = Target {
        url: format!("http://{address}/review").parse().unwrap(),
        address: (address.ip().to_string(), address.port()),
        server_name: String::new(),
        is_tls: false,
    };
    let (response, connection) = send(&target, client, Some("{}".to_owned())).await?;
    read(response).await?;
    client.idle.keep(connection).await;
    Ok(())
}

#[tokio::test]
async fn calls_of_an_address_share_a_connection() {
    let (server, other) = (
        Server::start("127.0.0.1:0", "keep-alive").await,
        Server::start("127.0.0.1:0", "keep-alive").await,
    );
    let client = client();
    for _ in 0..3 {
        call(&client, server.address).await.ok().unwrap();
        call(&client, other.address).await.ok().unwrap();
    }
    assert_eq!((server.connections(), other.connections()), (1, 1));
}

#[tokio::test]
async fn connection_that_the_server_closes_is_not_used_again() {
    let server = Server::start("127.0.0.1:0", "close").await;
    let client = client();
    for _ in 0..3 {
        call(&client, server.address).await.ok().unwrap();
    }
    assert_eq!(server.connections(), 3);
}

#[tokio::test]
async fn restarted_webhook_is_called_on_a_new_connection() {
    let server = Server::start("127.0.0.1:0", "keep-alive").await;
    let client = client();
    call(&client, server.address).await.ok().unwrap();
    let address = server.address;
    drop(server);
    // The closed connection holds the address until the client has noticed.
    tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    let restarted = Server::start(&address.to_string(), "keep-alive").await;
    for _ in 0..2 {
        call(&client, address).await.ok().unwrap();
    }
    assert_eq!(restarted.connections(), 1);
}

//! Requests to the API server in memory, over a connection, by its administrator. What writes is a dry run: each answer depends on its
//! request alone, so that a finding can be repeated.

use crate::seeds;
use bytes::Bytes;
use http::{Request, Response, header};
use http_body_util::{BodyExt as _, Full};
use hyper::{body::Incoming, client::conn::http1::SendRequest};
use hyper_util::rt::TokioIo;
use kubewright_apiserver::{ApiServer, Tls};
use serde_json::Value;
use std::{cell::RefCell, time::Duration};
use tokio::{net::TcpStream, runtime::Runtime, time::timeout};

/// After this time a server hangs.
const PATIENCE: Duration = Duration::from_secs(8);

thread_local! {
    static WORLD: RefCell<World> = RefCell::new(World::new());
}

struct World {
    runtime: Runtime,
    server: ApiServer,
    connection: Option<SendRequest<Full<Bytes>>>,
}

/// Asks what the bytes say: method and path, content type, body.
pub fn one(bytes: &[u8]) {
    if let Some(asked) = Asked::read(bytes) {
        WORLD.with_borrow_mut(|world| world.ask(&asked, true));
    }
}

struct Asked<'b> {
    method: &'b str,
    path: &'b str,
    content_type: &'b [u8],
    body: &'b [u8],
}

impl<'b> Asked<'b> {
    /// None of a watch, which would not end.
    fn read(bytes: &'b [u8]) -> Option<Self> {
        let mut parts = bytes.splitn(3, |byte| *byte == b'\n');
        let first = std::str::from_utf8(parts.next()?).ok()?;
        let (method, path) = first.split_once(' ')?;
        let asked = Self {
            method,
            path,
            content_type: parts.next()?,
            body: parts.next()?,
        };
        (!path.contains("watch")).then_some(asked)
    }

    /// None of what no client would send.
    fn request(&self, token: &str, dry: bool) -> Option<Request<Full<Bytes>>> {
        let path = match (self.method, self.path.split_once('?')) {
            ("GET" | "HEAD", _) => self.path.to_owned(),
            _ if !dry => self.path.to_owned(),
            (_, Some((path, query))) => format!("{path}?dryRun=All&{query}"),
            (_, None) => format!("{}?dryRun=All", self.path),
        };
        let request = Request::builder()
            .method(self.method)
            .uri(path)
            .header(header::HOST, "localhost")
            .header(header::CONTENT_TYPE, self.content_type)
            .header(header::AUTHORIZATION, format!("Bearer {token}"));
        let request = request.body(Full::new(Bytes::copy_from_slice(self.body))).ok()?;
        (request.method() != http::Method::CONNECT).then_some(request)
    }
}

impl World {
    /// A server that has what the suite creates.
    fn new() -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .expect("a runtime");
        let server = runtime
            .block_on(ApiServer::builder().tls(Tls::Off).audit_capacity(10).start())
            .expect("a server");
        let mut world = Self {
            runtime,
            server,
            connection: None,
        };
        for seed in seeds::requests() {
            match Asked::read(&seed) {
                Some(asked) if asked.method == "POST" => world.ask(&asked, false),
                _ => {}
            }
        }
        world
    }

    fn ask(&mut self, asked: &Asked<'_>, dry: bool) {
        let Some(request) = asked.request(self.server.admin_token(), dry) else {
            return;
        };
        let head = request.method() == http::Method::HEAD;
        let (server, connection) = (&self.server, &mut self.connection);
        let asking = async {
            let mut sender = match connection.take().filter(SendRequest::is_ready) {
                Some(sender) => sender,
                None => connect(server).await,
            };
            // A server may end the connection of whom it does not understand.
            let response = sender.send_request(request).await.ok()?;
            let answer = whole(response).await?;
            *connection = Some(sender);
            Some(answer)
        };
        let answer = self.runtime.block_on(async { timeout(PATIENCE, asking).await });
        let Some((code, body)) = answer.expect("the server hangs") else {
            return;
        };
        let Ok(answer) = serde_json::from_slice::<Value>(&body) else {
            return;
        };
        if answer["kind"] == "Status" && answer["status"] == "Failure" {
            assert_eq!(answer["code"], code, "{answer}");
        } else if !head && code == 500 {
            panic!("an internal error that is no status: {answer}");
        }
    }
}

async fn connect(server: &ApiServer) -> SendRequest<Full<Bytes>> {
    let stream = TcpStream::connect(server.address()).await.expect("a connection");
    let (sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream))
        .await
        .expect("a connection");
    tokio::spawn(connection);
    sender
}

async fn whole(response: Response<Incoming>) -> Option<(u16, Bytes)> {
    let code = response.status().as_u16();
    Some((code, response.into_body().collect().await.ok()?.to_bytes()))
}

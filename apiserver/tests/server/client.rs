//! A minimal HTTP/1.0 client: the end of the connection ends the body.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::needless_pass_by_value,
    reason = "helpers of tests, called with json!"
)]

use kubewright_apiserver::{ApiServer, Tls, auth::User};
use serde_json::{Value, json};
use std::time::Duration;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpStream;

/// Timeout of every request and of every watch event. It only ends a test that hangs: beside programs of higher priority, a request that
/// computes takes half a minute.
pub(crate) const TIMEOUT: Duration = Duration::from_mins(2);

/// A server without TLS, with requests as its administrator or as user alice.
pub(crate) struct TestServer {
    pub(crate) api: ApiServer,
}

/// An HTTP response.
#[derive(Debug)]
pub(crate) struct Response {
    pub(crate) code: u16,
    pub(crate) head: String,
    pub(crate) text: String,
}

impl Response {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// Returns the body; panics unless the response has this code.
    #[track_caller]
    pub(crate) fn expect(&self, code: u16) -> Value {
        assert_eq!(self.code, code, "{}", self.text);
        self.json()
    }
}

impl TestServer {
    pub(crate) async fn start() -> Self {
        let api = ApiServer::builder()
            .tls(Tls::Off)
            .token("alice-token", User::new("alice", &["devs"]))
            .start()
            .await
            .unwrap();
        Self { api }
    }

    pub(crate) async fn request(&self, method: &str, path: &str, body: Option<Value>) -> Response {
        let body = body.map(|body| body.to_string());
        let content = ("Content-Type", "application/json");
        self.send(
            self.api.admin_token(),
            method,
            path,
            &[content],
            body.unwrap_or_default().as_bytes(),
        )
        .await
    }

    pub(crate) async fn request_as_alice(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
    ) -> Response {
        self.send("alice-token", method, path, headers, b"").await
    }

    pub(crate) async fn get(&self, path: &str) -> Response {
        self.request("GET", path, None).await
    }

    pub(crate) async fn create(&self, path: &str, object: Value) -> Value {
        self.request("POST", path, Some(object)).await.expect(201)
    }

    pub(crate) async fn patch(&self, path: &str, content_type: &str, change: Value) -> Response {
        let content = ("Content-Type", content_type);
        self.send(
            self.api.admin_token(),
            "PATCH",
            path,
            &[content],
            change.to_string().as_bytes(),
        )
        .await
    }

    pub(crate) async fn send(
        &self,
        token: &str,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> Response {
        let work = async {
            let mut stream = self.open(token, method, path, headers, body).await;
            let mut bytes = vec![];
            stream.read_to_end(&mut bytes).await.unwrap();
            let text = String::from_utf8_lossy(&bytes).into_owned();
            let (head, text) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
            Response {
                code: head
                    .split(' ')
                    .nth(1)
                    .and_then(|code| code.parse().ok())
                    .unwrap_or(0),
                head: head.to_owned(),
                text: text.to_owned(),
            }
        };
        tokio::time::timeout(TIMEOUT, work)
            .await
            .expect("an answer in time")
    }

    /// Opens a watch.
    pub(crate) async fn watch(&self, path: &str) -> Watch {
        let stream = self.open(self.api.admin_token(), "GET", path, &[], b"").await;
        let mut lines = BufReader::new(stream);
        loop {
            let mut line = String::new();
            lines.read_line(&mut line).await.unwrap();
            if line == "\r\n" || line.is_empty() {
                return Watch { lines };
            }
        }
    }

    pub(crate) async fn open(
        &self,
        token: &str,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> TcpStream {
        let mut stream = TcpStream::connect(self.api.address()).await.unwrap();
        let mut head = format!("{method} {path} HTTP/1.0\r\nContent-Length: {}\r\n", body.len());
        if !token.is_empty() {
            head.extend(["Authorization: Bearer ", token, "\r\n"]);
        }
        for (name, value) in headers {
            head.extend([*name, ": ", *value, "\r\n"]);
        }
        head += "\r\n";
        stream.write_all(head.as_bytes()).await.unwrap();
        // A server that rejects a request early may close the connection before it has read everything.
        let _ = stream.write_all(body).await;
        stream
    }

    /// Repeats a GET until the response has this code.
    pub(crate) async fn wait_for_status(&self, path: &str, code: u16) -> Response {
        let work = async {
            loop {
                let response = self.get(path).await;
                if response.code == code {
                    return response;
                }
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::time::timeout(TIMEOUT, work)
            .await
            .unwrap_or_else(|_| panic!("{path} never answered {code}"))
    }

    /// Defines the kind Foo, and waits until it is served.
    pub(crate) async fn define_foo(&self) {
        let schema = json!({ "type": "object", "properties": {
            "spec": { "type": "object", "properties": {
                "replicas": { "type": "integer", "minimum": 0, "default": 1 }, "color": { "type": "string" },
            } },
            "status": { "type": "object", "properties": { "replicas": { "type": "integer" } } },
        } });
        let scale = json!({ "specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas" });
        let version = |name: &str, storage: bool| {
            json!({
                "name": name, "served": true, "storage": storage, "schema": { "openAPIV3Schema": schema },
                "subresources": { "status": {}, "scale": scale }, "selectableFields": [{ "jsonPath": ".spec.color" }],
                "additionalPrinterColumns": [{ "name": "Replicas", "type": "integer", "jsonPath": ".spec.replicas" }],
            })
        };
        let definition = json!({ "metadata": { "name": "foos.demo.dev" }, "spec": {
            "group": "demo.dev", "scope": "Namespaced", "names": { "plural": "foos", "kind": "Foo" },
            "versions": [version("v1", true), version("v1beta1", false)],
        }});
        self.create(
            "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
            definition,
        )
        .await;
        self.wait_for_status("/apis/demo.dev/v1/foos", 200).await;
    }
}

/// Path of Foos.
pub(crate) const FOOS: &str = "/apis/demo.dev/v1/namespaces/default/foos";
/// Path of ConfigMaps.
pub(crate) const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";

/// A Foo.
pub(crate) fn foo(name: &str, spec: Value) -> Value {
    json!({ "apiVersion": "demo.dev/v1", "kind": "Foo", "metadata": { "name": name }, "spec": spec })
}

/// A ConfigMap.
pub(crate) fn config_map(name: &str) -> Value {
    json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": name, "labels": { "name": name } } })
}

/// The event stream of a watch.
pub(crate) struct Watch {
    lines: BufReader<TcpStream>,
}

impl Watch {
    /// Returns the next event; none at the end of the watch.
    pub(crate) async fn next(&mut self) -> Option<Value> {
        let mut line = String::new();
        let read = self.lines.read_line(&mut line);
        tokio::time::timeout(TIMEOUT, read)
            .await
            .expect("an event in time")
            .unwrap();
        (!line.is_empty()).then(|| serde_json::from_str(&line).unwrap())
    }

    /// Returns the type of the next event and the name of its object.
    pub(crate) async fn next_name(&mut self) -> (String, String) {
        let event = self.next().await.expect("an event");
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        (text(&event["type"]), text(&event["object"]["metadata"]["name"]))
    }
}

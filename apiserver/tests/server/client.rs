//! A plain HTTP client, which speaks HTTP/1.0 so that bodies end with the connection.

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

/// How long anything may take.
const PATIENCE: Duration = Duration::from_secs(20);

/// A server without TLS, and users to ask it as.
pub(crate) struct World {
    pub(crate) server: ApiServer,
}

/// An answer.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) code: u16,
    pub(crate) head: String,
    pub(crate) text: String,
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// The body of an answer that must have this code.
    #[track_caller]
    pub(crate) fn expect(&self, code: u16) -> Value {
        assert_eq!(self.code, code, "{}", self.text);
        self.json()
    }
}

impl World {
    pub(crate) async fn start() -> Self {
        let server = ApiServer::builder()
            .tls(Tls::Off)
            .token("alice-token", User::new("alice", &["devs"]))
            .start()
            .await
            .unwrap();
        Self { server }
    }

    pub(crate) async fn ask(&self, method: &str, path: &str, body: Option<Value>) -> Answer {
        let body = body.map(|body| body.to_string());
        let content = ("Content-Type", "application/json");
        self.send(
            self.server.admin_token(),
            method,
            path,
            &[content],
            body.unwrap_or_default().as_bytes(),
        )
        .await
    }

    pub(crate) async fn ask_as_alice(&self, method: &str, path: &str, headers: &[(&str, &str)]) -> Answer {
        self.send("alice-token", method, path, headers, b"").await
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        self.ask("GET", path, None).await
    }

    pub(crate) async fn create(&self, path: &str, object: Value) -> Value {
        self.ask("POST", path, Some(object)).await.expect(201)
    }

    pub(crate) async fn patch(&self, path: &str, way: &str, change: Value) -> Answer {
        let content = ("Content-Type", way);
        self.send(
            self.server.admin_token(),
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
    ) -> Answer {
        let work = async {
            let mut stream = self.open(token, method, path, headers, body).await;
            let mut bytes = vec![];
            stream.read_to_end(&mut bytes).await.unwrap();
            let text = String::from_utf8_lossy(&bytes).into_owned();
            let (head, text) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
            Answer {
                code: head
                    .split(' ')
                    .nth(1)
                    .and_then(|code| code.parse().ok())
                    .unwrap_or(0),
                head: head.to_owned(),
                text: text.to_owned(),
            }
        };
        tokio::time::timeout(PATIENCE, work)
            .await
            .expect("an answer in time")
    }

    /// The lines of a watch.
    pub(crate) async fn watch(&self, path: &str) -> Watch {
        let stream = self.open(self.server.admin_token(), "GET", path, &[], b"").await;
        let mut lines = BufReader::new(stream);
        loop {
            let mut line = String::new();
            lines.read_line(&mut line).await.unwrap();
            if line == "\r\n" || line.is_empty() {
                return Watch { lines };
            }
        }
    }

    async fn open(
        &self,
        token: &str,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> TcpStream {
        let mut stream = TcpStream::connect(self.server.address()).await.unwrap();
        let mut head = format!("{method} {path} HTTP/1.0\r\nContent-Length: {}\r\n", body.len());
        if !token.is_empty() {
            head.extend(["Authorization: Bearer ", token, "\r\n"]);
        }
        for (name, value) in headers {
            head.extend([*name, ": ", *value, "\r\n"]);
        }
        head += "\r\n";
        stream.write_all(head.as_bytes()).await.unwrap();
        // A server that refuses early may close before it read everything.
        let _ = stream.write_all(body).await;
        stream
    }

    /// Asks until the answer has this code.
    pub(crate) async fn until(&self, path: &str, code: u16) -> Answer {
        let work = async {
            loop {
                let answer = self.get(path).await;
                if answer.code == code {
                    return answer;
                }
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::time::timeout(PATIENCE, work)
            .await
            .unwrap_or_else(|_| panic!("{path} never answered {code}"))
    }

    /// Defines a kind Foo, and waits until it is served.
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
        self.until("/apis/demo.dev/v1/foos", 200).await;
    }
}

/// Where objects of kind Foo lie.
pub(crate) const FOOS: &str = "/apis/demo.dev/v1/namespaces/default/foos";
/// Where config maps lie.
pub(crate) const MAPS: &str = "/api/v1/namespaces/default/configmaps";

/// An object of kind Foo.
pub(crate) fn foo(name: &str, spec: Value) -> Value {
    json!({ "apiVersion": "demo.dev/v1", "kind": "Foo", "metadata": { "name": name }, "spec": spec })
}

/// A config map.
pub(crate) fn map(name: &str) -> Value {
    json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": name, "labels": { "name": name } } })
}

/// The lines of a watch.
pub(crate) struct Watch {
    lines: BufReader<TcpStream>,
}

impl Watch {
    /// The next event; None at the end.
    pub(crate) async fn next(&mut self) -> Option<Value> {
        let mut line = String::new();
        let read = self.lines.read_line(&mut line);
        tokio::time::timeout(PATIENCE, read)
            .await
            .expect("an event in time")
            .unwrap();
        (!line.is_empty()).then(|| serde_json::from_str(&line).unwrap())
    }

    /// The next event's type and the name of its object.
    pub(crate) async fn next_name(&mut self) -> (String, String) {
        let event = self.next().await.expect("an event");
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        (text(&event["type"]), text(&event["object"]["metadata"]["name"]))
    }
}

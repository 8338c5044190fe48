//! Subresources: a request to one never reaches a handler of the object, and those that connect to a node answer as without a kubelet.

use crate::client::{CONFIG_MAPS, FOOS, Response, TIMEOUT, TestServer, config_map, foo};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

const PODS: &str = "/api/v1/namespaces/default/pods";
const SERVICES: &str = "/api/v1/namespaces/default/services";
const NODES: &str = "/api/v1/nodes";
const DEPLOYMENTS: &str = "/apis/apps/v1/namespaces/default/deployments";

/// Subresources that write to the object.
const OBJECT_SUBRESOURCES: &[&str] = &[
    "status",
    "scale",
    "resize",
    "ephemeralcontainers",
    "finalize",
    "binding",
    "eviction",
];

fn pod(name: &str, containers: &[&str]) -> Value {
    let containers: Vec<Value> = containers
        .iter()
        .map(|name| json!({ "name": name, "image": "i" }))
        .collect();
    json!({ "metadata": { "name": name }, "spec": { "containers": containers } })
}

fn service(name: &str) -> Value {
    json!({ "metadata": { "name": name }, "spec": { "ports": [{ "port": 80, "name": "http" }] } })
}

async fn send(server: &TestServer, method: &str, path: &str, content_type: &str, body: &Value) -> Response {
    let content = ("Content-Type", content_type);
    let body = body.to_string();
    server
        .send(
            server.api.admin_token(),
            method,
            path,
            &[content],
            body.as_bytes(),
        )
        .await
}

/// Returns the subresources that discovery lists for a resource.
async fn discovered_subresources(server: &TestServer, collection: &str) -> BTreeSet<String> {
    let segments: Vec<&str> = collection.trim_matches('/').split('/').collect();
    let version = if segments[0] == "api" { 2 } else { 3 };
    let resources = server.get(&format!("/{}", segments[..version].join("/"))).await;
    let resources = resources.expect(200)["resources"].clone();
    let prefix = format!("{}/", segments[segments.len() - 1]);
    let names = resources.as_array().into_iter().flatten();
    let names = names.filter_map(|resource| resource["name"].as_str()?.strip_prefix(&prefix));
    names.map(str::to_owned).collect()
}

#[tokio::test]
async fn no_method_on_a_subresource_reads_changes_or_deletes_the_parent() {
    let server = TestServer::start().await;
    server.define_foo().await;
    let template = json!({ "metadata": { "labels": { "a": "b" } }, "spec": { "containers": [{ "name": "c", "image": "i" }] } });
    let deployment = json!({
        "metadata": { "name": "a" }, "spec": { "selector": { "matchLabels": { "a": "b" } }, "template": template },
    });
    let named = json!({ "metadata": { "name": "a" } });
    let methods = [
        ("GET", "application/json"),
        ("POST", "application/json"),
        ("PUT", "application/json"),
        ("PATCH", "application/merge-patch+json"),
        ("PATCH", "application/strategic-merge-patch+json"),
        ("PATCH", "application/apply-patch+yaml"),
        ("PATCH", "application/json-patch+json"),
        ("DELETE", "application/json"),
        ("OPTIONS", "application/json"),
    ];
    for (collection, object) in [
        (PODS, pod("a", &["c"])),
        (SERVICES, service("a")),
        (NODES, named.clone()),
        ("/api/v1/namespaces", named.clone()),
        ("/api/v1/namespaces/default/serviceaccounts", named.clone()),
        (CONFIG_MAPS, config_map("a")),
        (DEPLOYMENTS, deployment),
        (FOOS, foo("a", json!({}))),
    ] {
        let created = server.create(collection, object).await;
        let path = format!("{collection}/a");
        let mut subresources = discovered_subresources(&server, collection).await;
        let others = [
            "nope",
            "proxy",
            "log",
            "exec",
            "Status",
            "proxy/x/y",
            "log/x",
            "status/x",
        ];
        subresources.extend(others.map(str::to_owned));
        for subresource in &subresources {
            // Handlers of custom resources ignore what follows a subresource.
            let writes_object = OBJECT_SUBRESOURCES.contains(&subresource.as_str())
                || collection == FOOS && subresource == "status/x";
            for (method, content_type) in methods {
                // An eviction deletes the pod, and the other objects are written by their handlers.
                if writes_object && method != "DELETE" {
                    continue;
                }
                let before = server.get(&path).await.expect(200);
                let mut body = created.clone();
                body["metadata"]["labels"] = json!({ "changed": "yes" });
                if content_type == "application/json-patch+json" {
                    body =
                        json!([{ "op": "add", "path": "/metadata/labels", "value": { "changed": "yes" } }]);
                } else if method == "DELETE" {
                    body = json!({});
                }
                let target = format!("{path}/{subresource}?fieldManager=m&force=true");
                let response = send(&server, method, &target, content_type, &body).await;
                let what = format!("{method} {target}: {} {}", response.code, response.text);
                let is_refused = matches!(response.code, 204 | 400..=499 | 503);
                let is_token = subresource == "token" && method == "POST";
                assert!(
                    is_refused || is_token || response.code == 500 && collection == NODES,
                    "{what}"
                );
                assert_eq!(server.get(&path).await.expect(200), before, "{what}");
            }
        }
        let deleted = server.request("DELETE", &path, None).await;
        assert_eq!(deleted.code, 200, "{path}");
    }
}

#[tokio::test]
async fn watch_paths_have_no_subresources() {
    let server = TestServer::start().await;
    server.create(PODS, pod("a", &["c"])).await;
    for subresource in ["status", "log", "proxy"] {
        let path = format!("/api/v1/watch/namespaces/default/pods/a/{subresource}");
        let refused = server.get(&path).await.expect(404);
        assert_eq!(refused["reason"], "NotFound");
    }
}

/// Checks code, reason and message of an error.
async fn assert_error(
    server: &TestServer,
    method: &str,
    path: &str,
    code: u16,
    reason: &Value,
    message: &str,
) {
    let error = server.request(method, path, None).await.expect(code);
    assert_eq!(
        (&error["reason"], &error["message"]),
        (reason, &json!(message)),
        "{method} {path}"
    );
}

#[tokio::test]
async fn proxies_answer_errors_for_every_method() {
    let server = TestServer::start().await;
    server.create(PODS, pod("a", &["c"])).await;
    server.create(SERVICES, service("a")).await;
    server.create(NODES, json!({ "metadata": { "name": "a" } })).await;
    let (bad, absent, unavailable) = (
        json!("BadRequest"),
        json!("NotFound"),
        json!("ServiceUnavailable"),
    );
    for method in ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"] {
        for rest in ["", "/", "/x/y?z=1"] {
            for name in ["a", "a:80", "http:a:80"] {
                let path = format!("{PODS}/{name}/proxy{rest}");
                assert_error(&server, method, &path, 400, &bad, "address not allowed").await;
                let path = format!("{NODES}/{name}/proxy{rest}");
                let why = "no preferred addresses found; known addresses: []";
                assert_error(&server, method, &path, 500, &Value::Null, why).await;
                let path = format!("{SERVICES}/{name}/proxy{rest}");
                let why = r#"services "a" not found"#;
                assert_error(&server, method, &path, 404, &absent, why).await;
            }
            for (collection, resource) in [(PODS, "pods"), (NODES, "nodes"), (SERVICES, "services")] {
                let why = format!("{resource} \"gone\" not found");
                let path = format!("{collection}/gone/proxy{rest}");
                assert_error(&server, method, &path, 404, &absent, &why).await;
            }
        }
    }
    for (path, code, reason, why) in [
        (
            format!("{PODS}/ftp:a:80/proxy"),
            400,
            &bad,
            r#"invalid pod request "ftp:a:80""#,
        ),
        (
            format!("{SERVICES}/a:b:c:d/proxy"),
            400,
            &bad,
            r#"invalid service request "a:b:c:d""#,
        ),
        (
            format!("{SERVICES}/a:81/proxy"),
            503,
            &unavailable,
            r#"no service port 81 found for service "a""#,
        ),
    ] {
        assert_error(&server, "GET", &path, code, reason, why).await;
    }
    let endpoints = "/api/v1/namespaces/default/endpoints";
    let named = json!({ "metadata": { "name": "a" } });
    server.create(endpoints, named).await;
    let why = r#"no endpoints available for service "a""#;
    assert_error(
        &server,
        "GET",
        &format!("{SERVICES}/a/proxy"),
        503,
        &unavailable,
        why,
    )
    .await;
    for (address, code) in [("10.1.2.3", 503), ("127.0.0.1", 400), ("169.254.0.1", 400)] {
        let status = json!({ "status": { "podIP": address, "podIPs": [{ "ip": address }] } });
        server
            .patch(
                &format!("{PODS}/a/status"),
                "application/merge-patch+json",
                status,
            )
            .await
            .expect(200);
        server.get(&format!("{PODS}/a/proxy")).await.expect(code);
    }
}

#[tokio::test]
async fn log_and_streams_of_a_pod_without_a_node() {
    let server = TestServer::start().await;
    server.create(PODS, pod("a", &["c"])).await;
    server.create(PODS, pod("b", &["c", "d"])).await;
    let bad = json!("BadRequest");
    for query in [
        "",
        "?container=c",
        "?container=c&follow=true&tailLines=5&sinceSeconds=1",
    ] {
        let response = server.get(&format!("{PODS}/a/log{query}")).await;
        assert_eq!((response.code, response.text.as_str()), (204, ""), "{query}");
    }
    let token = server.api.admin_token();
    let accept = ("Accept", "text/plain");
    let response = server
        .send(token, "GET", &format!("{PODS}/a/log"), &[accept], b"")
        .await;
    assert_eq!(response.code, 204, "{}", response.text);
    for method in ["GET", "POST"] {
        for subresource in ["exec", "attach", "portforward"] {
            let why = "pod a does not have a host assigned";
            assert_error(
                &server,
                method,
                &format!("{PODS}/a/{subresource}"),
                400,
                &bad,
                why,
            )
            .await;
        }
        for subresource in ["exec", "attach"] {
            let path = format!("{PODS}/a/{subresource}?container=nope&command=x");
            let why = "container nope is not valid for pod a";
            assert_error(&server, method, &path, 400, &bad, why).await;
        }
    }
    for subresource in ["log", "exec", "attach"] {
        let why = "a container name must be specified for pod b, choose one of: [c d]";
        assert_error(&server, "GET", &format!("{PODS}/b/{subresource}"), 400, &bad, why).await;
        let path = format!("{PODS}/gone/{subresource}");
        assert_error(
            &server,
            "GET",
            &path,
            404,
            &json!("NotFound"),
            r#"pods "gone" not found"#,
        )
        .await;
    }
    let why = "container nope is not valid for pod a";
    assert_error(
        &server,
        "GET",
        &format!("{PODS}/a/log?container=nope"),
        400,
        &bad,
        why,
    )
    .await;
    for (query, why) in [
        (
            "tailLines=-1",
            "tailLines: Invalid value: -1: must be greater than or equal to 0",
        ),
        (
            "limitBytes=0",
            "limitBytes: Invalid value: 0: must be greater than 0",
        ),
        (
            "sinceSeconds=0",
            "sinceSeconds: Invalid value: 0: must be greater than 0",
        ),
    ] {
        let why = format!("PodLogOptions \"a\" is invalid: {why}");
        let path = format!("{PODS}/a/log?{query}");
        assert_error(&server, "GET", &path, 422, &json!("Invalid"), &why).await;
    }
}

#[tokio::test]
async fn log_and_streams_of_a_pod_with_a_node() {
    let server = TestServer::start().await;
    let mut scheduled = pod("a", &["c"]);
    scheduled["spec"]["nodeName"] = json!("n");
    server.create(PODS, scheduled).await;
    let subresources = ["log", "exec", "attach", "portforward"];
    for subresource in subresources {
        let path = format!("{PODS}/a/{subresource}");
        assert_error(
            &server,
            "GET",
            &path,
            404,
            &json!("NotFound"),
            r#"pods "n" not found"#,
        )
        .await;
    }
    server.create(NODES, json!({ "metadata": { "name": "n" } })).await;
    for subresource in subresources {
        let why = "no preferred addresses found; known addresses: []";
        let path = format!("{PODS}/a/{subresource}");
        assert_error(&server, "GET", &path, 500, &Value::Null, why).await;
    }
    let addresses = json!({ "status": { "addresses": [{ "type": "InternalIP", "address": "10.1.2.3" }] } });
    server
        .patch(
            &format!("{NODES}/n/status"),
            "application/merge-patch+json",
            addresses,
        )
        .await
        .expect(200);
    for (subresource, code) in [("log", 500), ("exec", 400), ("attach", 400), ("portforward", 400)] {
        server.get(&format!("{PODS}/a/{subresource}")).await.expect(code);
    }
}

#[tokio::test]
async fn commands_over_web_sockets_end_with_an_error_in_a_message() {
    let server = TestServer::start().await;
    server
        .create(NODES, json!({ "metadata": { "name": "node" } }))
        .await;
    let addresses = json!({ "status": { "addresses": [{ "type": "InternalIP", "address": "127.0.0.1" }] } });
    server
        .patch(
            &format!("{NODES}/node/status"),
            "application/merge-patch+json",
            addresses,
        )
        .await
        .expect(200);
    let mut pod = pod("p", &["c"]);
    pod["spec"]["nodeName"] = "node".into();
    server.create(PODS, pod).await;
    let mut stream = TcpStream::connect(server.api.address()).await.unwrap();
    let request = format!(
        "GET {PODS}/p/exec?command=ls&stderr=true HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {}\r\nConnection: Upgrade\r\n\
        Upgrade: websocket\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\
        Sec-WebSocket-Protocol: v4.channel.k8s.io, v5.channel.k8s.io\r\n\r\n",
        server.api.admin_token()
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut received = vec![];
    // The server closes the connection.
    let whole = tokio::time::timeout(TIMEOUT, stream.read_to_end(&mut received));
    whole.await.unwrap().unwrap();
    let received = String::from_utf8_lossy(&received);
    let (head, messages) = received.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("HTTP/1.1 101 "), "{head}");
    assert!(
        head.contains("sec-websocket-protocol: v5.channel.k8s.io"),
        "{head}"
    );
    // An empty message on the channel of stderr, and the error's.
    assert!(messages.contains("\u{1}\u{2}"), "{messages}");
    assert!(
        messages.contains("\u{3}{\"metadata\":{},\"status\":\"Failure\",\"message\":\"Internal error"),
        "{messages}"
    );
}

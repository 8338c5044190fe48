//! Malformed requests get an error response, and the server keeps running.

use crate::client::{CONFIG_MAPS, TIMEOUT, TestServer, config_map};
use serde_json::{Value, json};
use std::time::Duration;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

const JSON: &[(&str, &str)] = &[("Content-Type", "application/json")];

#[tokio::test]
async fn malformed_bodies_get_4xx() {
    let server = TestServer::start().await;
    let token = server.api.admin_token();
    let deep = "[".repeat(100_000);
    let nested = format!(r#"{{"metadata":{{"annotations":{}"#, r#"{"a":"#.repeat(10_000));
    for body in [
        "",
        "{",
        "[]",
        "null",
        "1",
        "\"a\"",
        "\u{0}",
        r#"{"metadata":1}"#,
        r#"{"metadata":{"name":1}}"#,
        &deep,
        &nested,
    ] {
        let response = server
            .send(token, "POST", CONFIG_MAPS, JSON, body.as_bytes())
            .await;
        assert!(
            (400..500).contains(&response.code),
            "{} for {:.40}",
            response.code,
            body
        );
        assert_eq!(response.json()["kind"], "Status");
    }
    let yaml = [("Content-Type", "application/yaml")];
    for body in ["a: [", "&a [*a]", "- 1", "\t"] {
        let response = server
            .send(token, "POST", CONFIG_MAPS, &yaml, body.as_bytes())
            .await;
        assert!(
            (400..500).contains(&response.code),
            "{} for {body:?}",
            response.code
        );
    }
    for bytes in [&[0xff, 0xfe][..], b"k8s\0\xff\xff\xff\xff", b"k8s\0"] {
        let protobuf = [("Content-Type", "application/vnd.kubernetes.protobuf")];
        let response = server.send(token, "POST", CONFIG_MAPS, &protobuf, bytes).await;
        assert_eq!(response.code, 400);
    }
    server.create(CONFIG_MAPS, config_map("still-there")).await;
}

#[tokio::test]
async fn yaml_alias_bombs_get_400() {
    let server = TestServer::start().await;
    let levels = (1..=10).map(|level| {
        let aliases = vec![format!("*a{}", level - 1); 10].join(",");
        format!("a{level}: &a{level} [{aliases}]\n")
    });
    let bomb = format!("a0: &a0 x\n{}", levels.collect::<Vec<_>>().concat());
    let token = server.api.admin_token();
    for (method, path, content) in [
        ("POST", CONFIG_MAPS, "application/yaml"),
        (
            "PATCH",
            &format!("{CONFIG_MAPS}/a?fieldManager=b"),
            "application/apply-patch+yaml",
        ),
    ] {
        let headers = [("Content-Type", content)];
        let response = server.send(token, method, path, &headers, bomb.as_bytes()).await;
        response.expect(400);
    }
}

/// Custom resources with arbitrary content.
const ANYS: &str = "/apis/deep.dev/v1/namespaces/default/anys";

async fn define_any(server: &TestServer) {
    let spec = json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true });
    let schema = json!({ "type": "object", "properties": { "spec": spec } });
    let definition = json!({ "metadata": { "name": "anys.deep.dev" }, "spec": {
        "group": "deep.dev", "scope": "Namespaced", "names": { "plural": "anys", "kind": "Any" },
        "versions": [{ "name": "v1", "served": true, "storage": true, "schema": { "openAPIV3Schema": schema } }],
    }});
    let definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    server.create(definitions, definition).await;
    server.wait_for_status(ANYS, 200).await;
    let any = json!({ "apiVersion": "deep.dev/v1", "kind": "Any", "metadata": { "name": "a" }, "spec": { "a": {} } });
    server.create(ANYS, any).await;
}

#[tokio::test]
async fn patches_cannot_exceed_the_depth_limit_and_deep_objects_stay_usable() {
    let server = TestServer::start().await;
    define_any(&server).await;
    let any = format!("{ANYS}/a");
    let json_patch = "application/json-patch+json";
    let mut codes = vec![];
    for round in 0..100 {
        let path = format!("/spec/a{}/a", "/a".repeat(10 * round));
        let deeper = (0..9).fold(json!({}), |inner, _| json!({ "a": inner }));
        let add = json!([{ "op": "add", "path": path, "value": deeper }]);
        codes.push(server.patch(&any, json_patch, add).await.code);
    }
    let kept = codes.iter().take_while(|code| **code == 200).count();
    assert!(
        kept > 30 && codes[kept..].iter().all(|code| *code == 422),
        "{codes:?}"
    );
    // The text is searched, since serde_json parses at most 128 levels.
    let deep = server.get(&any).await.text;
    let levels = |what: &str| deep.matches(what).count();
    assert!(levels(r#""a":"#) > 380 && levels(r#""f:a":"#) > 380, "{deep}");
    let yaml = [("Accept", "application/yaml")];
    let token = server.api.admin_token();
    assert_eq!(server.send(token, "GET", ANYS, &yaml, b"").await.code, 200);
    let spec = (0..390).fold(json!({}), |inner, _| json!({ "a": inner }));
    let merge = json!({ "spec": spec, "metadata": { "labels": { "a": "b" } } });
    let merged = server.patch(&any, "application/merge-patch+json", merge).await;
    assert_eq!(merged.code, 200, "{}", merged.text);
    let mut applied = json!({ "apiVersion": "deep.dev/v1", "kind": "Any", "metadata": { "name": "a" } });
    applied["spec"] = spec;
    let path = format!("{any}?fieldManager=b&force=true");
    let applied = server.patch(&path, "application/apply-patch+yaml", applied).await;
    assert_eq!(applied.code, 200, "{}", applied.text);
    // By the end of this loop, the store keeps the deep object compressed.
    for number in 0..2000 {
        let object =
            json!({ "apiVersion": "deep.dev/v1", "kind": "Any", "metadata": { "name": number.to_string() } });
        server.create(ANYS, object).await;
    }
    assert!(server.get(&any).await.text.contains(r#""name":"a""#));
    assert_eq!(server.request("DELETE", &any, None).await.code, 200);
}

#[tokio::test]
async fn exponential_json_patch_copies_get_422() {
    let server = TestServer::start().await;
    define_any(&server).await;
    let copy = |at: usize| json!({ "op": "copy", "from": "/spec", "path": format!("/spec/{at}") });
    let copies: Vec<_> = (0..40).map(copy).collect();
    let any = format!("{ANYS}/a");
    server
        .patch(&any, "application/json-patch+json", copies.into())
        .await
        .expect(422);
}

#[tokio::test]
async fn bodies_over_3_mib_get_413() {
    let server = TestServer::start().await;
    let body = vec![b' '; (3 << 20) + 1];
    let response = server
        .send(server.api.admin_token(), "POST", CONFIG_MAPS, JSON, &body)
        .await;
    assert_eq!(response.expect(413)["reason"], "RequestEntityTooLarge");
}

#[tokio::test]
async fn slow_request_body_times_out() {
    let server = TestServer::start().await;
    let mut stream = TcpStream::connect(server.api.address()).await.unwrap();
    let token = server.api.admin_token();
    let head = format!(
        "POST {CONFIG_MAPS}?timeout=200ms HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\nContent-Length: 1000\r\n\r\n{{"
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    let (mut read, mut write) = stream.into_split();
    let trickle = tokio::spawn(async move {
        // Until the server closes the connection.
        while write.write_all(b" ").await.is_ok() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    });
    // Read to the end: the server closes the connection after the response.
    let mut response = String::new();
    let whole = tokio::time::timeout(TIMEOUT, read.read_to_string(&mut response));
    // Unread bytes in flight may make the close a reset.
    let _ = whole.await.unwrap();
    let (head, body) = response.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("HTTP/1.1 504 "), "{head}");
    let status: Value = serde_json::from_str(body).unwrap();
    assert_eq!(status["reason"], "Timeout");
    tokio::time::timeout(TIMEOUT, trickle).await.unwrap().unwrap();
    let records = server.api.audit().records();
    assert!(
        records
            .iter()
            .any(|record| record.code == 504 && record.verb == "create")
    );
}

#[tokio::test]
async fn invalid_content_types_paths_verbs_and_queries_get_4xx() {
    let server = TestServer::start().await;
    let token = server.api.admin_token();
    let text = [("Content-Type", "text/plain")];
    assert_eq!(
        server
            .send(token, "POST", CONFIG_MAPS, &text, b"x")
            .await
            .expect(415)["reason"],
        "UnsupportedMediaType"
    );
    let html = [("Accept", "text/html")];
    server
        .send(token, "GET", CONFIG_MAPS, &html, b"")
        .await
        .expect(406);
    for (method, path, code) in [
        ("GET", "/nope", 404),
        ("GET", "/apis/apps/v1/nope", 404),
        ("GET", "/apis/nope/v1/nope", 404),
        ("POST", "/api/v1/configmaps", 405),
        ("PUT", CONFIG_MAPS, 405),
        ("DELETE", "/api/v1/namespaces", 405),
        ("BREW", CONFIG_MAPS, 405),
        ("GET", "/api/v1/namespaces/default/configmaps/a/nope", 404),
        ("GET", "/api/v1/configmaps?labelSelector=a%20in", 400),
        ("GET", "/api/v1/configmaps?fieldSelector=spec.x%3D1", 400),
        ("GET", "/api/v1/configmaps?continue=abc", 400),
        ("GET", "/api/v1/configmaps?limit=x", 400),
        ("GET", "/api/v1/configmaps?resourceVersion=-1", 400),
        ("GET", "/api/v1/configmaps/%2e%2e%2f", 404),
        ("GET", "/%ff%fe", 404),
    ] {
        let response = server.request(method, path, None).await;
        assert_eq!(response.code, code, "{method} {path}: {}", response.text);
    }
    let options = json!({ "propagationPolicy": "Sometimes" });
    server
        .request("DELETE", &format!("{CONFIG_MAPS}/a"), Some(options))
        .await
        .expect(422);
}

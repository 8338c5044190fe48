//! Whatever is sent gets a proper answer, and the server stays.

use crate::client::{MAPS, World, map};
use serde_json::{Value, json};
use std::time::Duration;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

const JSON: &[(&str, &str)] = &[("Content-Type", "application/json")];

#[tokio::test]
async fn malformed_bodies_are_refused() {
    let world = World::start().await;
    let token = world.server.admin_token();
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
        let answer = world.send(token, "POST", MAPS, JSON, body.as_bytes()).await;
        assert!(
            (400..500).contains(&answer.code),
            "{} for {:.40}",
            answer.code,
            body
        );
        assert_eq!(answer.json()["kind"], "Status");
    }
    let yaml = [("Content-Type", "application/yaml")];
    for body in ["a: [", "&a [*a]", "- 1", "\t"] {
        let answer = world.send(token, "POST", MAPS, &yaml, body.as_bytes()).await;
        assert!((400..500).contains(&answer.code), "{} for {body:?}", answer.code);
    }
    for bytes in [&[0xff, 0xfe][..], b"k8s\0\xff\xff\xff\xff", b"k8s\0"] {
        let protobuf = [("Content-Type", "application/vnd.kubernetes.protobuf")];
        let answer = world.send(token, "POST", MAPS, &protobuf, bytes).await;
        assert_eq!(answer.code, 400);
    }
    world.create(MAPS, map("still-there")).await;
}

#[tokio::test]
async fn aliases_that_multiply_are_refused() {
    let world = World::start().await;
    let levels = (1..=10).map(|level| {
        let aliases = vec![format!("*a{}", level - 1); 10].join(",");
        format!("a{level}: &a{level} [{aliases}]\n")
    });
    let bomb = format!("a0: &a0 x\n{}", levels.collect::<Vec<_>>().concat());
    let token = world.server.admin_token();
    for (method, path, content) in [
        ("POST", MAPS, "application/yaml"),
        (
            "PATCH",
            &format!("{MAPS}/a?fieldManager=b"),
            "application/apply-patch+yaml",
        ),
    ] {
        let headers = [("Content-Type", content)];
        let answer = world.send(token, method, path, &headers, bomb.as_bytes()).await;
        answer.expect(400);
    }
}

/// Objects that may hold anything.
const ANYS: &str = "/apis/deep.dev/v1/namespaces/default/anys";

async fn define_any(world: &World) {
    let spec = json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true });
    let schema = json!({ "type": "object", "properties": { "spec": spec } });
    let definition = json!({ "metadata": { "name": "anys.deep.dev" }, "spec": {
        "group": "deep.dev", "scope": "Namespaced", "names": { "plural": "anys", "kind": "Any" },
        "versions": [{ "name": "v1", "served": true, "storage": true, "schema": { "openAPIV3Schema": schema } }],
    }});
    let definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    world.create(definitions, definition).await;
    world.until(ANYS, 200).await;
    let any = json!({ "apiVersion": "deep.dev/v1", "kind": "Any", "metadata": { "name": "a" }, "spec": { "a": {} } });
    world.create(ANYS, any).await;
}

#[tokio::test]
async fn patches_that_deepen_an_object_end_at_a_limit_and_what_is_deep_can_be_used() {
    let world = World::start().await;
    define_any(&world).await;
    let any = format!("{ANYS}/a");
    let json_patch = "application/json-patch+json";
    let mut codes = vec![];
    for round in 0..100 {
        let path = format!("/spec/a{}/a", "/a".repeat(10 * round));
        let deeper = (0..9).fold(json!({}), |inner, _| json!({ "a": inner }));
        let add = json!([{ "op": "add", "path": path, "value": deeper }]);
        codes.push(world.patch(&any, json_patch, add).await.code);
    }
    let kept = codes.iter().take_while(|code| **code == 200).count();
    assert!(
        kept > 30 && codes[kept..].iter().all(|code| *code == 422),
        "{codes:?}"
    );
    // serde_json reads no more than 128 levels.
    let deep = world.get(&any).await.text;
    let levels = |what: &str| deep.matches(what).count();
    assert!(levels(r#""a":"#) > 380 && levels(r#""f:a":"#) > 380, "{deep}");
    let yaml = [("Accept", "application/yaml")];
    let token = world.server.admin_token();
    assert_eq!(world.send(token, "GET", ANYS, &yaml, b"").await.code, 200);
    let spec = (0..390).fold(json!({}), |inner, _| json!({ "a": inner }));
    let merge = json!({ "spec": spec, "metadata": { "labels": { "a": "b" } } });
    let merged = world.patch(&any, "application/merge-patch+json", merge).await;
    assert_eq!(merged.code, 200, "{}", merged.text);
    let mut applied = json!({ "apiVersion": "deep.dev/v1", "kind": "Any", "metadata": { "name": "a" } });
    applied["spec"] = spec;
    let path = format!("{any}?fieldManager=b&force=true");
    let applied = world.patch(&path, "application/apply-patch+yaml", applied).await;
    assert_eq!(applied.code, 200, "{}", applied.text);
    // Kept as bytes by then.
    for number in 0..2000 {
        let object =
            json!({ "apiVersion": "deep.dev/v1", "kind": "Any", "metadata": { "name": number.to_string() } });
        world.create(ANYS, object).await;
    }
    assert!(world.get(&any).await.text.contains(r#""name":"a""#));
    assert_eq!(world.ask("DELETE", &any, None).await.code, 200);
}

#[tokio::test]
async fn copies_that_double_are_refused() {
    let world = World::start().await;
    define_any(&world).await;
    let copy = |at: usize| json!({ "op": "copy", "from": "/spec", "path": format!("/spec/{at}") });
    let copies: Vec<_> = (0..40).map(copy).collect();
    let any = format!("{ANYS}/a");
    world
        .patch(&any, "application/json-patch+json", copies.into())
        .await
        .expect(422);
}

#[tokio::test]
async fn bodies_are_limited() {
    let world = World::start().await;
    let body = vec![b' '; (3 << 20) + 1];
    let answer = world
        .send(world.server.admin_token(), "POST", MAPS, JSON, &body)
        .await;
    assert_eq!(answer.expect(413)["reason"], "RequestEntityTooLarge");
}

#[tokio::test]
async fn who_sends_a_body_by_and_by_is_not_waited_for() {
    let world = World::start().await;
    let mut stream = TcpStream::connect(world.server.address()).await.unwrap();
    let token = world.server.admin_token();
    let head = format!(
        "POST {MAPS}?timeout=200ms HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\nContent-Length: 1000\r\n\r\n{{"
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    let (mut read, mut write) = stream.into_split();
    let trickle = tokio::spawn(async move {
        // Until nobody reads it any more.
        while write.write_all(b" ").await.is_ok() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    });
    // All of it: the connection ends with the answer.
    let mut answer = String::new();
    let whole = tokio::time::timeout(Duration::from_secs(10), read.read_to_string(&mut answer));
    // What was sent meanwhile, and not read, may end it roughly.
    let _ = whole.await.unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("HTTP/1.1 504 "), "{head}");
    let status: Value = serde_json::from_str(body).unwrap();
    assert_eq!(
        (&status["kind"], &status["reason"]),
        (&json!("Status"), &json!("Timeout"))
    );
    tokio::time::timeout(Duration::from_secs(10), trickle)
        .await
        .unwrap()
        .unwrap();
    let records = world.server.audit().records();
    assert!(
        records
            .iter()
            .any(|record| record.code == 504 && record.verb == "create")
    );
}

#[tokio::test]
async fn wrong_types_paths_verbs_and_queries_are_refused() {
    let world = World::start().await;
    let token = world.server.admin_token();
    let text = [("Content-Type", "text/plain")];
    assert_eq!(
        world.send(token, "POST", MAPS, &text, b"x").await.expect(415)["reason"],
        "UnsupportedMediaType"
    );
    let html = [("Accept", "text/html")];
    world.send(token, "GET", MAPS, &html, b"").await.expect(406);
    for (method, path, code) in [
        ("GET", "/nope", 404),
        ("GET", "/apis/apps/v1/nope", 404),
        ("GET", "/apis/nope/v1/nope", 404),
        ("POST", "/api/v1/configmaps", 405),
        ("PUT", MAPS, 405),
        ("DELETE", "/api/v1/namespaces", 405),
        ("BREW", MAPS, 405),
        ("GET", "/api/v1/namespaces/default/configmaps/a/nope", 404),
        ("GET", "/api/v1/configmaps?labelSelector=a%20in", 400),
        ("GET", "/api/v1/configmaps?fieldSelector=spec.x%3D1", 400),
        ("GET", "/api/v1/configmaps?continue=abc", 400),
        ("GET", "/api/v1/configmaps?limit=x", 400),
        ("GET", "/api/v1/configmaps?resourceVersion=-1", 400),
        ("GET", "/api/v1/configmaps/%2e%2e%2f", 404),
        ("GET", "/%ff%fe", 404),
    ] {
        let answer = world.ask(method, path, None).await;
        assert_eq!(answer.code, code, "{method} {path}: {}", answer.text);
    }
    let options = json!({ "propagationPolicy": "Sometimes" });
    world
        .ask("DELETE", &format!("{MAPS}/a"), Some(options))
        .await
        .expect(422);
}

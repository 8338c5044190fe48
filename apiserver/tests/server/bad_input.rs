//! Whatever is sent gets a proper answer, and the server stays.

use crate::client::{MAPS, World, map};
use serde_json::json;

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
async fn bodies_are_limited() {
    let world = World::start().await;
    let body = vec![b' '; (3 << 20) + 1];
    let answer = world
        .send(world.server.admin_token(), "POST", MAPS, JSON, &body)
        .await;
    assert_eq!(answer.expect(413)["reason"], "RequestEntityTooLarge");
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

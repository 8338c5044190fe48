//! Definitions of custom kinds, and what follows from them.

use crate::client::{FOOS, World, foo};
use serde_json::json;

const DEFINITION: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/foos.demo.dev";

#[tokio::test]
async fn a_definition_is_established_and_discovered() {
    let world = World::start().await;
    assert_eq!(world.get("/apis/demo.dev/v1").await.code, 404);
    world.define_foo().await;
    let definition = world.get(DEFINITION).await.expect(200);
    let conditions = definition["status"]["conditions"].as_array().unwrap();
    let holds = |kind: &str| {
        conditions
            .iter()
            .any(|condition| condition["type"] == kind && condition["status"] == "True")
    };
    assert!(holds("Established") && holds("NamesAccepted"));
    let group = world.get("/apis/demo.dev").await.expect(200);
    assert_eq!(group["preferredVersion"]["version"], "v1");
    let resources = world.get("/apis/demo.dev/v1").await.expect(200);
    assert_eq!(resources["resources"][0]["kind"], "Foo");
    let openapi = world.get("/openapi/v3/apis/demo.dev/v1").await.expect(200);
    assert!(openapi["components"]["schemas"]["dev.demo.v1.Foo"]["properties"]["spec"].is_object());
}

#[tokio::test]
async fn objects_are_pruned_defaulted_and_validated() {
    let world = World::start().await;
    world.define_foo().await;
    let created = world.create(FOOS, foo("a", json!({ "x": 1 }))).await;
    assert_eq!(created["spec"], json!({ "replicas": 1 }));
    let strict = format!("{FOOS}?fieldValidation=Strict");
    let refused = world
        .ask("POST", &strict, Some(foo("b", json!({ "x": 1 }))))
        .await
        .expect(400);
    assert!(
        refused["message"]
            .as_str()
            .unwrap()
            .contains(r#"unknown field "spec.x""#),
        "{refused}"
    );
    let refused = world
        .ask("POST", FOOS, Some(foo("b", json!({ "replicas": -1 }))))
        .await
        .expect(422);
    assert_eq!(refused["details"]["causes"][0]["field"], "spec.replicas");
    let warned = world.ask("POST", FOOS, Some(foo("c", json!({ "x": 1 })))).await;
    assert!(
        warned
            .head
            .to_lowercase()
            .contains("warning: 299 - \"unknown field"),
        "{}",
        warned.head
    );
}

#[tokio::test]
async fn objects_go_with_their_definition() {
    let world = World::start().await;
    world.define_foo().await;
    world.create(FOOS, foo("a", json!({}))).await;
    world.ask("DELETE", DEFINITION, None).await.expect(200);
    world.until(DEFINITION, 404).await;
    world.until(FOOS, 404).await;
    world.define_foo().await;
    assert_eq!(world.get(FOOS).await.expect(200)["items"], json!([]));
}

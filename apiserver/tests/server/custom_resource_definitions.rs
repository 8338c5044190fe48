//! CustomResourceDefinitions and their objects.

use crate::client::{FOOS, TestServer, foo};
use serde_json::json;

const DEFINITION: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/foos.demo.dev";

#[tokio::test]
async fn definition_is_established_and_discovered() {
    let server = TestServer::start().await;
    assert_eq!(server.get("/apis/demo.dev/v1").await.code, 404);
    server.define_foo().await;
    let definition = server.get(DEFINITION).await.expect(200);
    let conditions = definition["status"]["conditions"].as_array().unwrap();
    let is_true = |kind: &str| {
        conditions
            .iter()
            .any(|condition| condition["type"] == kind && condition["status"] == "True")
    };
    assert!(is_true("Established") && is_true("NamesAccepted"));
    let group = server.get("/apis/demo.dev").await.expect(200);
    assert_eq!(group["preferredVersion"]["version"], "v1");
    let resources = server.get("/apis/demo.dev/v1").await.expect(200);
    assert_eq!(resources["resources"][0]["kind"], "Foo");
    let openapi = server.get("/openapi/v3/apis/demo.dev/v1").await.expect(200);
    assert!(openapi["components"]["schemas"]["dev.demo.v1.Foo"]["properties"]["spec"].is_object());
}

#[tokio::test]
async fn custom_resources_are_pruned_defaulted_and_validated() {
    let server = TestServer::start().await;
    server.define_foo().await;
    let created = server.create(FOOS, foo("a", json!({ "x": 1 }))).await;
    assert_eq!(created["spec"], json!({ "replicas": 1 }));
    let strict = format!("{FOOS}?fieldValidation=Strict");
    let rejected = server
        .request("POST", &strict, Some(foo("b", json!({ "x": 1 }))))
        .await
        .expect(400);
    assert!(
        rejected["message"]
            .as_str()
            .unwrap()
            .contains(r#"unknown field "spec.x""#),
        "{rejected}"
    );
    let rejected = server
        .request("POST", FOOS, Some(foo("b", json!({ "replicas": -1 }))))
        .await
        .expect(422);
    assert_eq!(rejected["details"]["causes"][0]["field"], "spec.replicas");
    let warned = server
        .request("POST", FOOS, Some(foo("c", json!({ "x": 1 }))))
        .await;
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
async fn deleting_a_definition_deletes_its_objects() {
    let server = TestServer::start().await;
    server.define_foo().await;
    server.create(FOOS, foo("a", json!({}))).await;
    server.request("DELETE", DEFINITION, None).await.expect(200);
    server.wait_for_status(DEFINITION, 404).await;
    server.wait_for_status(FOOS, 404).await;
    server.define_foo().await;
    assert_eq!(server.get(FOOS).await.expect(200)["items"], json!([]));
}

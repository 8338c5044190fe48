//! CustomResourceDefinitions and their objects.

#![expect(clippy::unwrap_used, reason = "helpers of tests are tests")]

use crate::client::{FOOS, TestServer, foo};
use kubewright_apiserver::auth::User;
use kubewright_apiserver::registry::{Target, WriteContext};
use kubewright_apiserver::request::{ListOptions, WriteOptions};
use serde_json::{Value, json};
use std::time::Duration;

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

const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

fn definition(plural: &str, group: &str) -> Value {
    let schema = json!({ "type": "object", "properties": { "spec": { "type": "object", "properties": {
        "size": { "type": "integer", "minimum": 0 }, "color": { "type": "string" },
    } } } });
    let version =
        json!({ "name": "v1", "served": true, "storage": true, "schema": { "openAPIV3Schema": schema } });
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": { "name": format!("{plural}.{group}") },
        "spec": {
            "group": group, "scope": "Namespaced", "names": { "plural": plural, "kind": plural.to_uppercase() }, "versions": [version],
        },
    })
}

fn is_established(definition: &Value) -> bool {
    let conditions = definition["status"]["conditions"].as_array();
    let mut conditions = conditions.into_iter().flatten();
    conditions.any(|condition| condition["type"] == "Established" && condition["status"] == "True")
}

/// The processor time of this thread, which runs the server, too. Other programs do not add to it, as they do to the time of a clock.
fn processor_time() -> Duration {
    let times = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    Duration::from_nanos(times.split_whitespace().next().unwrap().parse().unwrap())
}

/// Creates definitions in groups of twenty, and waits until all are established. Returns the processor time that each took.
async fn create_definitions(server: &TestServer, count: usize) -> Duration {
    let registry = server.api.registry().clone();
    let kind = registry
        .resource("apiextensions.k8s.io", "customresourcedefinitions")
        .unwrap();
    let (user, options) = (User::system(), WriteOptions::default());
    let start = processor_time();
    for at in 0..count {
        let definition = definition(&format!("kind{at}s"), &format!("group{}.dev", at / 20));
        let target = Target::new(&kind, "", "");
        registry
            .create(&target, definition, WriteContext::new(&user, &options))
            .unwrap();
        // The controller runs between the requests of concurrent clients.
        tokio::task::yield_now().await;
    }
    let all = Target::new(&kind, "", "");
    loop {
        let listing = registry.list(&all, &ListOptions::default()).unwrap();
        if listing
            .objects
            .iter()
            .all(|object| is_established(object.value()))
        {
            return processor_time().saturating_sub(start) / u32::try_from(count).unwrap();
        }
        // Looking at all of them costs time, too.
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test]
async fn many_definitions_take_no_longer_each_than_few() {
    let few = create_definitions(&TestServer::start().await, 50).await;
    let many = create_definitions(&TestServer::start().await, 500).await;
    println!("a definition of 50 takes {few:?}, one of 500 takes {many:?}");
    // It would be ten times as long if each definition cost the work of all.
    assert!(many < few * 4, "{few:?} {many:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn kinds_are_served_when_their_definition_is_established() {
    let server = TestServer::start().await;
    let name = "flags.demo.dev";
    for round in 0..100 {
        server.create(DEFINITIONS, definition("flags", "demo.dev")).await;
        let registry = server.api.registry().clone();
        let check = tokio::task::spawn_blocking(move || {
            let kind = registry.resource("apiextensions.k8s.io", "customresourcedefinitions");
            let target = Target::new(&kind.unwrap(), "", name);
            while !registry
                .get(&target)
                .is_ok_and(|object| is_established(object.value()))
            {
                std::hint::spin_loop();
            }
            registry.catalog().resource("demo.dev", "v1", "flags").is_some()
        });
        assert!(check.await.unwrap(), "round {round}");
        server
            .request("DELETE", &format!("{DEFINITIONS}/{name}"), None)
            .await
            .expect(200);
        server
            .wait_for_status(&format!("{DEFINITIONS}/{name}"), 404)
            .await;
    }
}

#[tokio::test]
async fn a_definition_with_taken_names_deletes_no_objects_of_others() {
    let server = TestServer::start().await;
    let leases = "/apis/coordination.k8s.io/v1/namespaces/default/leases";
    server
        .create(leases, json!({ "metadata": { "name": "kept" } }))
        .await;
    let schema = json!({ "openAPIV3Schema": { "type": "object" } });
    let definition = json!({
        "metadata": {
            "name": "leases.coordination.k8s.io",
            "annotations": { "api-approved.kubernetes.io": "https://github.com/kubernetes/kubernetes/pull/1" },
        },
        "spec": {
            "group": "coordination.k8s.io", "scope": "Namespaced", "names": { "plural": "leases", "kind": "Lease" },
            "versions": [{ "name": "v2", "served": true, "storage": true, "schema": schema }],
        },
    });
    let definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    server.create(definitions, definition).await;
    let path = format!("{definitions}/leases.coordination.k8s.io");
    server.request("DELETE", &path, None).await.expect(200);
    server.wait_for_status(&path, 404).await;
    server.get(&format!("{leases}/kept")).await.expect(200);
}

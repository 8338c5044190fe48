//! Garbage collection of dependents, and deletion of namespaces.

use crate::client::{CONFIG_MAPS, FOOS, TestServer, config_map, foo};
use serde_json::{Value, json};

async fn create_dependent(server: &TestServer, name: &str, owner: &Value) {
    let mut object = config_map(name);
    object["metadata"]["ownerReferences"] = json!([{
        "apiVersion": "demo.dev/v1", "kind": "Foo", "name": owner["metadata"]["name"], "uid": owner["metadata"]["uid"],
        "controller": true, "blockOwnerDeletion": true,
    }]);
    server.create(CONFIG_MAPS, object).await;
}

#[tokio::test]
async fn background_deletion_collects_dependents_after_the_owner() {
    let server = TestServer::start().await;
    server.define_foo().await;
    let owner = server.create(FOOS, foo("a", json!({}))).await;
    create_dependent(&server, "child", &owner).await;
    server.create(CONFIG_MAPS, config_map("free")).await;
    server
        .request("DELETE", &format!("{FOOS}/a"), None)
        .await
        .expect(200);
    server.wait_for_status(&format!("{CONFIG_MAPS}/child"), 404).await;
    server.get(&format!("{CONFIG_MAPS}/free")).await.expect(200);
}

#[tokio::test]
async fn foreground_deletion_removes_the_owner_after_its_dependents() {
    let server = TestServer::start().await;
    server.define_foo().await;
    let owner = server.create(FOOS, foo("a", json!({}))).await;
    create_dependent(&server, "child", &owner).await;
    let add_finalizer = json!({ "metadata": { "finalizers": ["demo.dev/hold"] } });
    let child = format!("{CONFIG_MAPS}/child");
    server
        .patch(&child, "application/merge-patch+json", add_finalizer)
        .await
        .expect(200);
    let options = json!({ "propagationPolicy": "Foreground" });
    let deleting = server
        .request("DELETE", &format!("{FOOS}/a"), Some(options))
        .await
        .expect(200);
    assert_eq!(deleting["metadata"]["finalizers"], json!(["foregroundDeletion"]));
    // The child is marked for deletion, and blocks its owner until it is gone.
    while server.get(&child).await.expect(200)["metadata"]["deletionTimestamp"].is_null() {
        tokio::task::yield_now().await;
    }
    server.get(&format!("{FOOS}/a")).await.expect(200);
    let remove_finalizer = json!({ "metadata": { "finalizers": null } });
    server
        .patch(&child, "application/merge-patch+json", remove_finalizer)
        .await
        .expect(200);
    server.wait_for_status(&format!("{FOOS}/a"), 404).await;
}

#[tokio::test]
async fn orphan_deletion_keeps_dependents() {
    let server = TestServer::start().await;
    server.define_foo().await;
    let owner = server.create(FOOS, foo("a", json!({}))).await;
    create_dependent(&server, "child", &owner).await;
    server
        .request("DELETE", &format!("{FOOS}/a?propagationPolicy=Orphan"), None)
        .await
        .expect(200);
    server.wait_for_status(&format!("{FOOS}/a"), 404).await;
    let child = server.get(&format!("{CONFIG_MAPS}/child")).await.expect(200);
    assert_eq!(child["metadata"]["ownerReferences"], Value::Null);
}

#[tokio::test]
async fn namespace_deletion_deletes_its_content_and_waits_for_finalizers() {
    let server = TestServer::start().await;
    server
        .create("/api/v1/namespaces", json!({ "metadata": { "name": "shop" } }))
        .await;
    let maps = "/api/v1/namespaces/shop/configmaps";
    let mut with_finalizer = config_map("held");
    with_finalizer["metadata"]["finalizers"] = json!(["demo.dev/hold"]);
    server.create(maps, with_finalizer).await;
    server.create(maps, config_map("free")).await;
    let deleting = server
        .request("DELETE", "/api/v1/namespaces/shop", None)
        .await
        .expect(200);
    assert_eq!(deleting["status"]["phase"], "Terminating");
    server.wait_for_status(&format!("{maps}/free"), 404).await;
    let rejected = server
        .request("POST", maps, Some(config_map("new")))
        .await
        .expect(403);
    assert_eq!(rejected["details"]["causes"][0]["reason"], "NamespaceTerminating");
    let conditions = loop {
        let namespace = server.get("/api/v1/namespaces/shop").await.expect(200);
        if let Some(conditions) = namespace["status"]["conditions"].as_array() {
            break conditions.clone();
        }
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    };
    // As on the real server, the message has a dot after the resource even for the core group.
    for (condition, expected) in conditions[3..].iter().zip([
        "Some resources are remaining: configmaps. has 1 resource instances",
        "Some content in the namespace has finalizers remaining: demo.dev/hold in 1 resource instances",
    ]) {
        assert_eq!(condition["message"], expected);
    }
    let remove_finalizer = json!({ "metadata": { "finalizers": null } });
    server
        .patch(
            &format!("{maps}/held"),
            "application/merge-patch+json",
            remove_finalizer,
        )
        .await
        .expect(200);
    server.wait_for_status("/api/v1/namespaces/shop", 404).await;
    let rejected = server
        .request("DELETE", "/api/v1/namespaces/default", None)
        .await
        .expect(403);
    assert_eq!(
        rejected["message"],
        r#"namespaces "default" is forbidden: this namespace may not be deleted"#
    );
}

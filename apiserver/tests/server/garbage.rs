//! What goes with its owner and with its namespace.

use crate::client::{FOOS, MAPS, World, foo, map};
use serde_json::{Value, json};

async fn owned(world: &World, name: &str, owner: &Value) {
    let mut object = map(name);
    object["metadata"]["ownerReferences"] = json!([{
        "apiVersion": "demo.dev/v1", "kind": "Foo", "name": owner["metadata"]["name"], "uid": owner["metadata"]["uid"],
        "controller": true, "blockOwnerDeletion": true,
    }]);
    world.create(MAPS, object).await;
}

#[tokio::test]
async fn what_is_owned_goes_after_its_owner() {
    let world = World::start().await;
    world.define_foo().await;
    let owner = world.create(FOOS, foo("a", json!({}))).await;
    owned(&world, "child", &owner).await;
    world.create(MAPS, map("free")).await;
    world.ask("DELETE", &format!("{FOOS}/a"), None).await.expect(200);
    world.until(&format!("{MAPS}/child"), 404).await;
    world.get(&format!("{MAPS}/free")).await.expect(200);
}

#[tokio::test]
async fn an_owner_in_the_foreground_goes_last() {
    let world = World::start().await;
    world.define_foo().await;
    let owner = world.create(FOOS, foo("a", json!({}))).await;
    owned(&world, "child", &owner).await;
    let hold = json!({ "metadata": { "finalizers": ["demo.dev/hold"] } });
    let child = format!("{MAPS}/child");
    world
        .patch(&child, "application/merge-patch+json", hold)
        .await
        .expect(200);
    let options = json!({ "propagationPolicy": "Foreground" });
    let marked = world
        .ask("DELETE", &format!("{FOOS}/a"), Some(options))
        .await
        .expect(200);
    assert_eq!(marked["metadata"]["finalizers"], json!(["foregroundDeletion"]));
    // The child is asked to go, and holds its owner as long as it stays.
    while world.get(&child).await.expect(200)["metadata"]["deletionTimestamp"].is_null() {
        tokio::task::yield_now().await;
    }
    world.get(&format!("{FOOS}/a")).await.expect(200);
    let release = json!({ "metadata": { "finalizers": null } });
    world
        .patch(&child, "application/merge-patch+json", release)
        .await
        .expect(200);
    world.until(&format!("{FOOS}/a"), 404).await;
}

#[tokio::test]
async fn orphans_stay() {
    let world = World::start().await;
    world.define_foo().await;
    let owner = world.create(FOOS, foo("a", json!({}))).await;
    owned(&world, "child", &owner).await;
    world
        .ask("DELETE", &format!("{FOOS}/a?propagationPolicy=Orphan"), None)
        .await
        .expect(200);
    world.until(&format!("{FOOS}/a"), 404).await;
    let child = world.get(&format!("{MAPS}/child")).await.expect(200);
    assert_eq!(child["metadata"]["ownerReferences"], Value::Null);
}

#[tokio::test]
async fn a_namespace_takes_everything_along() {
    let world = World::start().await;
    world
        .create("/api/v1/namespaces", json!({ "metadata": { "name": "shop" } }))
        .await;
    let maps = "/api/v1/namespaces/shop/configmaps";
    let mut held = map("held");
    held["metadata"]["finalizers"] = json!(["demo.dev/hold"]);
    world.create(maps, held).await;
    world.create(maps, map("free")).await;
    let marked = world
        .ask("DELETE", "/api/v1/namespaces/shop", None)
        .await
        .expect(200);
    assert_eq!(marked["status"]["phase"], "Terminating");
    world.until(&format!("{maps}/free"), 404).await;
    let refused = world.ask("POST", maps, Some(map("new"))).await.expect(403);
    assert_eq!(refused["details"]["causes"][0]["reason"], "NamespaceTerminating");
    let conditions = loop {
        let namespace = world.get("/api/v1/namespaces/shop").await.expect(200);
        if let Some(conditions) = namespace["status"]["conditions"].as_array() {
            break conditions.clone();
        }
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    };
    // The real server's words: the core group has its dot, too.
    for (condition, expected) in conditions[3..].iter().zip([
        "Some resources are remaining: configmaps. has 1 resource instances",
        "Some content in the namespace has finalizers remaining: demo.dev/hold in 1 resource instances",
    ]) {
        assert_eq!(condition["message"], expected);
    }
    let release = json!({ "metadata": { "finalizers": null } });
    world
        .patch(&format!("{maps}/held"), "application/merge-patch+json", release)
        .await
        .expect(200);
    world.until("/api/v1/namespaces/shop", 404).await;
    let refused = world
        .ask("DELETE", "/api/v1/namespaces/default", None)
        .await
        .expect(403);
    assert_eq!(
        refused["message"],
        r#"namespaces "default" is forbidden: this namespace may not be deleted"#
    );
}

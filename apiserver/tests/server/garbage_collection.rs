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

const JOBS: &str = "/apis/batch/v1/namespaces/default/jobs";
const CRON_JOBS: &str = "/apis/batch/v1/namespaces/default/cronjobs";
const PODS: &str = "/api/v1/namespaces/default/pods";
const CONTROLLERS: &str = "/api/v1/namespaces/default/replicationcontrollers";
const MERGE_PATCH: &str = "application/merge-patch+json";

fn owned_by(mut object: Value, owner: &Value, api_version: &str, kind: &str) -> Value {
    object["metadata"]["ownerReferences"] = json!([{
        "apiVersion": api_version, "kind": kind, "name": owner["metadata"]["name"], "uid": owner["metadata"]["uid"],
        "controller": true, "blockOwnerDeletion": true,
    }]);
    object
}

fn pod_template() -> Value {
    json!({
        "metadata": { "labels": { "app": "a" } },
        "spec": { "restartPolicy": "Never", "containers": [{ "name": "c", "image": "i" }] },
    })
}

fn pod(name: &str) -> Value {
    json!({ "metadata": { "name": name }, "spec": pod_template()["spec"] })
}

fn job(name: &str) -> Value {
    json!({ "metadata": { "name": name }, "spec": { "template": pod_template() } })
}

fn controller(name: &str) -> Value {
    let mut template = pod_template();
    template["spec"]["restartPolicy"] = json!("Always");
    json!({ "metadata": { "name": name }, "spec": { "selector": { "app": "a" }, "template": template } })
}

#[tokio::test]
async fn chain_of_cron_job_job_and_pod_is_collected() {
    let server = TestServer::start().await;
    let schedule =
        json!({ "schedule": "* * * * *", "jobTemplate": { "spec": { "template": pod_template() } } });
    let cron_job = json!({ "metadata": { "name": "a" }, "spec": schedule });
    for policy in [
        "",
        "?propagationPolicy=Background",
        "?propagationPolicy=Foreground",
    ] {
        let owner = server.create(CRON_JOBS, cron_job.clone()).await;
        let middle = owned_by(job("b"), &owner, "batch/v1", "CronJob");
        let middle = server.create(JOBS, middle).await;
        let last = owned_by(pod("c"), &middle, "batch/v1", "Job");
        server.create(PODS, last).await;
        server
            .request("DELETE", &format!("{CRON_JOBS}/a{policy}"), None)
            .await
            .expect(200);
        for path in [format!("{CRON_JOBS}/a"), format!("{JOBS}/b"), format!("{PODS}/c")] {
            server.wait_for_status(&path, 404).await;
        }
    }
}

#[tokio::test]
async fn collected_dependents_of_every_kind_are_deleted_in_the_background_or_as_their_finalizers_say() {
    let server = TestServer::start().await;
    server.define_foo().await;
    let replica_sets = "/apis/apps/v1/namespaces/default/replicasets";
    let mut replica_set = controller("b");
    replica_set["spec"]["selector"] = json!({ "matchLabels": { "app": "a" } });
    for (path, object, api_version, kind) in [
        (JOBS, job("b"), "batch/v1", "Job"),
        (CONTROLLERS, controller("b"), "v1", "ReplicationController"),
        (replica_sets, replica_set, "apps/v1", "ReplicaSet"),
        (CONFIG_MAPS, config_map("b"), "v1", "ConfigMap"),
        (FOOS, foo("b", json!({})), "demo.dev/v1", "Foo"),
    ] {
        for finalizer in [None, Some("orphan"), Some("foregroundDeletion")] {
            let owner = server.create(CONFIG_MAPS, config_map("a")).await;
            let mut middle = owned_by(object.clone(), &owner, "v1", "ConfigMap");
            middle["metadata"]["finalizers"] = json!(finalizer.as_slice());
            let middle = server.create(path, middle).await;
            let last = owned_by(pod("c"), &middle, api_version, kind);
            server.create(PODS, last).await;
            server
                .request("DELETE", &format!("{CONFIG_MAPS}/a"), None)
                .await
                .expect(200);
            server.wait_for_status(&format!("{path}/b"), 404).await;
            let pod = format!("{PODS}/c");
            if finalizer == Some("orphan") {
                let orphan = server.get(&pod).await.expect(200);
                assert_eq!(orphan["metadata"]["ownerReferences"], Value::Null, "{kind}");
                server.request("DELETE", &pod, None).await.expect(200);
            }
            server.wait_for_status(&pod, 404).await;
        }
    }
}

#[tokio::test]
async fn cycle_of_owners_is_deleted_in_the_foreground() {
    let server = TestServer::start().await;
    let first = server.create(CONFIG_MAPS, config_map("a")).await;
    let second = owned_by(config_map("b"), &first, "v1", "ConfigMap");
    let second = server.create(CONFIG_MAPS, second).await;
    let references = &owned_by(json!({}), &second, "v1", "ConfigMap")["metadata"]["ownerReferences"];
    let first = format!("{CONFIG_MAPS}/a");
    server
        .patch(
            &first,
            MERGE_PATCH,
            json!({ "metadata": { "ownerReferences": references } }),
        )
        .await
        .expect(200);
    server
        .request("DELETE", &format!("{first}?propagationPolicy=Foreground"), None)
        .await
        .expect(200);
    server.wait_for_status(&first, 404).await;
    server.wait_for_status(&format!("{CONFIG_MAPS}/b"), 404).await;
}

#[tokio::test]
async fn cluster_scoped_dependent_of_a_namespaced_owner_is_left_alone() {
    let server = TestServer::start().await;
    let owner = server.create(CONFIG_MAPS, config_map("a")).await;
    let roles = "/apis/rbac.authorization.k8s.io/v1/clusterroles";
    let role = json!({ "metadata": { "name": "b" }, "rules": [] });
    let role = owned_by(role, &owner, "v1", "ConfigMap");
    let role = server.create(roles, role).await;
    create_namespaced_dependent(&server, "c", &owner).await;
    server
        .request("DELETE", &format!("{CONFIG_MAPS}/a"), None)
        .await
        .expect(200);
    server.wait_for_status(&format!("{CONFIG_MAPS}/c"), 404).await;
    let after = server.get(&format!("{roles}/b")).await.expect(200);
    assert_eq!(after["metadata"], role["metadata"]);
}

async fn create_namespaced_dependent(server: &TestServer, name: &str, owner: &Value) {
    let object = owned_by(config_map(name), owner, "v1", "ConfigMap");
    server.create(CONFIG_MAPS, object).await;
}

#[tokio::test]
async fn dependent_of_an_absent_owner_is_collected_when_the_kind_is_served() {
    let server = TestServer::start().await;
    let absent = json!({ "metadata": { "name": "a", "uid": "0d1b9f8e-0000-4000-8000-000000000000" } });
    let mut dangling = owned_by(config_map("b"), &absent, "demo.dev/v1", "Foo");
    // A blocking reference to a kind that is not served is refused.
    dangling["metadata"]["ownerReferences"][0]["blockOwnerDeletion"] = json!(false);
    let dangling = server.create(CONFIG_MAPS, dangling).await;
    let gone = server.create(CONFIG_MAPS, config_map("gone")).await;
    create_namespaced_dependent(&server, "collected", &gone).await;
    server
        .request("DELETE", &format!("{CONFIG_MAPS}/gone"), None)
        .await
        .expect(200);
    server
        .wait_for_status(&format!("{CONFIG_MAPS}/collected"), 404)
        .await;
    let path = format!("{CONFIG_MAPS}/b");
    assert_eq!(server.get(&path).await.expect(200), dangling);
    server.define_foo().await;
    server.wait_for_status(&path, 404).await;
}

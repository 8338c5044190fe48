//! Create, get, list, update, patch and delete.

use crate::client::{CONFIG_MAPS, FOOS, TestServer, config_map, foo};
use serde_json::{Value, json};

const MERGE_PATCH: &str = "application/merge-patch+json";
const APPLY_PATCH: &str = "application/apply-patch+yaml";

#[tokio::test]
async fn object_is_created_updated_and_deleted() {
    let server = TestServer::start().await;
    let created = server.create(CONFIG_MAPS, config_map("a")).await;
    assert_eq!(created["metadata"]["uid"].as_str().unwrap().len(), 36);
    let again = server
        .request("POST", CONFIG_MAPS, Some(config_map("a")))
        .await
        .expect(409);
    assert_eq!(again["message"], r#"configmaps "a" already exists"#);
    let one = format!("{CONFIG_MAPS}/a");
    let mut changed = created.clone();
    changed["data"] = json!({ "k": "v" });
    let updated = server
        .request("PUT", &one, Some(changed.clone()))
        .await
        .expect(200);
    assert_ne!(
        updated["metadata"]["resourceVersion"],
        created["metadata"]["resourceVersion"]
    );
    let stale = server.request("PUT", &one, Some(changed)).await.expect(409);
    assert_eq!(
        stale["message"],
        "Operation cannot be fulfilled on configmaps \"a\": the object has been modified; please apply your changes to the latest \
         version and try again"
    );
    let unchanged = server
        .request("PUT", &one, Some(updated.clone()))
        .await
        .expect(200);
    assert_eq!(
        unchanged["metadata"]["resourceVersion"],
        updated["metadata"]["resourceVersion"]
    );
    let deleted = server.request("DELETE", &one, None).await.expect(200);
    assert_eq!(
        (&deleted["status"], &deleted["details"]["uid"]),
        (&json!("Success"), &created["metadata"]["uid"])
    );
    assert_eq!(server.get(&one).await.expect(404)["reason"], "NotFound");
}

#[tokio::test]
async fn dry_run_stores_nothing() {
    let server = TestServer::start().await;
    server
        .request(
            "POST",
            &format!("{CONFIG_MAPS}?dryRun=All"),
            Some(config_map("a")),
        )
        .await
        .expect(201);
    server.get(&format!("{CONFIG_MAPS}/a")).await.expect(404);
    let created = server.create(CONFIG_MAPS, config_map("b")).await;
    let path = format!("{CONFIG_MAPS}/b?dryRun=All");
    let patched = server
        .patch(&path, MERGE_PATCH, json!({ "data": { "k": "v" } }))
        .await
        .expect(200);
    assert_eq!(patched["data"]["k"], "v");
    server.request("DELETE", &path, None).await.expect(200);
    let after = server.get(&format!("{CONFIG_MAPS}/b")).await.expect(200);
    assert_eq!(
        after["metadata"]["resourceVersion"],
        created["metadata"]["resourceVersion"]
    );
}

#[tokio::test]
async fn names_are_generated_and_validated() {
    let server = TestServer::start().await;
    let generated = server
        .create(CONFIG_MAPS, json!({ "metadata": { "generateName": "a-" } }))
        .await;
    assert!(generated["metadata"]["name"].as_str().unwrap().starts_with("a-"));
    for bad in ["A", "a_b", "a/b", "..", "a\u{0}", &"a".repeat(254)] {
        let rejected = server.request("POST", CONFIG_MAPS, Some(config_map(bad))).await;
        assert_eq!(rejected.code, 422, "{bad:?}: {}", rejected.text);
    }
    let elsewhere = "/api/v1/namespaces/nowhere/configmaps";
    let rejected = server
        .request("POST", elsewhere, Some(config_map("a")))
        .await
        .expect(404);
    assert_eq!(rejected["message"], r#"namespaces "nowhere" not found"#);
}

#[tokio::test]
async fn status_and_spec_are_written_separately() {
    let server = TestServer::start().await;
    server.define_foo().await;
    let mut new = foo("a", json!({ "replicas": 2 }));
    new["status"] = json!({ "replicas": 9 });
    let created = server.create(FOOS, new).await;
    assert_eq!(
        (&created["status"], &created["metadata"]["generation"]),
        (&Value::Null, &json!(1))
    );
    let path = format!("{FOOS}/a/status");
    let both = json!({ "spec": { "replicas": 7 }, "status": { "replicas": 2 } });
    let after_status_patch = server.patch(&path, MERGE_PATCH, both).await.expect(200);
    assert_eq!(
        (
            &after_status_patch["spec"]["replicas"],
            &after_status_patch["status"]["replicas"]
        ),
        (&json!(2), &json!(2))
    );
    assert_eq!(after_status_patch["metadata"]["generation"], 1);
    let both = json!({ "spec": { "replicas": 7 }, "status": { "replicas": 7 } });
    let after_spec_patch = server
        .patch(&format!("{FOOS}/a"), MERGE_PATCH, both)
        .await
        .expect(200);
    assert_eq!(
        (
            &after_spec_patch["spec"]["replicas"],
            &after_spec_patch["status"]["replicas"]
        ),
        (&json!(7), &json!(2))
    );
    assert_eq!(after_spec_patch["metadata"]["generation"], 2);
    let scale = server.get(&format!("{FOOS}/a/scale")).await.expect(200);
    assert_eq!(
        (&scale["spec"]["replicas"], &scale["status"]["replicas"]),
        (&json!(7), &json!(2))
    );
}

#[tokio::test]
async fn finalizers_block_deletion() {
    let server = TestServer::start().await;
    let mut object = config_map("a");
    object["metadata"]["finalizers"] = json!(["demo.dev/hold"]);
    server.create(CONFIG_MAPS, object).await;
    let path = format!("{CONFIG_MAPS}/a");
    let deleted = server.request("DELETE", &path, None).await.expect(200);
    assert!(deleted["metadata"]["deletionTimestamp"].is_string());
    let more = json!({ "metadata": { "finalizers": ["demo.dev/hold", "demo.dev/more"] } });
    server.patch(&path, MERGE_PATCH, more).await.expect(422);
    server
        .patch(&path, MERGE_PATCH, json!({ "metadata": { "finalizers": null } }))
        .await
        .expect(200);
    server.get(&path).await.expect(404);
}

#[tokio::test]
async fn pages_of_a_list_are_one_snapshot() {
    let server = TestServer::start().await;
    for name in ["a", "b", "c", "d"] {
        server.create(CONFIG_MAPS, config_map(name)).await;
    }
    let first = server.get(&format!("{CONFIG_MAPS}?limit=2")).await.expect(200);
    assert_eq!(first["metadata"]["remainingItemCount"], 2);
    server
        .request("DELETE", &format!("{CONFIG_MAPS}/c"), None)
        .await
        .expect(200);
    server.create(CONFIG_MAPS, config_map("e")).await;
    let token = first["metadata"]["continue"].as_str().unwrap();
    let rest = server
        .get(&format!("{CONFIG_MAPS}?limit=5&continue={token}"))
        .await
        .expect(200);
    let names: Vec<_> = rest["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| &item["metadata"]["name"])
        .collect();
    assert_eq!(names, ["c", "d"]);
    assert_eq!(
        rest["metadata"]["resourceVersion"],
        first["metadata"]["resourceVersion"]
    );
    server.api.registry().store.compact();
    server.create(CONFIG_MAPS, config_map("f")).await;
    let expired = server
        .get(&format!("{CONFIG_MAPS}?limit=5&continue={token}"))
        .await
        .expect(410);
    let token = expired["metadata"]["continue"].as_str().unwrap();
    let rest = server
        .get(&format!("{CONFIG_MAPS}?continue={token}"))
        .await
        .expect(200);
    assert_eq!(rest["items"].as_array().unwrap().len(), 3);
}

#[tokio::test]
async fn lists_honor_selectors_and_the_accept_header() {
    let server = TestServer::start().await;
    server.define_foo().await;
    for (name, color) in [("a", "red"), ("b", "blue")] {
        server.create(FOOS, foo(name, json!({ "color": color }))).await;
    }
    let names = |list: Value| -> Vec<String> {
        let items = list["items"].as_array().unwrap().clone();
        items
            .iter()
            .map(|item| item["metadata"]["name"].as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(
        names(
            server
                .get(&format!("{FOOS}?fieldSelector=spec.color%3Dred"))
                .await
                .expect(200)
        ),
        ["a"]
    );
    assert_eq!(
        names(
            server
                .get(&format!("{FOOS}?fieldSelector=metadata.name%21%3Da"))
                .await
                .expect(200)
        ),
        ["b"]
    );
    let other = "/apis/demo.dev/v1beta1/namespaces/default/foos/a";
    assert_eq!(
        server.get(other).await.expect(200)["apiVersion"],
        "demo.dev/v1beta1"
    );
    let token = server.api.admin_token();
    let accept = ("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io");
    let table = server.send(token, "GET", FOOS, &[accept], b"").await.expect(200);
    assert_eq!(table["rows"][0]["cells"], json!(["a", 1]));
    let accept = (
        "Accept",
        "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io",
    );
    let partial = server.send(token, "GET", FOOS, &[accept], b"").await.expect(200);
    assert_eq!(
        (&partial["kind"], &partial["items"][0]["spec"]),
        (&json!("PartialObjectMetadataList"), &Value::Null)
    );
    let yaml = server
        .send(
            token,
            "GET",
            &format!("{FOOS}/a"),
            &[("Accept", "application/yaml")],
            b"",
        )
        .await;
    assert!(yaml.text.contains("color: red"), "{}", yaml.text);
}

#[tokio::test]
async fn apply_creates_and_conflicts_on_owned_fields() {
    let server = TestServer::start().await;
    let apply = |manager: &str, value: &str| {
        let path = format!("{CONFIG_MAPS}/a?fieldManager={manager}");
        let config = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "a" }, "data": { "k": value } });
        (path, config)
    };
    let (path, config) = apply("me", "1");
    server.patch(&path, APPLY_PATCH, config).await.expect(201);
    let (path, config) = apply("you", "2");
    let conflict = server.patch(&path, APPLY_PATCH, config.clone()).await.expect(409);
    assert_eq!(conflict["details"]["causes"][0]["field"], ".data.k");
    let taken = server
        .patch(&format!("{path}&force=true"), APPLY_PATCH, config)
        .await
        .expect(200);
    assert_eq!(taken["data"]["k"], "2");
    let managers = taken["metadata"]["managedFields"]
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| &entry["manager"]);
    assert_eq!(managers.collect::<Vec<_>>(), ["you"]);
}

/// As on the real server; the target port is the server's own.
#[tokio::test]
async fn service_kubernetes_points_to_the_server() {
    let server = TestServer::start().await;
    let path = "/api/v1/namespaces/default/services/kubernetes";
    let service = server.get(path).await.expect(200);
    assert_eq!(service["spec"]["clusterIP"], "10.0.0.1");
    let port = &service["spec"]["ports"][0];
    assert_eq!(
        (&port["port"], &port["targetPort"]),
        (&json!(443), &json!(server.api.address().port()))
    );
    assert_eq!(
        service["metadata"]["managedFields"][0]["manager"],
        "kube-apiserver"
    );
}

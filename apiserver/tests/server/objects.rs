//! Objects: created, read, listed, changed, deleted.

use crate::client::{FOOS, MAPS, World, foo, map};
use serde_json::{Value, json};

const MERGE: &str = "application/merge-patch+json";

#[tokio::test]
async fn an_object_lives_and_goes() {
    let world = World::start().await;
    let created = world.create(MAPS, map("a")).await;
    assert_eq!(created["metadata"]["uid"].as_str().unwrap().len(), 36);
    let again = world.ask("POST", MAPS, Some(map("a"))).await.expect(409);
    assert_eq!(again["message"], r#"configmaps "a" already exists"#);
    let one = format!("{MAPS}/a");
    let mut changed = created.clone();
    changed["data"] = json!({ "k": "v" });
    let updated = world.ask("PUT", &one, Some(changed.clone())).await.expect(200);
    assert_ne!(
        updated["metadata"]["resourceVersion"],
        created["metadata"]["resourceVersion"]
    );
    let stale = world.ask("PUT", &one, Some(changed)).await.expect(409);
    assert_eq!(
        stale["message"],
        "Operation cannot be fulfilled on configmaps \"a\": the object has been modified; please apply your changes to the latest \
         version and try again"
    );
    let same = world.ask("PUT", &one, Some(updated.clone())).await.expect(200);
    assert_eq!(
        same["metadata"]["resourceVersion"],
        updated["metadata"]["resourceVersion"]
    );
    let gone = world.ask("DELETE", &one, None).await.expect(200);
    assert_eq!(
        (&gone["status"], &gone["details"]["uid"]),
        (&json!("Success"), &created["metadata"]["uid"])
    );
    assert_eq!(world.get(&one).await.expect(404)["reason"], "NotFound");
}

#[tokio::test]
async fn a_dry_run_keeps_nothing() {
    let world = World::start().await;
    world
        .ask("POST", &format!("{MAPS}?dryRun=All"), Some(map("a")))
        .await
        .expect(201);
    world.get(&format!("{MAPS}/a")).await.expect(404);
    let kept = world.create(MAPS, map("b")).await;
    let path = format!("{MAPS}/b?dryRun=All");
    let patched = world
        .patch(&path, MERGE, json!({ "data": { "k": "v" } }))
        .await
        .expect(200);
    assert_eq!(patched["data"]["k"], "v");
    world.ask("DELETE", &path, None).await.expect(200);
    let still = world.get(&format!("{MAPS}/b")).await.expect(200);
    assert_eq!(
        still["metadata"]["resourceVersion"],
        kept["metadata"]["resourceVersion"]
    );
}

#[tokio::test]
async fn names_are_generated_and_checked() {
    let world = World::start().await;
    let generated = world
        .create(MAPS, json!({ "metadata": { "generateName": "a-" } }))
        .await;
    assert!(generated["metadata"]["name"].as_str().unwrap().starts_with("a-"));
    for bad in ["A", "a_b", "a/b", "..", "a\u{0}", &"a".repeat(254)] {
        let refused = world.ask("POST", MAPS, Some(map(bad))).await;
        assert_eq!(refused.code, 422, "{bad:?}: {}", refused.text);
    }
    let elsewhere = "/api/v1/namespaces/nowhere/configmaps";
    let refused = world.ask("POST", elsewhere, Some(map("a"))).await.expect(404);
    assert_eq!(refused["message"], r#"namespaces "nowhere" not found"#);
}

#[tokio::test]
async fn status_and_specification_are_written_apart() {
    let world = World::start().await;
    world.define_foo().await;
    let mut new = foo("a", json!({ "replicas": 2 }));
    new["status"] = json!({ "replicas": 9 });
    let created = world.create(FOOS, new).await;
    assert_eq!(
        (&created["status"], &created["metadata"]["generation"]),
        (&Value::Null, &json!(1))
    );
    let path = format!("{FOOS}/a/status");
    let both = json!({ "spec": { "replicas": 7 }, "status": { "replicas": 2 } });
    let told = world.patch(&path, MERGE, both).await.expect(200);
    assert_eq!(
        (&told["spec"]["replicas"], &told["status"]["replicas"]),
        (&json!(2), &json!(2))
    );
    assert_eq!(told["metadata"]["generation"], 1);
    let both = json!({ "spec": { "replicas": 7 }, "status": { "replicas": 7 } });
    let wanted = world.patch(&format!("{FOOS}/a"), MERGE, both).await.expect(200);
    assert_eq!(
        (&wanted["spec"]["replicas"], &wanted["status"]["replicas"]),
        (&json!(7), &json!(2))
    );
    assert_eq!(wanted["metadata"]["generation"], 2);
    let scale = world.get(&format!("{FOOS}/a/scale")).await.expect(200);
    assert_eq!(
        (&scale["spec"]["replicas"], &scale["status"]["replicas"]),
        (&json!(7), &json!(2))
    );
}

#[tokio::test]
async fn finalizers_hold_an_object() {
    let world = World::start().await;
    let mut held = map("a");
    held["metadata"]["finalizers"] = json!(["demo.dev/hold"]);
    world.create(MAPS, held).await;
    let path = format!("{MAPS}/a");
    let marked = world.ask("DELETE", &path, None).await.expect(200);
    assert!(marked["metadata"]["deletionTimestamp"].is_string());
    let more = json!({ "metadata": { "finalizers": ["demo.dev/hold", "demo.dev/more"] } });
    world.patch(&path, MERGE, more).await.expect(422);
    world
        .patch(&path, MERGE, json!({ "metadata": { "finalizers": null } }))
        .await
        .expect(200);
    world.get(&path).await.expect(404);
}

#[tokio::test]
async fn pages_are_of_one_moment() {
    let world = World::start().await;
    for name in ["a", "b", "c", "d"] {
        world.create(MAPS, map(name)).await;
    }
    let first = world.get(&format!("{MAPS}?limit=2")).await.expect(200);
    assert_eq!(first["metadata"]["remainingItemCount"], 2);
    world.ask("DELETE", &format!("{MAPS}/c"), None).await.expect(200);
    world.create(MAPS, map("e")).await;
    let token = first["metadata"]["continue"].as_str().unwrap();
    let rest = world
        .get(&format!("{MAPS}?limit=5&continue={token}"))
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
    world.server.registry().store.compact();
    world.create(MAPS, map("f")).await;
    let expired = world
        .get(&format!("{MAPS}?limit=5&continue={token}"))
        .await
        .expect(410);
    let token = expired["metadata"]["continue"].as_str().unwrap();
    let rest = world.get(&format!("{MAPS}?continue={token}")).await.expect(200);
    assert_eq!(rest["items"].as_array().unwrap().len(), 3);
}

#[tokio::test]
async fn lists_select_and_show_what_is_asked_for() {
    let world = World::start().await;
    world.define_foo().await;
    for (name, color) in [("a", "red"), ("b", "blue")] {
        world.create(FOOS, foo(name, json!({ "color": color }))).await;
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
            world
                .get(&format!("{FOOS}?fieldSelector=spec.color%3Dred"))
                .await
                .expect(200)
        ),
        ["a"]
    );
    assert_eq!(
        names(
            world
                .get(&format!("{FOOS}?fieldSelector=metadata.name%21%3Da"))
                .await
                .expect(200)
        ),
        ["b"]
    );
    let other = "/apis/demo.dev/v1beta1/namespaces/default/foos/a";
    assert_eq!(
        world.get(other).await.expect(200)["apiVersion"],
        "demo.dev/v1beta1"
    );
    let token = world.server.admin_token();
    let accept = ("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io");
    let table = world.send(token, "GET", FOOS, &[accept], b"").await.expect(200);
    assert_eq!(table["rows"][0]["cells"], json!(["a", 1]));
    let accept = (
        "Accept",
        "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io",
    );
    let partial = world.send(token, "GET", FOOS, &[accept], b"").await.expect(200);
    assert_eq!(
        (&partial["kind"], &partial["items"][0]["spec"]),
        (&json!("PartialObjectMetadataList"), &Value::Null)
    );
    let yaml = world
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
async fn apply_creates_and_guards_what_it_owns() {
    let world = World::start().await;
    let apply = |manager: &str, value: &str| {
        let path = format!("{MAPS}/a?fieldManager={manager}");
        let config = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "a" }, "data": { "k": value } });
        (path, config)
    };
    let way = "application/apply-patch+yaml";
    let (path, config) = apply("me", "1");
    world.patch(&path, way, config).await.expect(201);
    let (path, config) = apply("you", "2");
    let conflict = world.patch(&path, way, config.clone()).await.expect(409);
    assert_eq!(conflict["details"]["causes"][0]["field"], ".data.k");
    let taken = world
        .patch(&format!("{path}&force=true"), way, config)
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

/// As on a real server; where it is reached by pods follows from where it listens.
#[tokio::test]
async fn the_server_has_a_service_of_its_own() {
    let world = World::start().await;
    let path = "/api/v1/namespaces/default/services/kubernetes";
    let service = world.get(path).await.expect(200);
    assert_eq!(service["spec"]["clusterIP"], "10.0.0.1");
    let port = &service["spec"]["ports"][0];
    assert_eq!(
        (&port["port"], &port["targetPort"]),
        (&json!(443), &json!(world.server.address().port()))
    );
    assert_eq!(
        service["metadata"]["managedFields"][0]["manager"],
        "kube-apiserver"
    );
}

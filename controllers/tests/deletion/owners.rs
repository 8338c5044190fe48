//! Deleted owners and their dependents.

use serde_json::{Value, json};

use crate::scenario::{Collector, Scenario, config_map, namespace, object};

pub(crate) const COLLECTOR: &str = "garbagecollector";

for_both_collectors!(
    dependents_of_a_deleted_owner_are_deleted_down_to_the_last,
    object_lives_while_one_owner_does_and_loses_the_references_to_others,
    foreground_deletion_waits_for_the_dependents_that_block_it,
    circle_of_owners_is_deleted_in_the_foreground,
    orphaned_dependents_stay_without_their_owner,
    namespace_with_owners_in_the_foreground_is_deleted,
);

async fn start(collector: Collector) -> Scenario {
    let scenario = Scenario::start(collector, COLLECTOR).await;
    scenario.cluster.create_namespace("shop").unwrap();
    scenario
}

/// A ConfigMap with these owners, of kind ConfigMap if they say nothing else.
pub(crate) fn owned(name: &str, owners: &[&Value]) -> Value {
    let mut object = config_map(name);
    object["metadata"]["ownerReferences"] = owners.iter().map(|owner| reference(owner)).collect();
    object
}

pub(crate) fn reference(owner: &Value) -> Value {
    json!({
        "apiVersion": owner["apiVersion"], "kind": owner["kind"],
        "name": owner["metadata"]["name"], "uid": owner["metadata"]["uid"], "blockOwnerDeletion": true,
    })
}

pub(crate) fn owner_names(object: &Value) -> Vec<&str> {
    let owners = object["metadata"]["ownerReferences"].as_array();
    let owners = owners.into_iter().flatten();
    owners.map(|owner| owner["name"].as_str().unwrap()).collect()
}

async fn dependents_of_a_deleted_owner_are_deleted_down_to_the_last(collector: Collector) {
    let scenario = start(collector).await;
    let root = scenario.apply(&config_map("root"));
    let child = scenario.apply(&owned("child", &[&root]));
    let grandchild = scenario.apply(&owned("grandchild", &[&child]));
    let other = scenario.apply(&config_map("other"));
    scenario.cluster.delete(&root).unwrap();
    for object in [&child, &grandchild] {
        scenario.gone(object).await;
    }
    assert!(scenario.cluster.get(&other).unwrap().is_some());
    scenario.assert_nothing_forbidden();
}

async fn object_lives_while_one_owner_does_and_loses_the_references_to_others(collector: Collector) {
    let scenario = start(collector).await;
    let (first, second) = (
        scenario.apply(&config_map("first")),
        scenario.apply(&config_map("second")),
    );
    let child = scenario.apply(&owned("child", &[&first, &second]));
    scenario.cluster.delete(&first).unwrap();
    let has_one = |child: &Value| owner_names(child) == ["second"];
    scenario.cluster.wait_until(&child, has_one).await;
    scenario.cluster.delete(&second).unwrap();
    scenario.gone(&child).await;
}

#[tokio::test]
async fn objects_whose_owners_never_existed_are_deleted_after_the_start() {
    let mut scenario = Scenario::without_controllers(COLLECTOR);
    scenario.cluster.create_namespace("shop").unwrap();
    let mut absent = config_map("absent");
    absent["metadata"]["uid"] = json!("6b0a2f0e-0f7b-4f5d-9d2c-111111111111");
    let mut unserved = absent.clone();
    (unserved["apiVersion"], unserved["kind"]) = (json!("demo.dev/v1"), json!("Gone"));
    let orphan = scenario.apply(&owned("orphan", &[&absent]));
    let undecided = scenario.apply(&owned("undecided", &[&unserved]));
    let kept = scenario.apply(&config_map("kept"));
    scenario.start_controllers().await;
    scenario.gone(&orphan).await;
    for object in [&kept, &undecided] {
        assert!(scenario.cluster.get(object).unwrap().is_some());
    }
}

async fn foreground_deletion_waits_for_the_dependents_that_block_it(collector: Collector) {
    let scenario = start(collector).await;
    let root = scenario.apply(&config_map("root"));
    let mut held = owned("held", &[&root]);
    held["metadata"]["finalizers"] = json!(["demo.dev/hold"]);
    let held = scenario.apply(&held);
    let free = scenario.apply(&owned("free", &[&root]));
    scenario.delete_with(&root, "Foreground");
    scenario.gone(&free).await;
    let is_deleting = |object: &Value| object["metadata"]["deletionTimestamp"].is_string();
    scenario.cluster.wait_until(&held, is_deleting).await;
    assert!(scenario.cluster.get(&root).unwrap().is_some());
    scenario
        .cluster
        .merge_patch(&held, &json!({"metadata": {"finalizers": null}}))
        .unwrap();
    scenario.gone(&root).await;
}

async fn circle_of_owners_is_deleted_in_the_foreground(collector: Collector) {
    let scenario = start(collector).await;
    let first = scenario.apply(&config_map("first"));
    let second = scenario.apply(&owned("second", &[&first]));
    let first = scenario.apply(&owned("first", &[&second]));
    scenario.delete_with(&first, "Foreground");
    scenario.gone(&first).await;
    scenario.gone(&second).await;
}

async fn orphaned_dependents_stay_without_their_owner(collector: Collector) {
    let scenario = start(collector).await;
    let root = scenario.apply(&config_map("root"));
    let other = scenario.apply(&config_map("other"));
    let child = scenario.apply(&owned("child", &[&root, &other]));
    scenario.delete_with(&root, "Orphan");
    scenario.gone(&root).await;
    let child = scenario.cluster.get(&child).unwrap().unwrap();
    assert_eq!(owner_names(&child), ["other"]);
}

#[tokio::test]
async fn custom_resources_are_collected_once_their_kind_is_served() {
    let mut scenario = Scenario::without_controllers(COLLECTOR);
    scenario.cluster.create_namespace("shop").unwrap();
    scenario.set_knobs(&json!({"garbagecollector.syncPeriod": "100ms"}));
    scenario.start_controllers().await;
    let schema = json!({"openAPIV3Schema": {"type": "object"}});
    let definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "foos.demo.dev"},
        "spec": {"group": "demo.dev", "scope": "Namespaced", "names": {"plural": "foos", "kind": "Foo"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": schema}]},
    });
    scenario.cluster.install_crd(&definition).unwrap();
    let mut foo = object("Foo", "shop", "root");
    foo["apiVersion"] = json!("demo.dev/v1");
    let root = scenario.apply(&foo);
    let keeper = scenario.apply(&config_map("keeper"));
    let mut child = foo.clone();
    child["metadata"]["name"] = json!("child");
    child["metadata"]["ownerReferences"] = json!([reference(&root), reference(&keeper)]);
    let child = scenario.apply(&child);
    scenario.cluster.delete(&root).unwrap();
    // A custom resource takes no strategic merge patch.
    let has_one = |child: &Value| owner_names(child) == ["keeper"];
    scenario.cluster.wait_until(&child, has_one).await;
    scenario.cluster.delete(&keeper).unwrap();
    scenario.gone(&child).await;
}

#[tokio::test]
async fn owner_in_another_namespace_does_not_count_and_is_reported() {
    let scenario = start(Collector::Controllers).await;
    scenario.cluster.create_namespace("other").unwrap();
    let far = scenario.apply(&object("ConfigMap", "other", "far"));
    let child = scenario.apply(&owned("child", &[&far]));
    scenario.gone(&child).await;
    assert!(scenario.cluster.get(&far).unwrap().is_some());
    event_about_the_namespace_of_an_owner(&scenario, "shop").await;
}

#[tokio::test]
async fn namespaced_owner_of_a_cluster_scoped_object_is_reported() {
    let scenario = start(Collector::Controllers).await;
    let root = scenario.apply(&config_map("root"));
    let other = scenario.apply(&config_map("other"));
    let child = scenario.apply(&owned("child", &[&other]));
    scenario.cluster.delete(&other).unwrap();
    // The cache that has the child has the root, too.
    scenario.gone(&child).await;
    let node = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "node", "ownerReferences": [reference(&root)]}});
    scenario.apply(&node);
    let event = event_about_the_namespace_of_an_owner(&scenario, "default").await;
    assert_eq!(
        (&event["regarding"]["kind"], &event["regarding"]["name"]),
        (&json!("Node"), &json!("node"))
    );
    let uid = root["metadata"]["uid"].as_str().unwrap();
    assert_eq!(
        event["note"],
        format!(
            "ownerRef [v1/ConfigMap, namespace: , name: root, uid: {uid}] does not exist in namespace \"\""
        )
    );
    scenario.assert_nothing_forbidden();
}

async fn event_about_the_namespace_of_an_owner(scenario: &Scenario, namespace: &str) -> Value {
    let any = json!({"apiVersion": "events.k8s.io/v1", "kind": "Event", "metadata": {"namespace": namespace, "name": "any"}});
    for _ in 0..1000 {
        let events = scenario.cluster.list(&any).unwrap();
        let mut events = events.into_iter();
        if let Some(event) = events.find(|event| event["reason"] == "OwnerRefInvalidNamespace") {
            return event;
        }
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    panic!("no event about the owner in another namespace");
}

async fn namespace_with_owners_in_the_foreground_is_deleted(collector: Collector) {
    let scenario = Scenario::start(collector, "namespace,garbagecollector").await;
    scenario.cluster.create_namespace("shop").unwrap();
    let root = scenario.apply(&config_map("root"));
    scenario.apply(&owned("child", &[&root]));
    scenario.delete_with(&root, "Foreground");
    scenario.cluster.delete(&namespace("shop")).unwrap();
    scenario.gone(&namespace("shop")).await;
}

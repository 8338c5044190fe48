//! Deleted namespaces.

use serde_json::{Value, json};

use crate::scenario::{Collector, Scenario, config_map, namespace, object, pod};

for_both_collectors!(
    namespace_is_gone_with_all_that_it_contains,
    pods_go_first_and_finalizers_are_named_in_the_conditions,
    foreign_finalizers_of_the_namespace_stay,
);

async fn namespace_is_gone_with_all_that_it_contains(collector: Collector) {
    let scenario = Scenario::start(collector, "namespace").await;
    scenario.cluster.create_namespace("shop").unwrap();
    let deployment = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"namespace": "shop", "name": "web"}, "spec": {
        "selector": {"matchLabels": {"app": "web"}},
        "template": {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "main", "image": "busybox"}]}}}});
    let content = [
        config_map("a"),
        config_map("b"),
        object("Secret", "shop", "s"),
        deployment,
        pod("p"),
    ];
    for object in &content {
        scenario.apply(object);
    }
    let kept = object("ConfigMap", "default", "kept");
    scenario.apply(&kept);
    scenario.cluster.delete(&namespace("shop")).unwrap();
    scenario.gone(&namespace("shop")).await;
    for object in &content {
        assert!(scenario.cluster.get(object).unwrap().is_none(), "{object}");
    }
    assert!(scenario.cluster.get(&kept).unwrap().is_some());
    scenario.assert_nothing_forbidden();
}

async fn pods_go_first_and_finalizers_are_named_in_the_conditions(collector: Collector) {
    let scenario = Scenario::start(collector, "namespace").await;
    scenario.cluster.create_namespace("shop").unwrap();
    let mut held_pod = pod("held");
    held_pod["metadata"]["finalizers"] = json!(["demo.dev/hold"]);
    let mut held_map = config_map("held");
    held_map["metadata"]["finalizers"] = json!(["demo.dev/hold"]);
    for object in [&held_pod, &held_map, &config_map("free")] {
        scenario.apply(object);
    }
    scenario.cluster.delete(&namespace("shop")).unwrap();
    let is_deleting = |object: &Value| object["metadata"]["deletionTimestamp"].is_string();
    scenario.cluster.wait_until(&held_pod, is_deleting).await;
    scenario
        .cluster
        .wait_until(&namespace("shop"), |found| {
            found["status"]["conditions"].is_array()
        })
        .await;
    assert!(!is_deleting(&scenario.cluster.get(&held_map).unwrap().unwrap()));
    assert!(scenario.cluster.get(&config_map("free")).unwrap().is_some());

    let release = json!({"metadata": {"finalizers": null}});
    scenario.cluster.merge_patch(&held_pod, &release).unwrap();
    scenario.gone(&held_pod).await;
    scenario.gone(&config_map("free")).await;
    let remaining = |found: &Value| {
        let conditions = found["status"]["conditions"].as_array();
        conditions.is_some_and(|conditions| {
            let message = "Some content in the namespace has finalizers remaining: demo.dev/hold in 1 resource instances";
            conditions.iter().any(|condition| condition["message"] == message)
        })
    };
    scenario.cluster.wait_until(&namespace("shop"), remaining).await;
    scenario.cluster.merge_patch(&held_map, &release).unwrap();
    scenario.gone(&namespace("shop")).await;
}

async fn foreign_finalizers_of_the_namespace_stay(collector: Collector) {
    let scenario = Scenario::start(collector, "namespace").await;
    let mut shop = namespace("shop");
    shop["metadata"]["finalizers"] = json!(["demo.dev/hold"]);
    scenario.apply(&shop);
    scenario.apply(&config_map("a"));
    scenario.cluster.delete(&shop).unwrap();
    let is_finalized = |found: &Value| found["spec"]["finalizers"].as_array().is_none_or(Vec::is_empty);
    let left = scenario.cluster.wait_until(&shop, is_finalized).await;
    assert_eq!(left["metadata"]["finalizers"], json!(["demo.dev/hold"]));
    assert!(scenario.cluster.get(&config_map("a")).unwrap().is_none());
}

//! Bad input stops only the object that it concerns.

use std::time::Duration;

use kubewright_testkit::{Failure, Fault, RequestMatcher};
use serde_json::{Value, json};

use crate::{
    owners::{COLLECTOR, owned, owner_names},
    scenario::{Collector, Scenario, config_map, object},
};

async fn start() -> Scenario {
    let scenario = Scenario::start(Collector::Controllers, COLLECTOR).await;
    scenario.cluster.create_namespace("shop").unwrap();
    scenario
}

/// Waits until the garbage collector has deleted a new dependent of a deleted owner.
async fn assert_works(scenario: &Scenario) {
    let root = scenario.apply(&config_map("another-root"));
    let child = scenario.apply(&owned("another-child", &[&root]));
    scenario.cluster.delete(&root).unwrap();
    scenario.gone(&child).await;
}

#[tokio::test]
async fn object_with_a_thousand_finalizers_waits_for_them_alone() {
    let scenario = start().await;
    let mut root = config_map("root");
    let finalizers = (0..1000).map(|number| format!("demo.dev/finalizer-{number}"));
    root["metadata"]["finalizers"] = finalizers.collect();
    let root = scenario.apply(&root);
    let child = scenario.apply(&owned("child", &[&root]));
    scenario.delete_with(&root, "Foreground");
    scenario.gone(&child).await;
    let is_finished = |root: &Value| {
        let finalizers = root["metadata"]["finalizers"].as_array().unwrap();
        finalizers.len() == 1000 && !finalizers.contains(&json!("foregroundDeletion"))
    };
    scenario.cluster.wait_until(&root, is_finished).await;
    let release = json!({"metadata": {"finalizers": null}});
    scenario.cluster.merge_patch(&root, &release).unwrap();
    scenario.gone(&root).await;
    assert_works(&scenario).await;
}

#[tokio::test]
async fn refused_lists_and_watches_stop_only_the_collection_of_its_kind() {
    let scenario = start().await;
    assert_works(&scenario).await;
    let secrets = RequestMatcher::any()
        .resource("secrets")
        .user(scenario.identity.user());
    let refusal = Failure::new(403, "Forbidden", "secrets is forbidden: on purpose");
    let faults = scenario.cluster.faults();
    let refused = faults.always(secrets.clone(), Fault::Respond(refusal));
    assert_eq!(faults.close_watches(&secrets), 1);
    let is_refused = async {
        while refused.hits() == 0 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), is_refused)
        .await
        .unwrap();
    assert_works(&scenario).await;
    // A dependent that no cache has is collected when its kind is watched again.
    let root = scenario.apply(&config_map("root"));
    let mut secret = object("Secret", "shop", "child");
    secret["metadata"]["ownerReferences"] = owned("", &[&root])["metadata"]["ownerReferences"].clone();
    let secret = scenario.apply(&secret);
    scenario.cluster.delete(&root).unwrap();
    assert_works(&scenario).await;
    assert!(scenario.cluster.get(&secret).unwrap().is_some());
    refused.remove();
    scenario.gone(&secret).await;
}

#[tokio::test]
async fn owner_that_cannot_be_known_stops_only_its_dependent() {
    let scenario = start().await;
    // A cluster-scoped object, and the owner is in a namespace.
    let root = scenario.apply(&config_map("root"));
    let mut node = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "node"}});
    node["metadata"]["ownerReferences"] = owned("", &[&root])["metadata"]["ownerReferences"].clone();
    let node = scenario.apply(&node);
    let mut unserved = root.clone();
    (unserved["apiVersion"], unserved["kind"]) = (json!("demo.dev/v1"), json!("Gone"));
    let undecided = scenario.apply(&owned("undecided", &[&unserved]));
    assert_works(&scenario).await;
    for object in [&node, &undecided] {
        let found = scenario.cluster.get(object).unwrap().unwrap();
        assert_eq!(owner_names(&found), ["root"], "{found}");
    }
}

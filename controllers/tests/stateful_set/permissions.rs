//! The controller's permissions: none is missing, none unused, and no more than upstream's role has.

use kubewright::testing::TestOperator;
use kubewright_controllers::register;
use serde_json::{Value, json};

use crate::scenario::{Scenario, name, options, owners, stateful_set, with_image};

#[tokio::test]
async fn controller_uses_exactly_its_permissions() {
    let scenario = Scenario::start().await;
    let mut wanted = stateful_set(2);
    wanted["spec"]["revisionHistoryLimit"] = json!(0);
    wanted["spec"]["persistentVolumeClaimRetentionPolicy"] =
        json!({"whenDeleted": "Retain", "whenScaled": "Delete"});
    let set = scenario.apply(&wanted);
    scenario.complete(&set).await;
    // Claims get owners: pods that are scaled down.
    scenario.patch(&set, &json!({"spec": {"replicas": 1}}));
    scenario.names(&["web-0"]).await;
    // Adoption of a revision and of a pod, which is corrected.
    let uid = set["metadata"]["uid"].as_str().unwrap();
    let revision = scenario.list("apps/v1", "ControllerRevision").remove(0);
    let pod = scenario.pods().remove(0);
    scenario.patch(&revision, &json!({"metadata": {"ownerReferences": null}}));
    let lost = json!({"metadata": {"ownerReferences": null, "labels": {"statefulset.kubernetes.io/pod-name": null}}});
    scenario.patch(&pod, &lost);
    for object in [&revision, &pod] {
        scenario
            .cluster
            .wait_until(object, |found| owners(found, "StatefulSet") == [uid])
            .await;
    }
    // The name of the next revision is taken, by one with the same template.
    let taken = json!({"metadata": {"ownerReferences": [{
        "apiVersion": "apps/v1", "kind": "StatefulSet", "name": "other", "uid": "other", "controller": true,
    }]}});
    scenario.patch(&revision, &taken);
    // Rolls forward and back, and the old revision goes.
    for image in ["second", "first", "second"] {
        scenario.patch(&set, &with_image(image));
        scenario.complete(&set).await;
    }
    for _ in 0..1000 {
        if scenario.list("apps/v1", "ControllerRevision").len() <= 2 {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    scenario
        .cluster
        .assert_exact_permissions(&scenario.identity)
        .await;
    assert!(!name(&revision).is_empty());
}

#[tokio::test]
async fn permissions_are_among_those_of_upstreams_role() {
    let scenario = Scenario::start().await;
    let role = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
        "metadata": {"name": "system:controller:statefulset-controller"},
    });
    let role = scenario.get(&role);
    let permissions = TestOperator::permissions(|setup| register(setup, &options("")));
    for permission in serde_json::to_value(&permissions).unwrap().as_array().unwrap() {
        for verb in permission["verbs"]
            .as_array()
            .unwrap_or_else(|| panic!("{permission}"))
        {
            let contains =
                |list: &Value, item: &Value| list.as_array().is_some_and(|list| list.contains(item));
            let mut rules = role["rules"].as_array().unwrap().iter();
            let is_granted = rules.any(|rule| {
                contains(&rule["verbs"], verb)
                    && contains(&rule["apiGroups"], &permission["apiGroups"][0])
                    && contains(&rule["resources"], &permission["resources"][0])
            });
            assert!(is_granted, "{verb} of {permission}");
        }
    }
}

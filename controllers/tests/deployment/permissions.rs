//! The controller's permissions: none is missing, none unused, and no more than upstream's role has.

use kubewright::testing::TestOperator;
use kubewright_controllers::register;
use serde_json::{Value, json};

use crate::scenario::{Scenario, deployment, is_owned_by, options, with_image};

#[tokio::test]
async fn controller_uses_exactly_its_permissions() {
    let scenario = Scenario::start().await;
    let mut wanted = deployment("web", 1);
    wanted["spec"]["revisionHistoryLimit"] = json!(0);
    let web = scenario.apply(&wanted);
    scenario.complete(&web).await;
    // Adoption.
    let first = scenario.of_revision(&web, "1");
    scenario.patch(&first, &json!({"metadata": {"ownerReferences": null}}));
    scenario
        .cluster
        .wait_until(&first, |found| is_owned_by(found, &web))
        .await;
    // A deletion, and a rollback that finds nothing.
    scenario.patch(&web, &with_image("second"));
    scenario.revision(&web, "2").await;
    scenario.complete(&web).await;
    scenario.cluster.wait_until(&first, Value::is_null).await;
    // Twice: the second event is counted by a patch.
    for _ in 0..2 {
        scenario.patch(
            &web,
            &json!({"metadata": {"annotations": {"deprecated.deployment.rollback.to": "0"}}}),
        );
        let is_done =
            |found: &Value| found["metadata"]["annotations"]["deprecated.deployment.rollback.to"].is_null();
        scenario.cluster.wait_until(&web, is_done).await;
    }
    scenario
        .cluster
        .assert_exact_permissions(&scenario.identity)
        .await;
}

#[tokio::test]
async fn permissions_are_among_those_of_upstreams_role() {
    let scenario = Scenario::start().await;
    let role = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
        "metadata": {"name": "system:controller:deployment-controller"},
    });
    let role = scenario.get(&role);
    let permissions =
        TestOperator::permissions(|setup| register(setup, &options("deployment-controller", "")));
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

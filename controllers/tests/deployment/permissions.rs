//! The controller's permissions: none is missing, none unused.

use serde_json::{Value, json};

use crate::scenario::{Scenario, deployment, is_owned_by, with_image};

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

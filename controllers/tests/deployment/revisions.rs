//! The history: revisions, its limit, rollback.

use serde_json::{Value, json};

use crate::scenario::{REVISION, Scenario, deployment, image, with_image};

#[tokio::test]
async fn history_is_limited() {
    let scenario = Scenario::start().await;
    let mut wanted = deployment("web", 2);
    wanted["spec"]["revisionHistoryLimit"] = json!(1);
    let web = scenario.apply(&wanted);
    scenario.complete(&web).await;
    for (number, image) in [(2, "second"), (3, "third"), (4, "fourth")] {
        scenario.patch(&web, &with_image(image));
        scenario.revision(&web, &number.to_string()).await;
        scenario.complete(&web).await;
    }
    let first = crate::scenario::named("apps/v1", "ReplicaSet", "any");
    for _ in 0..1000 {
        if scenario.cluster.list(&first).unwrap().len() == 2 {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    let mut images: Vec<_> = scenario
        .replica_sets()
        .iter()
        .map(|one| image(one).clone())
        .collect();
    images.sort_by_key(ToString::to_string);
    assert_eq!(images, ["fourth", "third"]);
}

#[tokio::test]
async fn template_that_returns_gets_the_next_revision_and_keeps_the_former_one() {
    let scenario = Scenario::start().await;
    let web = scenario.apply(&deployment("web", 1));
    scenario.complete(&web).await;
    for (revision, image) in [("2", "second"), ("3", "first")] {
        scenario.patch(&web, &with_image(image));
        scenario.revision(&web, revision).await;
        scenario.complete(&web).await;
    }
    let one = scenario.of_revision(&web, "3");
    assert_eq!(image(&one), "first");
    assert_eq!(
        one["metadata"]["annotations"]["deployment.kubernetes.io/revision-history"],
        "1"
    );
    assert_eq!(scenario.replica_sets().len(), 2);
}

#[tokio::test]
async fn annotation_rolls_back() {
    const ROLLBACK: &str = "deprecated.deployment.rollback.to";
    let scenario = Scenario::start().await;
    let mut wanted = deployment("web", 1);
    wanted["metadata"]["annotations"] = json!({"change-cause": "create"});
    let web = scenario.apply(&wanted);
    scenario.complete(&web).await;
    let mut second = with_image("second");
    second["metadata"] = json!({"annotations": {"change-cause": "edit"}});
    scenario.patch(&web, &second);
    scenario.revision(&web, "2").await;
    scenario.complete(&web).await;

    let is_done = |found: &Value| found["metadata"]["annotations"][ROLLBACK].is_null();
    for (to, expected_image, cause, revision) in [
        ("0", "first", "create", "3"),
        ("3", "first", "create", "3"),
        ("9", "first", "create", "3"),
        ("2", "second", "edit", "4"),
    ] {
        scenario.patch(&web, &json!({"metadata": {"annotations": {ROLLBACK: to}}}));
        scenario.cluster.wait_until(&web, is_done).await;
        scenario.revision(&web, revision).await;
        let done = scenario.complete(&web).await;
        let annotations = &done["metadata"]["annotations"];
        assert_eq!(
            (image(&done), &annotations["change-cause"]),
            (&json!(expected_image), &json!(cause)),
            "{to}"
        );
        assert_eq!(annotations[REVISION], revision);
    }
    let reasons = [
        "DeploymentRollback",
        "DeploymentRollbackRevisionNotFound",
        "DeploymentRollbackTemplateUnchanged",
        "ScalingReplicaSet",
    ];
    scenario.reasons(&web, &reasons).await;
}

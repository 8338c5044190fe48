//! Scaling: paused, during a rollout, together with a new template.

use serde_json::json;

use crate::scenario::{Scenario, deployment, with_image};

const DESIRED: &str = "deployment.kubernetes.io/desired-replicas";
const MAX: &str = "deployment.kubernetes.io/max-replicas";

#[tokio::test]
async fn paused_deployment_is_scaled() {
    let scenario = Scenario::start().await;
    let web = scenario.apply(&deployment("web", 1));
    scenario.complete(&web).await;
    scenario.patch(&web, &json!({"spec": {"paused": true}}));
    scenario.observed(&web).await;
    scenario.patch(&web, &json!({"spec": {"replicas": 10}}));
    scenario.observed(&web).await;
    assert_eq!(scenario.of_revision(&web, "1")["spec"]["replicas"], 10);
    scenario.complete(&web).await;
}

#[tokio::test]
async fn scaling_and_a_new_template_at_once_do_not_block_the_rollout() {
    let scenario = Scenario::start().await;
    let mut wanted = deployment("web", 10);
    wanted["spec"]["strategy"] = json!({"rollingUpdate": {"maxSurge": 3, "maxUnavailable": 2}});
    let web = scenario.apply(&wanted);
    scenario.complete(&web).await;
    // Each second rollout does not finish, and is followed by one with another size.
    for (number, replicas) in [(2, 20), (4, 5)] {
        scenario.patch(&web, &with_image(&format!("image-{number}")));
        scenario.revision(&web, &number.to_string()).await;
        let mut change = with_image(&format!("image-{number}-scaled"));
        change["spec"]["replicas"] = json!(replicas);
        scenario.patch(&web, &change);
        scenario.revision(&web, &(number + 1).to_string()).await;
        scenario.complete(&web).await;
        for revision in [number - 1, number, number + 1] {
            let one = scenario.of_revision(&web, &revision.to_string());
            assert_eq!(
                one["metadata"]["annotations"][DESIRED],
                replicas.to_string(),
                "{number} {revision}"
            );
        }
    }
}

#[tokio::test]
async fn rollout_is_scaled_in_proportion() {
    for (gates, expected) in [
        ("DeploymentReplicaSetTerminatingReplicas=false", None),
        ("", Some(2)),
    ] {
        let scenario = Scenario::with_gates(gates).await;
        let mut wanted = deployment("web", 100);
        wanted["spec"]["strategy"] = json!({"rollingUpdate": {"maxSurge": 20, "maxUnavailable": 0}});
        wanted["spec"]["template"]["spec"]["nodeName"] = json!("fake-node");
        wanted["spec"]["template"]["spec"]["terminationGracePeriodSeconds"] = json!(300);
        let web = scenario.apply(&wanted);
        scenario.complete(&web).await;
        let terminating = |count: u64| expected.map(|_| count);

        // Terminating pods are replaced, and do not count.
        let pods = scenario.pods();
        for pod in &pods[..2] {
            scenario
                .cluster
                .delete(&crate::scenario::typed("v1", "Pod", pod))
                .unwrap();
        }
        scenario.counts(&web, [100, 100, 98, 98, 2], terminating(2)).await;
        scenario.complete(&web).await;

        scenario.patch(&web, &with_image("second"));
        scenario
            .counts(&web, [120, 20, 100, 100, 20], terminating(2))
            .await;
        scenario.patch(&web, &json!({"spec": {"replicas": 120}}));
        scenario.counts(&web, [140, 23, 100, 100, 40], expected).await;
        for (revision, size) in [("1", 117), ("2", 23)] {
            let one = scenario.of_revision(&web, revision);
            let annotations = &one["metadata"]["annotations"];
            assert_eq!(one["spec"]["replicas"], size);
            assert_eq!(
                (&annotations[DESIRED], &annotations[MAX]),
                (&json!("120"), &json!("140"))
            );
        }
    }
}

#[tokio::test]
async fn scale_subresource_scales() {
    let scenario = Scenario::start().await;
    let web = scenario.apply(&deployment("web", 2));
    scenario.complete(&web).await;
    for replicas in [3, 0] {
        let path = "/apis/apps/v1/namespaces/default/deployments/web/scale";
        let change = json!({"spec": {"replicas": replicas}});
        let body = Some(&change);
        scenario
            .cluster
            .request(http::Method::PATCH, path, "application/merge-patch+json", body)
            .unwrap();
        scenario.complete(&web).await;
        assert_eq!(scenario.pods().len(), replicas);
    }
}

//! New templates: rolling updates, rollovers, pauses, failures.

use serde_json::{Value, json};

use crate::scenario::{HASH, Scenario, condition, deployment, image, is_owned_by, with_image};

#[tokio::test]
async fn new_deployment_gets_a_replica_set_with_its_hash_and_annotations() {
    let scenario = Scenario::start().await;
    let mut wanted = deployment("web", 20);
    wanted["spec"]["minReadySeconds"] = json!(1);
    wanted["metadata"]["annotations"] =
        json!({"test": "copied", "kubectl.kubernetes.io/last-applied-configuration": "{}"});
    let web = scenario.apply(&wanted);
    scenario.revision(&web, "1").await;
    let done = scenario.complete(&web).await;
    let one = scenario.of_revision(&web, "1");
    let hash = one["metadata"]["labels"][HASH].as_str().unwrap();
    assert_eq!(one["metadata"]["name"], format!("web-{hash}"));
    assert_eq!(one["spec"]["selector"]["matchLabels"][HASH], hash);
    assert_eq!(one["spec"]["template"]["metadata"]["labels"][HASH], hash);
    let annotations = &one["metadata"]["annotations"];
    assert_eq!(
        (
            &annotations["test"],
            &annotations["deployment.kubernetes.io/desired-replicas"]
        ),
        (&json!("copied"), &json!("20"))
    );
    assert!(annotations["kubectl.kubernetes.io/last-applied-configuration"].is_null());
    let pods = scenario.pods();
    assert_eq!(pods.len(), 20);
    assert!(pods.iter().all(|pod| pod["metadata"]["labels"][HASH] == hash));
    let done = scenario
        .condition(&done, "Progressing", "NewReplicaSetAvailable")
        .await;
    assert_eq!(
        condition(&done, "Available")["reason"],
        "MinimumReplicasAvailable"
    );
    scenario.reasons(&web, &["ScalingReplicaSet"]).await;
}

/// Checks the limits of a Deployment of 20 replicas with a quarter of surge and unavailable ones.
fn check_rolling(scenario: &Scenario, found: &Value) {
    let pods = scenario.pods().len();
    assert!(pods <= 25, "{pods} pods");
    let available = found["status"]["availableReplicas"].as_u64().unwrap_or(0);
    assert!(available >= 15, "{available} available pods");
}

#[tokio::test]
async fn rolling_update_and_rollover_stay_within_their_limits() {
    let scenario = Scenario::start().await;
    let web = scenario.apply(&deployment("web", 20));
    scenario.complete(&web).await;

    scenario.patch(&web, &with_image("second"));
    scenario.revision(&web, "2").await;
    scenario
        .complete_and(&web, |found| check_rolling(&scenario, found))
        .await;

    // The next one does not finish.
    scenario.patch(&web, &with_image("third"));
    scenario.revision(&web, "3").await;
    scenario.patch(&web, &with_image("fourth"));
    scenario.revision(&web, "4").await;
    let done = scenario
        .complete_and(&web, |found| check_rolling(&scenario, found))
        .await;
    assert_eq!(image(&done), "fourth");
    for one in scenario.replica_sets() {
        let expected = if image(&one) == "fourth" { 20 } else { 0 };
        assert_eq!(one["spec"]["replicas"], expected, "{}", image(&one));
    }
}

#[tokio::test]
async fn paused_deployment_is_not_rolled_out() {
    let scenario = Scenario::start().await;
    let mut wanted = deployment("web", 1);
    wanted["spec"]["paused"] = json!(true);
    let web = scenario.apply(&wanted);
    scenario.condition(&web, "Progressing", "DeploymentPaused").await;
    scenario.observed(&web).await;
    assert!(scenario.replica_sets().is_empty());

    scenario.patch(&web, &json!({"spec": {"paused": false}}));
    scenario.revision(&web, "1").await;
    scenario.complete(&web).await;

    scenario.patch(&web, &json!({"spec": {"paused": true}}));
    scenario.observed(&web).await;
    scenario.patch(&web, &with_image("second"));
    scenario.observed(&web).await;
    let all = scenario.replica_sets();
    assert_eq!((all.len(), image(&all[0])), (1, &json!("first")));
}

#[tokio::test]
async fn rollout_without_progress_times_out_and_still_completes() {
    let scenario = Scenario::start().await;
    let mut wanted = deployment("web", 1);
    wanted["spec"]["progressDeadlineSeconds"] = json!(1);
    let web = scenario.apply(&wanted);
    let failed = scenario
        .condition(&web, "Progressing", "ProgressDeadlineExceeded")
        .await;
    let progressing = condition(&failed, "Progressing");
    assert_eq!(progressing["status"], "False");
    assert!(
        progressing["message"]
            .as_str()
            .unwrap()
            .ends_with("has timed out progressing."),
        "{progressing}"
    );
    scenario.complete(&web).await;
    scenario
        .condition(&web, "Progressing", "NewReplicaSetAvailable")
        .await;
}

#[tokio::test]
async fn overlapping_deployments_have_replica_sets_of_their_own() {
    let scenario = Scenario::start().await;
    let (first, second) = (
        scenario.apply(&deployment("first", 1)),
        scenario.apply(&deployment("second", 1)),
    );
    scenario.complete(&first).await;
    scenario.complete(&second).await;
    scenario.patch(&first, &json!({"spec": {"replicas": 2}}));
    scenario.complete(&first).await;
    let all = scenario.replica_sets();
    assert_eq!(all.len(), 2);
    for one in all {
        let expected = if is_owned_by(&one, &first) { 2 } else { 1 };
        assert_eq!(one["spec"]["replicas"], expected);
    }
}

#[tokio::test]
async fn failure_to_create_pods_is_reported() {
    let scenario = Scenario::start().await;
    let quota = json!({
        "apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "none", "namespace": "default"},
        "spec": {"hard": {"pods": "0"}},
    });
    scenario.apply(&quota);
    // No controller of quotas runs.
    let status = json!({"hard": {"pods": "0"}, "used": {"pods": "0"}});
    scenario.cluster.patch_status(&quota, &status).unwrap();
    let web = scenario.apply(&deployment("web", 1));
    let failed = scenario.condition(&web, "ReplicaFailure", "FailedCreate").await;
    assert_eq!(condition(&failed, "ReplicaFailure")["status"], "True");
    scenario.cluster.delete(&quota).unwrap();
    scenario.complete(&web).await;
    let is_gone = |found: &Value| condition(found, "ReplicaFailure").is_null();
    scenario.cluster.wait_until(&web, is_gone).await;
}

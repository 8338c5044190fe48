//! Failing requests, broken watches, and random changes.

use kubewright_testkit::{Failure, Fault, RequestMatcher};
use serde_json::{Value, json};

use crate::scenario::{REPLICA_SET, Scenario, is_owned_by, owner, pod, typed_pod};

#[tokio::test]
async fn exceeded_quota_is_a_condition_until_it_is_raised() {
    let scenario = Scenario::start().await;
    let quota = |pods: u32| {
        json!({
            "apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "pods", "namespace": "default"},
            "spec": {"hard": {"pods": pods.to_string()}},
        })
    };
    let hard = |pods: u32| json!({"hard": {"pods": pods.to_string()}, "used": {"pods": "0"}});
    let stored = scenario.apply(&quota(1));
    scenario.cluster.patch_status(&stored, &hard(1)).unwrap();
    let owner = scenario.apply(&owner(REPLICA_SET, "web", 3));
    let failed = |found: &Value| found["status"]["conditions"][0]["type"] == "ReplicaFailure";
    let found = scenario.cluster.wait_until(&owner, failed).await;
    let condition = &found["status"]["conditions"][0];
    assert_eq!(
        (&condition["status"], &condition["reason"]),
        (&json!("True"), &json!("FailedCreate"))
    );
    assert!(
        condition["message"].as_str().unwrap().contains("exceeded quota"),
        "{condition}"
    );
    scenario
        .reasons_until(&owner, &["FailedCreate", "SuccessfulCreate"])
        .await;

    scenario.cluster.delete(&stored).unwrap();
    let found = scenario.stable(&owner).await;
    scenario.pods_until(|pods| pods.len() == 3).await;
    let recovered = |found: &Value| found["status"]["conditions"][0].is_null();
    scenario.cluster.wait_until(&found, recovered).await;
}

#[tokio::test]
async fn failing_api_server_delays_creations_only_shortly() {
    let scenario = Scenario::start().await;
    let creations = || {
        RequestMatcher::verb("create")
            .resource("pods")
            .user(scenario.identity.user())
    };
    let faults = scenario.cluster.faults();
    faults.times(3, creations(), Fault::Respond(Failure::internal()));
    faults.times(2, creations(), Fault::DropRequest);
    let owner = scenario.apply(&owner(REPLICA_SET, "web", 5));
    scenario.stable(&owner).await;
    scenario.pods_until(|pods| pods.len() == 5).await;
}

#[tokio::test]
async fn lost_responses_leave_as_many_pods_as_are_wanted() {
    let scenario = Scenario::start().await;
    let creations = RequestMatcher::verb("create")
        .resource("pods")
        .user(scenario.identity.user());
    scenario.cluster.faults().times(2, creations, Fault::DropResponse);
    let owner = scenario.apply(&owner(REPLICA_SET, "web", 5));
    scenario.pods_until(|pods| pods.len() >= 5).await;
    scenario.stable(&owner).await;
    scenario.pods_until(|pods| pods.len() == 5).await;
}

#[tokio::test]
async fn conflicting_status_writes_are_repeated() {
    let scenario = Scenario::start().await;
    let statuses = RequestMatcher::verb("update").resource("replicasets/status");
    scenario
        .cluster
        .faults()
        .times(3, statuses, Fault::Respond(Failure::conflict()));
    let owner = scenario.apply(&owner(REPLICA_SET, "web", 2));
    scenario.stable(&owner).await;
}

/// A linear congruential generator: the same numbers in each run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % limit
    }
}

#[tokio::test]
async fn random_changes_converge() {
    for seed in [1, 2, 3] {
        let (scenario, mut numbers) = (Scenario::start().await, Numbers(seed));
        let owner = scenario.apply(&owner(REPLICA_SET, "web", 3));
        let mut replicas = 3;
        for step in 0..60 {
            let pods = scenario.cluster.list(&pod("any")).unwrap();
            let chosen = (!pods.is_empty()).then(|| typed_pod(&pods[numbers.below(pods.len())]));
            // A pod that is gone in the meantime is not a failure.
            match (numbers.below(8), chosen) {
                (0, _) => {
                    replicas = numbers.below(9);
                    scenario.patch(&owner, &json!({"spec": {"replicas": replicas}}));
                }
                (1, Some(pod)) => drop(scenario.cluster.delete(&pod)),
                (2, Some(pod)) => drop(scenario.cluster.patch_status(&pod, &json!({"phase": "Failed"}))),
                (3, Some(pod)) => {
                    let label = ["web", "other"][numbers.below(2)];
                    let change = json!({"metadata": {"labels": {"app": label}}});
                    drop(scenario.cluster.merge_patch(&pod, &change));
                }
                (4, Some(pod)) => {
                    let change = json!({"metadata": {"ownerReferences": null}});
                    drop(scenario.cluster.merge_patch(&pod, &change));
                }
                (5, _) => drop(scenario.apply(&pod(&format!("orphan-{step}")))),
                (6, _) => drop(
                    scenario
                        .cluster
                        .faults()
                        .close_watches(&RequestMatcher::watch("pods")),
                ),
                (7, _) => drop(scenario.cluster.expire_watches(&RequestMatcher::any()).unwrap()),
                _ => {}
            }
        }
        let found = scenario.stable(&owner).await;
        assert_eq!(found["spec"]["replicas"], replicas);
        let is_active = |pod: &&Value| pod["status"]["phase"] != "Failed";
        let is_converged = |pods: &[Value]| {
            let mut active = pods.iter().filter(is_active);
            active.clone().count() == replicas && active.all(|pod| is_owned_by(pod, &owner))
        };
        scenario.pods_until(is_converged).await;
    }
}

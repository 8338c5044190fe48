//! The controllers of ReplicaSets and ReplicationControllers on an API server, with exactly their permissions. The scenarios are those of
//! Kubernetes' integration tests, and some more.

#![expect(clippy::unwrap_used, reason = "a failed step ends the test")]

use kubewright::testing::TestOperator;
use kubewright_controllers::{Options, register};
use kubewright_testkit::{Cluster, Failure, Fault, Identity, RequestMatcher};
use serde_json::{Value, json};

const REPLICA_SET: &str = "ReplicaSet";
const REPLICATION_CONTROLLER: &str = "ReplicationController";

struct Scenario {
    cluster: Cluster,
    identity: Identity,
    operator: Option<TestOperator>,
}

fn options() -> Options {
    Options::default()
        .select("replicaset,replicationcontroller")
        .unwrap()
}

impl Scenario {
    /// Starts an API server and the controllers.
    async fn start() -> Self {
        let mut scenario = Self::without_controllers();
        scenario.start_controllers().await;
        scenario
    }

    fn without_controllers() -> Self {
        let cluster = Cluster::embedded().unwrap();
        let permissions = TestOperator::permissions(|setup| register(setup, &options()));
        let identity = cluster.operator("controllers", &permissions).unwrap();
        Self {
            cluster,
            identity,
            operator: None,
        }
    }

    async fn start_controllers(&mut self) {
        let config = self.identity.config().await.unwrap();
        self.operator = Some(TestOperator::start(config, |setup| register(setup, &options())));
    }

    fn apply(&self, object: &Value) -> Value {
        self.cluster.apply(object).unwrap()
    }

    fn patch(&self, object: &Value, change: &Value) -> Value {
        self.cluster.merge_patch(object, change).unwrap()
    }

    fn pods(&self) -> Vec<Value> {
        let pods = self.cluster.list(&pod("any")).unwrap();
        let of_app = |pod: &Value| pod["metadata"]["labels"]["app"] == "web";
        pods.into_iter().filter(of_app).collect()
    }

    /// Waits until the pods of the application meet the condition.
    async fn pods_until(&self, condition: impl Fn(&[Value]) -> bool) -> Vec<Value> {
        for _ in 0..3000 {
            let pods = self.pods();
            if condition(&pods) {
                return pods;
            }
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
        panic!("the pods do not meet the condition: {:#?}", self.pods());
    }

    /// Waits until the status shows that the owner has as many pods as it asks for.
    async fn stable(&self, owner: &Value) -> Value {
        let is_stable = |found: &Value| {
            let (spec, status) = (&found["spec"]["replicas"], &found["status"]["replicas"]);
            spec.is_i64() && spec == status && is_observed(found)
        };
        self.cluster.wait_until(owner, is_stable).await
    }

    async fn scale(&self, owner: &Value, replicas: u32) -> Vec<Value> {
        self.patch(owner, &json!({"spec": {"replicas": replicas}}));
        self.stable(owner).await;
        self.pods_until(|pods| pods.len() == replicas as usize).await
    }

    /// Sets the condition Ready of a pod.
    fn set_ready(&self, pod: &Value, status: &str, since: &str) {
        let condition = json!({"type": "Ready", "status": status, "lastTransitionTime": since});
        let status = json!({"phase": "Running", "conditions": [condition]});
        self.cluster.patch_status(pod, &status).unwrap();
    }

    /// Returns the reasons of the events about an owner, each once, sorted.
    async fn reasons_until(&self, owner: &Value, expected: &[&str]) {
        for _ in 0..3000 {
            let event = json!({"apiVersion": "events.k8s.io/v1", "kind": "Event", "metadata": {"name": "any", "namespace": "default"}});
            let events = self.cluster.list(&event).unwrap();
            let about = events
                .iter()
                .filter(|event| event["regarding"]["name"] == owner["metadata"]["name"]);
            let mut reasons: Vec<_> = about
                .map(|event| event["reason"].as_str().unwrap().to_owned())
                .collect();
            reasons.sort();
            reasons.dedup();
            if reasons == expected {
                return;
            }
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
        panic!("no events {expected:?}");
    }
}

fn is_observed(owner: &Value) -> bool {
    owner["status"]["observedGeneration"] == owner["metadata"]["generation"]
}

fn owner(kind: &str, name: &str, replicas: u32) -> Value {
    let labels = json!({"app": "web"});
    let (api_version, selector) = match kind {
        REPLICA_SET => ("apps/v1", json!({"matchLabels": labels})),
        _ => ("v1", labels.clone()),
    };
    json!({
        "apiVersion": api_version, "kind": kind, "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "replicas": replicas, "selector": selector,
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "web", "image": "web"}]}},
        },
    })
}

fn pod(name: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": name, "namespace": "default", "labels": {"app": "web"}},
        "spec": {"containers": [{"name": "web", "image": "web"}]},
    })
}

fn controller_of(pod: &Value) -> Option<&Value> {
    let references = pod["metadata"]["ownerReferences"].as_array()?;
    references
        .iter()
        .find(|reference| reference["controller"] == true)
}

fn is_owned_by(pod: &Value, owner: &Value) -> bool {
    controller_of(pod).is_some_and(|reference| reference["uid"] == owner["metadata"]["uid"])
}

#[tokio::test]
async fn replicas_follow_the_spec() {
    for kind in [REPLICA_SET, REPLICATION_CONTROLLER] {
        let scenario = Scenario::start().await;
        let owner = scenario.apply(&owner(kind, "web", 2));
        scenario.stable(&owner).await;
        for replicas in [3, 0, 40] {
            let pods = scenario.scale(&owner, replicas).await;
            assert!(pods.iter().all(|pod| is_owned_by(pod, &owner)));
            let names = pods.iter().map(|pod| pod["metadata"]["name"].as_str().unwrap());
            assert!(names.into_iter().all(|name| name.starts_with("web-")));
        }
        scenario
            .reasons_until(&owner, &["SuccessfulCreate", "SuccessfulDelete"])
            .await;
        // The status follows a change without one of the replicas.
        let annotations = json!({"spec": {"template": {"metadata": {"annotations": {"a": "b"}}}}});
        let generation = &owner["metadata"]["generation"];
        assert_ne!(
            &scenario.patch(&owner, &annotations)["metadata"]["generation"],
            generation
        );
        scenario.cluster.wait_until(&owner, is_observed).await;
    }
}

#[tokio::test]
async fn scale_subresource_scales() {
    let scenario = Scenario::start().await;
    let owner = scenario.apply(&owner(REPLICA_SET, "web", 1));
    scenario.stable(&owner).await;
    let path = "/apis/apps/v1/namespaces/default/replicasets/web/scale";
    for replicas in [3, 0] {
        let change = json!({"spec": {"replicas": replicas}});
        let merge = "application/merge-patch+json";
        let cluster = &scenario.cluster;
        cluster
            .request(http::Method::PATCH, path, merge, Some(&change))
            .unwrap();
        let found = scenario.stable(&owner).await;
        assert_eq!(found["status"]["replicas"], replicas);
    }
}

#[tokio::test]
async fn permissions_are_exact() {
    for (kind, controller) in [
        (REPLICA_SET, "replicaset"),
        (REPLICATION_CONTROLLER, "replicationcontroller"),
    ] {
        let cluster = Cluster::embedded().unwrap();
        let options = Options::default().select(controller).unwrap();
        let permissions = TestOperator::permissions(|setup| register(setup, &options));
        let identity = cluster.operator("controllers", &permissions).unwrap();
        let config = identity.config().await.unwrap();
        let orphan = pod("orphan");
        cluster.apply(&orphan).unwrap();
        let web = cluster.apply(&owner(kind, "web", 2)).unwrap();
        let _operator = TestOperator::start(config, move |setup| register(setup, &options));
        cluster
            .wait_until(&web, |found| found["status"]["replicas"] == 2)
            .await;
        cluster
            .merge_patch(&web, &json!({"spec": {"replicas": 0}}))
            .unwrap();
        cluster
            .wait_until(&web, |found| found["status"]["replicas"] == 0)
            .await;
        // A second event with the same text is a patch.
        cluster.assert_exact_permissions(&identity).await;
    }
}

#[tokio::test]
async fn pods_are_adopted_unless_they_have_a_controller() {
    let reference = |name: &str, uid: &Value, controller: Option<bool>| json!({"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": name, "uid": uid, "controller": controller});
    for (before, after) in [
        (vec!["owner"], "adopted"),
        (vec![], "adopted"),
        (vec!["controller"], "kept"),
    ] {
        let mut scenario = Scenario::without_controllers();
        let owner = scenario.apply(&owner(REPLICA_SET, "web", 1));
        let uid = &owner["metadata"]["uid"];
        let references: Vec<_> = before
            .iter()
            .map(|what| match *what {
                "owner" => reference("web", uid, None),
                _ => reference("web", uid, Some(true)),
            })
            .collect();
        let mut orphan = pod("orphan");
        orphan["metadata"]["ownerReferences"] = json!(references);
        let stored = scenario.apply(&orphan)["metadata"]["ownerReferences"].clone();
        scenario.start_controllers().await;
        scenario.stable(&owner).await;
        let found = scenario.cluster.get(&orphan).unwrap().unwrap();
        let references = &found["metadata"]["ownerReferences"];
        if after == "adopted" {
            let mut expected = reference("web", uid, Some(true));
            expected["blockOwnerDeletion"] = json!(true);
            assert_eq!(references, &json!([expected]));
        } else {
            assert_eq!(references, &stored);
        }
    }
}

#[tokio::test]
async fn pods_that_lose_their_controller_reference_are_adopted_again() {
    let scenario = Scenario::start().await;
    let owner = scenario.apply(&owner(REPLICA_SET, "web", 1));
    scenario.stable(&owner).await;
    let pod = scenario.pods_until(|pods| pods.len() == 1).await.remove(0);
    let pod = typed_pod(&pod);
    let other =
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "web", "namespace": "default"}});
    let other = scenario.apply(&other);
    for (object, count) in [(&other, 2), (&owner, 1)] {
        let reference = json!({
            "apiVersion": object["apiVersion"], "kind": object["kind"], "name": "web",
            "uid": object["metadata"]["uid"], "controller": false,
        });
        scenario.patch(&pod, &json!({"metadata": {"ownerReferences": [reference]}}));
        let is_adopted = |found: &Value| is_owned_by(found, &owner);
        let found = scenario.cluster.wait_until(&pod, is_adopted).await;
        assert_eq!(
            found["metadata"]["ownerReferences"].as_array().unwrap().len(),
            count
        );
    }
}

#[tokio::test]
async fn pods_are_released_and_adopted_when_their_labels_change() {
    let scenario = Scenario::start().await;
    let owner = scenario.apply(&owner(REPLICA_SET, "web", 1));
    scenario.stable(&owner).await;
    let first = typed_pod(&scenario.pods_until(|pods| pods.len() == 1).await.remove(0));
    scenario.patch(&first, &json!({"metadata": {"labels": {"app": "debugged"}}}));
    scenario
        .cluster
        .wait_until(&first, |found| controller_of(found).is_none())
        .await;
    // Another one takes its place; with the label again, one of both is deleted.
    scenario
        .pods_until(|pods| pods.len() == 1 && is_owned_by(&pods[0], &owner))
        .await;
    scenario.patch(&first, &json!({"metadata": {"labels": {"app": "web"}}}));
    scenario
        .pods_until(|pods| pods.len() == 1 && is_owned_by(&pods[0], &owner))
        .await;
}

/// Items of lists lack their kind.
fn typed_pod(pod: &Value) -> Value {
    let name = pod["metadata"]["name"].as_str().unwrap();
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "default"}})
}

#[tokio::test]
async fn surplus_orphans_are_adopted_and_deleted() {
    let mut scenario = Scenario::without_controllers();
    let owner = scenario.apply(&owner(REPLICA_SET, "web", 2));
    for name in ["a", "b", "c"] {
        scenario.apply(&pod(name));
    }
    scenario.start_controllers().await;
    scenario.stable(&owner).await;
    let pods = scenario.pods_until(|pods| pods.len() == 2).await;
    assert!(pods.iter().all(|pod| is_owned_by(pod, &owner)));
}

#[tokio::test]
async fn owners_with_the_same_selector_share_no_pods() {
    let scenario = Scenario::start().await;
    let owners = [
        scenario.apply(&owner(REPLICA_SET, "web-1", 1)),
        scenario.apply(&owner(REPLICA_SET, "web-2", 2)),
        scenario.apply(&owner(REPLICATION_CONTROLLER, "web-3", 3)),
    ];
    for owner in &owners {
        scenario.stable(owner).await;
    }
    let pods = scenario.pods();
    for (owner, count) in owners.iter().zip([1, 2, 3]) {
        assert_eq!(pods.iter().filter(|pod| is_owned_by(pod, owner)).count(), count);
    }
    assert_eq!(pods.len(), 6);
}

#[tokio::test]
async fn deleting_and_failed_pods_are_replaced() {
    let scenario = Scenario::start().await;
    let owner = scenario.apply(&owner(REPLICA_SET, "web", 2));
    scenario.stable(&owner).await;
    let pods = scenario.pods_until(|pods| pods.len() == 2).await;
    let (deleted, failed) = (typed_pod(&pods[0]), typed_pod(&pods[1]));
    scenario.patch(
        &deleted,
        &json!({"metadata": {"finalizers": ["example.com/keep"]}}),
    );
    scenario.cluster.delete(&deleted).unwrap();
    scenario
        .cluster
        .patch_status(&failed, &json!({"phase": "Failed"}))
        .unwrap();
    scenario.pods_until(|pods| pods.len() == 4).await;
    let counts =
        |found: &Value| found["status"]["replicas"] == 2 && found["status"]["terminatingReplicas"] == 1;
    scenario.cluster.wait_until(&owner, counts).await;
    for pod in [&deleted, &failed] {
        assert!(scenario.cluster.get(pod).unwrap().is_some());
    }
    // The count goes back when the pod is gone.
    scenario.patch(&deleted, &json!({"metadata": {"finalizers": null}}));
    let is_gone = |found: &Value| found["status"]["terminatingReplicas"].as_i64().unwrap_or(0) == 0;
    scenario.cluster.wait_until(&owner, is_gone).await;
}

#[tokio::test]
async fn ready_and_available_replicas_are_counted() {
    let scenario = Scenario::start().await;
    let mut owner = owner(REPLICA_SET, "web", 3);
    owner["spec"]["minReadySeconds"] = json!(3600);
    let owner = scenario.apply(&owner);
    let stable = scenario.stable(&owner).await;
    assert_eq!(stable["status"]["availableReplicas"].as_i64().unwrap_or(0), 0);
    let pods = scenario.pods_until(|pods| pods.len() == 3).await;
    let now = jiff::Timestamp::now();
    let long_ago = now - jiff::SignedDuration::from_mins(120);
    scenario.set_ready(&typed_pod(&pods[0]), "False", &now.to_string());
    scenario.set_ready(&typed_pod(&pods[1]), "True", &now.to_string());
    scenario.set_ready(&typed_pod(&pods[2]), "True", &long_ago.to_string());
    let is_counted = |found: &Value| {
        let status = &found["status"];
        [
            &status["replicas"],
            &status["readyReplicas"],
            &status["availableReplicas"],
        ] == [3, 2, 1]
    };
    scenario.cluster.wait_until(&owner, is_counted).await;
}

#[tokio::test]
async fn pods_become_available_after_min_ready_seconds() {
    for kind in [REPLICA_SET, REPLICATION_CONTROLLER] {
        let scenario = Scenario::start().await;
        let mut owner = owner(kind, "web", 2);
        owner["spec"]["minReadySeconds"] = json!(1);
        let owner = scenario.apply(&owner);
        scenario.stable(&owner).await;
        let now = jiff::Timestamp::now().to_string();
        for pod in scenario.pods_until(|pods| pods.len() == 2).await {
            scenario.set_ready(&typed_pod(&pod), "True", &now);
        }
        let is_available = |found: &Value| found["status"]["availableReplicas"] == 2;
        scenario.cluster.wait_until(&owner, is_available).await;
    }
}

#[tokio::test]
async fn pods_with_the_templates_labels_are_fully_labeled() {
    let scenario = Scenario::start().await;
    let owner = scenario.apply(&owner(REPLICA_SET, "web", 2));
    scenario.stable(&owner).await;
    let labels = json!({"app": "web", "extra": "value"});
    scenario.patch(
        &owner,
        &json!({"spec": {"template": {"metadata": {"labels": labels}}}}),
    );
    let pods = scenario.pods_until(|pods| pods.len() == 2).await;
    scenario.patch(&typed_pod(&pods[0]), &json!({"metadata": {"labels": labels}}));
    let is_counted = |found: &Value| {
        [
            &found["status"]["replicas"],
            &found["status"]["fullyLabeledReplicas"],
        ] == [2, 1]
    };
    scenario.cluster.wait_until(&owner, is_counted).await;
}

#[tokio::test]
async fn deletion_cost_comes_before_restarts() {
    for (costs, remaining) in [(Some(["1000", "100"]), 0), (Some(["100", "100"]), 1), (None, 1)] {
        let scenario = Scenario::start().await;
        let owner = scenario.apply(&owner(REPLICA_SET, "web", 2));
        scenario.stable(&owner).await;
        let pods = scenario.pods_until(|pods| pods.len() == 2).await;
        for (position, restarts) in [5, 0].into_iter().enumerate() {
            let pod = typed_pod(&pods[position]);
            if let Some(costs) = costs {
                let annotations = json!({"controller.kubernetes.io/pod-deletion-cost": costs[position]});
                scenario.patch(&pod, &json!({"metadata": {"annotations": annotations}}));
            }
            let container = json!({
                "name": "web", "image": "web", "imageID": "", "ready": true, "restartCount": restarts,
            });
            let ready =
                json!({"type": "Ready", "status": "True", "lastTransitionTime": "2026-05-01T00:00:00Z"});
            let status = json!({"containerStatuses": [container], "conditions": [ready]});
            scenario.cluster.patch_status(&pod, &status).unwrap();
        }
        // Then the controller has seen the pods: watches of pods and of owners are not ordered.
        let is_ready = |found: &Value| found["status"]["readyReplicas"] == 2;
        scenario.cluster.wait_until(&owner, is_ready).await;
        let left = scenario.scale(&owner, 1).await;
        assert_eq!(
            left[0]["metadata"]["uid"], pods[remaining]["metadata"]["uid"],
            "{costs:?}"
        );
    }
}

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

#[tokio::test]
async fn deleted_owner_gets_no_finalizer_and_its_pods_are_collected() {
    let scenario = Scenario::start().await;
    let mut with_finalizer = owner(REPLICA_SET, "web", 2);
    with_finalizer["metadata"]["finalizers"] = json!(["example.com/keep"]);
    let owner = scenario.apply(&with_finalizer);
    scenario.stable(&owner).await;
    scenario.cluster.delete(&owner).unwrap();
    let is_deleting = |found: &Value| found["metadata"]["deletionTimestamp"].is_string();
    let found = scenario.cluster.wait_until(&owner, is_deleting).await;
    assert_eq!(found["metadata"]["finalizers"], json!(["example.com/keep"]));
    // It does not replace pods any more.
    let pods = scenario.pods_until(|pods| pods.len() == 2).await;
    scenario.cluster.delete(&typed_pod(&pods[0])).unwrap();
    scenario
        .cluster
        .wait_until(&owner, |found| found["status"]["replicas"] == 1)
        .await;
    scenario.patch(&owner, &json!({"metadata": {"finalizers": null}}));
    scenario.pods_until(<[Value]>::is_empty).await;
}

#[tokio::test]
async fn owner_that_is_recreated_gets_pods_of_its_own() {
    let scenario = Scenario::start().await;
    let first = scenario.apply(&owner(REPLICA_SET, "web", 3));
    for _ in 0..5 {
        scenario.cluster.delete(&first).unwrap();
        let next = scenario.apply(&owner(REPLICA_SET, "web", 3));
        scenario.stable(&next).await;
        let is_complete = |pods: &[Value]| pods.len() == 3 && pods.iter().all(|pod| is_owned_by(pod, &next));
        scenario.pods_until(is_complete).await;
    }
}

#[tokio::test]
async fn selector_of_a_replication_controller_may_change() {
    let scenario = Scenario::start().await;
    let owner = scenario.apply(&owner(REPLICATION_CONTROLLER, "web", 1));
    scenario.stable(&owner).await;
    let first = typed_pod(&scenario.pods_until(|pods| pods.len() == 1).await.remove(0));
    let labels = json!({"tier": "front"});
    let template = json!({"metadata": {"labels": {"app": null, "tier": "front"}}});
    scenario.patch(
        &owner,
        &json!({"spec": {"selector": {"app": null, "tier": "front"}, "template": template}}),
    );
    scenario
        .cluster
        .wait_until(&first, |found| controller_of(found).is_none())
        .await;
    // Now an orphan with the new labels is adopted when it appears.
    let mut orphan = pod("orphan");
    orphan["metadata"]["labels"] = labels;
    scenario.patch(&owner, &json!({"spec": {"replicas": 2}}));
    scenario.stable(&owner).await;
    scenario.apply(&orphan);
    let is_adopted_or_deleted = |found: &Value| found.is_null() || is_owned_by(found, &owner);
    scenario.cluster.wait_until(&orphan, is_adopted_or_deleted).await;
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
            // A pod that is gone in the meantime is no failure.
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

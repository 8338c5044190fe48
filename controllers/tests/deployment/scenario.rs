//! An API server with the controllers of Deployments and of ReplicaSets. No kubelet runs: tests make pods ready.

use std::time::Duration;

use kubewright::{k8s_openapi::jiff::Timestamp, testing::TestOperator};
use kubewright_controllers::{FeatureGates, Options, register};
use kubewright_testkit::{Cluster, Identity};
use serde_json::{Value, json};

pub(crate) const HASH: &str = "pod-template-hash";
pub(crate) const REVISION: &str = "deployment.kubernetes.io/revision";

pub(crate) struct Scenario {
    pub(crate) cluster: Cluster,
    /// The controller of Deployments.
    pub(crate) identity: Identity,
    _operators: Vec<TestOperator>,
}

pub(crate) fn options(controller: &str, gates: &str) -> Options {
    let gates = FeatureGates::parse(gates).unwrap();
    let options = Options {
        gates,
        ..Options::default()
    };
    options.select(controller).unwrap()
}

impl Scenario {
    pub(crate) async fn start() -> Self {
        Self::with_gates("").await
    }

    /// Starts the controllers, each under its own permissions.
    pub(crate) async fn with_gates(gates: &'static str) -> Self {
        let cluster = Cluster::embedded().unwrap();
        let (mut identities, mut operators) = (Vec::new(), Vec::new());
        for controller in ["deployment-controller", "replicaset-controller"] {
            let start = move |setup: &mut _| register(setup, &options(controller, gates));
            let permissions = TestOperator::permissions(start);
            let identity = cluster.operator(controller, &permissions).unwrap();
            operators.push(TestOperator::start(identity.config().await.unwrap(), start));
            identities.push(identity);
        }
        Self {
            cluster,
            identity: identities.remove(0),
            _operators: operators,
        }
    }

    pub(crate) fn apply(&self, object: &Value) -> Value {
        self.cluster.apply(object).unwrap()
    }

    pub(crate) fn patch(&self, object: &Value, change: &Value) -> Value {
        self.cluster.merge_patch(object, change).unwrap()
    }

    pub(crate) fn get(&self, object: &Value) -> Value {
        self.cluster.get(object).unwrap().unwrap_or_default()
    }

    /// Waits until the Deployment's status is about its present spec.
    pub(crate) async fn observed(&self, deployment: &Value) -> Value {
        let is_observed =
            |found: &Value| found["status"]["observedGeneration"] == found["metadata"]["generation"];
        self.cluster.wait_until(deployment, is_observed).await
    }

    pub(crate) async fn revision(&self, deployment: &Value, revision: &str) -> Value {
        let has_revision = |found: &Value| found["metadata"]["annotations"][REVISION] == revision;
        self.cluster.wait_until(deployment, has_revision).await
    }

    pub(crate) async fn condition(&self, deployment: &Value, type_: &str, reason: &str) -> Value {
        let has_reason = |found: &Value| condition(found, type_)["reason"] == reason;
        self.cluster.wait_until(deployment, has_reason).await
    }

    /// Waits until the status has these numbers of pods: all, updated, ready, available, unavailable ones, and terminating ones.
    pub(crate) async fn counts(
        &self,
        deployment: &Value,
        counts: [u64; 5],
        terminating: Option<u64>,
    ) -> Value {
        const NAMES: [&str; 5] = [
            "replicas",
            "updatedReplicas",
            "readyReplicas",
            "availableReplicas",
            "unavailableReplicas",
        ];
        let has_counts = |found: &Value| {
            let status = &found["status"];
            let count = |name: &str| status[name].as_u64().unwrap_or(0);
            NAMES.map(count) == counts && status["terminatingReplicas"].as_u64() == terminating
        };
        self.cluster.wait_until(deployment, has_counts).await
    }

    /// Makes pods ready until the rollout is complete.
    pub(crate) async fn complete(&self, deployment: &Value) -> Value {
        self.complete_and(deployment, |_| {}).await
    }

    /// As [`complete`](Self::complete), and calls `check` with the Deployment again and again.
    pub(crate) async fn complete_and(&self, deployment: &Value, check: impl Fn(&Value)) -> Value {
        for _ in 0..3000 {
            let found = self.get(deployment);
            check(&found);
            if is_complete(&found) {
                return found;
            }
            self.make_ready();
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("the rollout is not complete: {:#}", self.get(deployment));
    }

    /// Makes all pods ready that exist now.
    pub(crate) fn make_ready(&self) {
        for pod in self.pods() {
            if pod["status"]["conditions"].is_null() && pod["metadata"]["deletionTimestamp"].is_null() {
                let condition =
                    json!({"type": "Ready", "status": "True", "lastTransitionTime": Timestamp::now()});
                let status = json!({"phase": "Running", "conditions": [condition]});
                // It may be deleted in the meantime.
                let _ = self.cluster.patch_status(&typed("v1", "Pod", &pod), &status);
            }
        }
    }

    pub(crate) fn pods(&self) -> Vec<Value> {
        self.cluster.list(&named("v1", "Pod", "any")).unwrap()
    }

    pub(crate) fn replica_sets(&self) -> Vec<Value> {
        let replica_sets = self.cluster.list(&named("apps/v1", "ReplicaSet", "any")).unwrap();
        replica_sets
            .iter()
            .map(|one| typed("apps/v1", "ReplicaSet", one))
            .collect()
    }

    /// Waits for a ReplicaSet that meets the condition.
    pub(crate) async fn replica_set_until(&self, condition: impl Fn(&Value) -> bool) -> Value {
        for _ in 0..3000 {
            if let Some(found) = self.replica_sets().into_iter().find(&condition) {
                return found;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("no ReplicaSet meets the condition: {:#?}", self.replica_sets());
    }

    /// Returns the Deployment's ReplicaSet of a revision; null if there is none.
    pub(crate) fn of_revision(&self, deployment: &Value, revision: &str) -> Value {
        let is_wanted = |one: &Value| {
            one["metadata"]["annotations"][REVISION] == revision && is_owned_by(one, deployment)
        };
        self.replica_sets()
            .into_iter()
            .find(is_wanted)
            .unwrap_or_default()
    }

    /// Waits until events about the Deployment have exactly these reasons.
    pub(crate) async fn reasons(&self, deployment: &Value, expected: &[&str]) {
        let mut reasons = Vec::new();
        for _ in 0..1000 {
            let events = self
                .cluster
                .list(&named("events.k8s.io/v1", "Event", "any"))
                .unwrap();
            let about = events
                .iter()
                .filter(|event| event["regarding"]["name"] == deployment["metadata"]["name"]);
            reasons = about
                .map(|event| event["reason"].as_str().unwrap().to_owned())
                .collect();
            reasons.sort();
            reasons.dedup();
            if reasons == expected {
                return;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("the reasons are {reasons:?}, not {expected:?}");
    }
}

pub(crate) fn condition(deployment: &Value, type_: &str) -> Value {
    let conditions = deployment["status"]["conditions"].as_array();
    let found = conditions
        .into_iter()
        .flatten()
        .find(|condition| condition["type"] == type_);
    found.cloned().unwrap_or_default()
}

pub(crate) fn is_complete(deployment: &Value) -> bool {
    let (spec, status) = (&deployment["spec"], &deployment["status"]);
    let count = |name: &str| status[name].as_u64().unwrap_or(0);
    let counts = ["replicas", "updatedReplicas", "availableReplicas"].map(count);
    status["observedGeneration"] == deployment["metadata"]["generation"]
        && counts
            .iter()
            .all(|count| Some(*count) == spec["replicas"].as_u64())
}

pub(crate) fn is_owned_by(object: &Value, owner: &Value) -> bool {
    let references = object["metadata"]["ownerReferences"].as_array();
    let mut references = references.into_iter().flatten();
    references
        .any(|reference| reference["controller"] == true && reference["uid"] == owner["metadata"]["uid"])
}

pub(crate) fn image(object: &Value) -> &Value {
    &object["spec"]["template"]["spec"]["containers"][0]["image"]
}

/// A Deployment, whose pods end at once when they are deleted.
pub(crate) fn deployment(name: &str, replicas: u64) -> Value {
    let labels = json!({"app": "web"});
    let mut deployment = named("apps/v1", "Deployment", name);
    deployment["spec"] = json!({
        "replicas": replicas,
        "selector": {"matchLabels": labels},
        "template": {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "web", "image": "first"}]}},
    });
    deployment
}

/// A patch that changes the template.
pub(crate) fn with_image(image: &str) -> Value {
    json!({"spec": {"template": {"spec": {"containers": [{"name": "web", "image": image}]}}}})
}

pub(crate) fn named(api_version: &str, kind: &str, name: &str) -> Value {
    json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": name, "namespace": "default"}})
}

/// Items of lists lack their kind.
pub(crate) fn typed(api_version: &str, kind: &str, item: &Value) -> Value {
    let mut object = item.clone();
    object["apiVersion"] = json!(api_version);
    object["kind"] = json!(kind);
    object
}

//! An API server with the controller, and the objects of the tests. No scheduler and no kubelet run: tests make pods ready.

use std::{collections::BTreeMap, time::Duration};

use kubewright::{k8s_openapi::jiff::Timestamp, testing::TestOperator};
use kubewright_controllers::{Options, register};
use kubewright_testkit::{Cluster, Identity};
use serde_json::{Value, json};

pub(crate) const HASH: &str = "controller-revision-hash";

pub(crate) struct Scenario {
    pub(crate) cluster: Cluster,
    pub(crate) identity: Identity,
    operator: Option<TestOperator>,
}

pub(crate) fn options() -> Options {
    Options::default().select("daemonset").unwrap()
}

impl Scenario {
    /// Starts an API server with these nodes, and the controller.
    pub(crate) async fn start(nodes: &[&str]) -> Self {
        let mut scenario = Self::without_controller(nodes);
        scenario.start_controller().await;
        scenario
    }

    pub(crate) fn without_controller(nodes: &[&str]) -> Self {
        let cluster = Cluster::embedded().unwrap();
        let permissions = TestOperator::permissions(|setup| register(setup, &options()));
        let identity = cluster.operator("controllers", &permissions).unwrap();
        let scenario = Self {
            cluster,
            identity,
            operator: None,
        };
        for node in nodes {
            scenario.add_node(node, &json!({}), &json!([]));
        }
        scenario
    }

    pub(crate) async fn start_controller(&mut self) {
        let config = self.identity.config().await.unwrap();
        self.operator = Some(TestOperator::start(config, |setup| register(setup, &options())));
    }

    /// Adds a node with these labels and taints. The API server gives each new one the taint of nodes that are not ready.
    pub(crate) fn add_node(&self, name: &str, labels: &Value, taints: &Value) -> Value {
        let mut new = node(name);
        new["metadata"]["labels"] = labels.clone();
        self.apply(&new);
        self.patch(&new, &json!({"spec": {"taints": taints}}))
    }

    pub(crate) fn apply(&self, object: &Value) -> Value {
        self.cluster.apply(object).unwrap()
    }

    pub(crate) fn patch(&self, object: &Value, change: &Value) -> Value {
        self.cluster.merge_patch(object, change).unwrap()
    }

    pub(crate) fn pods(&self) -> Vec<Value> {
        self.cluster.list(&pod("any")).unwrap()
    }

    /// Waits until the pods meet the condition.
    pub(crate) async fn pods_until(&self, condition: impl Fn(&[Value]) -> bool) -> Vec<Value> {
        for _ in 0..3000 {
            let pods = self.pods();
            if condition(&pods) {
                return pods;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("the pods do not meet the condition: {:#?}", self.pods());
    }

    /// Waits until exactly these nodes have a pod each.
    pub(crate) async fn pods_on(&self, nodes: &[&str]) -> Vec<Value> {
        self.pods_until(|pods| {
            let mut found: Vec<_> = pods.iter().map(target).collect();
            found.sort_unstable();
            found == nodes
        })
        .await
    }

    /// Makes all pods ready that exist now.
    pub(crate) fn make_ready(&self) {
        for pod in self.pods() {
            if pod["status"]["conditions"].is_null() && pod["metadata"]["deletionTimestamp"].is_null() {
                self.set_ready(&pod, "True");
            }
        }
    }

    /// Sets the condition Ready of a pod, which may be deleted by now.
    pub(crate) fn set_ready(&self, pod: &Value, status: &str) {
        let condition = json!({"type": "Ready", "status": status, "lastTransitionTime": Timestamp::now()});
        let status = json!({"phase": "Running", "conditions": [condition]});
        let _ = self.cluster.patch_status(&typed_pod(pod), &status);
    }

    /// Makes pods ready until the status shows that all desired pods are updated and available. Calls `check` again and again.
    pub(crate) async fn complete_and(&self, daemon_set: &Value, check: impl Fn(&[Value])) -> Value {
        for _ in 0..3000 {
            let found = self.cluster.get(daemon_set).unwrap().unwrap_or_default();
            check(&self.pods());
            if is_complete(&found) {
                return found;
            }
            self.make_ready();
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!(
            "the rollout is not complete: {:#?} {:#?}",
            self.cluster.get(daemon_set),
            self.pods()
        );
    }

    pub(crate) async fn complete(&self, daemon_set: &Value) -> Value {
        self.complete_and(daemon_set, |_| {}).await
    }

    /// Waits until the status has these counts: desired, current, ready and misscheduled.
    pub(crate) async fn counts(&self, daemon_set: &Value, expected: [u64; 4]) -> Value {
        const NAMES: [&str; 4] = [
            "desiredNumberScheduled",
            "currentNumberScheduled",
            "numberReady",
            "numberMisscheduled",
        ];
        let has_counts = |found: &Value| {
            let count = |name: &str| found["status"][name].as_u64().unwrap_or(0);
            is_observed(found) && NAMES.map(count) == expected
        };
        self.cluster.wait_until(daemon_set, has_counts).await
    }

    /// The revisions by number, with their hashes.
    pub(crate) fn revisions(&self) -> BTreeMap<i64, String> {
        let revision = json!({"apiVersion": "apps/v1", "kind": "ControllerRevision", "metadata": {"name": "any", "namespace": "default"}});
        let revisions = self.cluster.list(&revision).unwrap().into_iter();
        revisions
            .map(|revision| {
                let hash = revision["metadata"]["labels"][HASH].as_str();
                (revision["revision"].as_i64().unwrap(), hash.unwrap().to_owned())
            })
            .collect()
    }

    /// Waits until there are the revisions with these numbers.
    pub(crate) async fn revisions_until(&self, numbers: &[i64]) -> BTreeMap<i64, String> {
        for _ in 0..3000 {
            let revisions = self.revisions();
            if revisions.keys().eq(numbers) {
                return revisions;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("{:?} instead of {numbers:?}", self.revisions());
    }
}

pub(crate) fn is_observed(daemon_set: &Value) -> bool {
    daemon_set["status"]["observedGeneration"] == daemon_set["metadata"]["generation"]
}

fn is_complete(daemon_set: &Value) -> bool {
    let status = &daemon_set["status"];
    let desired = status["desiredNumberScheduled"].as_u64();
    is_observed(daemon_set)
        && desired > Some(0)
        && status["updatedNumberScheduled"].as_u64() == desired
        && status["numberAvailable"].as_u64() == desired
}

pub(crate) fn on_delete() -> Value {
    json!({"type": "OnDelete"})
}

pub(crate) fn rolling(surge: &Value, unavailable: &Value) -> Value {
    json!({"type": "RollingUpdate", "rollingUpdate": {"maxSurge": surge, "maxUnavailable": unavailable}})
}

pub(crate) fn daemon_set(strategy: &Value) -> Value {
    let labels = json!({"app": "agent"});
    json!({
        "apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": "agent", "namespace": "default"},
        "spec": {
            "selector": {"matchLabels": labels},
            "updateStrategy": strategy,
            "template": {
                "metadata": {"labels": labels},
                "spec": {
                    "containers": [{"name": "agent", "image": "agent:1"}],
                    "terminationGracePeriodSeconds": 0,
                },
            },
        },
    })
}

/// A change of a DaemonSet to another image.
pub(crate) fn with_image(image: &str) -> Value {
    json!({"spec": {"template": {"spec": {"containers": [{"name": "agent", "image": image}]}}}})
}

pub(crate) fn node(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}})
}

pub(crate) fn pod(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "default"}})
}

/// Items of lists lack their kind.
pub(crate) fn typed_pod(item: &Value) -> Value {
    pod(item["metadata"]["name"].as_str().unwrap())
}

/// The node that a pod is made for.
pub(crate) fn target(pod: &Value) -> &str {
    let affinity = &pod["spec"]["affinity"]["nodeAffinity"];
    let terms = &affinity["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"];
    let field = &terms[0]["matchFields"][0];
    assert_eq!(
        (&field["key"], &field["operator"]),
        (&json!("metadata.name"), &json!("In"))
    );
    field["values"][0].as_str().unwrap()
}

pub(crate) fn hash_of(pod: &Value) -> &str {
    pod["metadata"]["labels"][HASH].as_str().unwrap_or_default()
}

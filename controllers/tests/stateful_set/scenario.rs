//! An API server with the controller. No kubelet runs: tests make pods ready.

use std::time::Duration;

use kubewright::{k8s_openapi::jiff::Timestamp, testing::TestOperator};
use kubewright_controllers::{Options, register};
use kubewright_testkit::{Cluster, Identity};
use serde_json::{Value, json};

pub(crate) const REVISION: &str = "controller-revision-hash";

pub(crate) struct Scenario {
    pub(crate) cluster: Cluster,
    pub(crate) identity: Identity,
    _operator: TestOperator,
}

pub(crate) fn options() -> Options {
    Options::default().select("statefulset").unwrap()
}

impl Scenario {
    pub(crate) async fn start() -> Self {
        Self::start_with(&TestOperator::permissions(|setup| register(setup, &options()))).await
    }

    /// Starts the controller with these permissions: its own, or fewer.
    pub(crate) async fn start_with(permissions: &(impl serde::Serialize + ?Sized)) -> Self {
        let cluster = Cluster::embedded().unwrap();
        let start = |setup: &mut _| register(setup, &options());
        let identity = cluster.operator("statefulset-controller", permissions).unwrap();
        let operator = TestOperator::start(identity.config().await.unwrap(), start);
        Self {
            cluster,
            identity,
            _operator: operator,
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

    /// The pods of the application, by name.
    pub(crate) fn pods(&self) -> Vec<Value> {
        self.list("v1", "Pod")
    }

    pub(crate) fn list(&self, api_version: &str, kind: &str) -> Vec<Value> {
        let objects = self.cluster.list(&named(api_version, kind, "any")).unwrap();
        let mut objects: Vec<_> = objects
            .iter()
            .map(|one| {
                let mut object = one.clone();
                object["apiVersion"] = json!(api_version);
                object["kind"] = json!(kind);
                object
            })
            .collect();
        objects.sort_by_key(|object| name(object).to_owned());
        objects
    }

    /// Waits until the pods have these names.
    pub(crate) async fn names(&self, expected: &[&str]) -> Vec<Value> {
        self.pods_until(|pods| pods.iter().map(name).eq(expected.iter().copied()))
            .await
    }

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

    /// Waits until the status has these numbers, of the present spec: replicas, ready, current, updated ones.
    pub(crate) async fn counts(&self, set: &Value, counts: [u64; 4]) -> Value {
        let has_counts = |found: &Value| {
            let status = &found["status"];
            let count = |name: &str| status[name].as_u64().unwrap_or(0);
            ["replicas", "readyReplicas", "currentReplicas", "updatedReplicas"].map(count) == counts
                && status["observedGeneration"] == found["metadata"]["generation"]
        };
        self.cluster.wait_until(set, has_counts).await
    }

    /// Makes pods ready until all replicas exist, are ready and of the present template. Calls `check` with the pods again and again.
    pub(crate) async fn complete_and(&self, set: &Value, check: impl Fn(&[Value])) -> Value {
        for _ in 0..3000 {
            let found = self.get(set);
            check(&self.pods());
            let (spec, status) = (&found["spec"], &found["status"]);
            let replicas = spec["replicas"].as_u64();
            let count = |name: &str| status[name].as_u64() == replicas;
            if status["observedGeneration"] == found["metadata"]["generation"]
                && count("replicas")
                && count("updatedReplicas")
                && count("availableReplicas")
            {
                return found;
            }
            self.make_ready();
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("the set is not complete: {:#} {:#?}", self.get(set), self.pods());
    }

    pub(crate) async fn complete(&self, set: &Value) -> Value {
        self.complete_and(set, |_| {}).await
    }

    /// Makes all pods ready that exist now.
    pub(crate) fn make_ready(&self) {
        for pod in self.pods() {
            if pod["status"]["conditions"].is_null() && pod["metadata"]["deletionTimestamp"].is_null() {
                self.set_ready(&pod);
            }
        }
    }

    pub(crate) fn set_ready(&self, pod: &Value) {
        let condition = json!({"type": "Ready", "status": "True", "lastTransitionTime": Timestamp::now()});
        let status = json!({"phase": "Running", "conditions": [condition]});
        // It may be deleted in the meantime.
        let _ = self.cluster.patch_status(pod, &status);
    }

    /// Waits until events about the set have exactly these reasons.
    pub(crate) async fn reasons(&self, set: &Value, expected: &[&str]) {
        let mut reasons = Vec::new();
        for _ in 0..1000 {
            let events = self.list("events.k8s.io/v1", "Event");
            let about = events
                .iter()
                .filter(|event| event["regarding"]["name"] == set["metadata"]["name"]);
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

pub(crate) fn name(object: &Value) -> &str {
    object["metadata"]["name"].as_str().unwrap()
}

pub(crate) fn images(pods: &[Value]) -> Vec<&str> {
    pods.iter()
        .map(|pod| pod["spec"]["containers"][0]["image"].as_str().unwrap())
        .collect()
}

/// Returns the uids of the owners of a kind.
pub(crate) fn owners<'o>(object: &'o Value, kind: &str) -> Vec<&'o str> {
    let owners = object["metadata"]["ownerReferences"]
        .as_array()
        .into_iter()
        .flatten();
    let of_kind = owners.filter(|owner| owner["kind"] == kind);
    of_kind.map(|owner| owner["uid"].as_str().unwrap()).collect()
}

/// A set `web` with a claim a pod, whose pods end at once when they are deleted.
pub(crate) fn stateful_set(replicas: u64) -> Value {
    let labels = json!({"app": "web"});
    let mut set = named("apps/v1", "StatefulSet", "web");
    let claim = json!({
        "metadata": {"name": "data"},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
    });
    set["spec"] = json!({
        "replicas": replicas,
        "serviceName": "headless",
        "selector": {"matchLabels": labels},
        "template": {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "web", "image": "first"}]}},
        "volumeClaimTemplates": [claim],
    });
    set
}

/// A patch that changes the template.
pub(crate) fn with_image(image: &str) -> Value {
    json!({"spec": {"template": {"spec": {"containers": [{"name": "web", "image": image}]}}}})
}

pub(crate) fn named(api_version: &str, kind: &str, name: &str) -> Value {
    json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": name, "namespace": "default"}})
}

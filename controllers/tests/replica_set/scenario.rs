//! An API server with the controllers, and the objects of the tests.

use kubewright::testing::TestOperator;
use kubewright_controllers::{Options, register};
use kubewright_testkit::{Cluster, Identity};
use serde_json::{Value, json};

pub(crate) const REPLICA_SET: &str = "ReplicaSet";
pub(crate) const REPLICATION_CONTROLLER: &str = "ReplicationController";

pub(crate) struct Scenario {
    pub(crate) cluster: Cluster,
    pub(crate) identity: Identity,
    operator: Option<TestOperator>,
}

pub(crate) fn options() -> Options {
    Options::default()
        .select("replicaset,replicationcontroller")
        .unwrap()
}

impl Scenario {
    /// Starts an API server and the controllers.
    pub(crate) async fn start() -> Self {
        let mut scenario = Self::without_controllers();
        scenario.start_controllers().await;
        scenario
    }

    pub(crate) fn without_controllers() -> Self {
        let cluster = Cluster::embedded().unwrap();
        let permissions = TestOperator::permissions(|setup| register(setup, &options()));
        let identity = cluster.operator("controllers", &permissions).unwrap();
        Self {
            cluster,
            identity,
            operator: None,
        }
    }

    pub(crate) async fn start_controllers(&mut self) {
        let config = self.identity.config().await.unwrap();
        self.operator = Some(TestOperator::start(config, |setup| register(setup, &options())));
    }

    pub(crate) fn apply(&self, object: &Value) -> Value {
        self.cluster.apply(object).unwrap()
    }

    pub(crate) fn patch(&self, object: &Value, change: &Value) -> Value {
        self.cluster.merge_patch(object, change).unwrap()
    }

    pub(crate) fn pods(&self) -> Vec<Value> {
        let pods = self.cluster.list(&pod("any")).unwrap();
        let of_app = |pod: &Value| pod["metadata"]["labels"]["app"] == "web";
        pods.into_iter().filter(of_app).collect()
    }

    /// Waits until the pods of the application meet the condition.
    pub(crate) async fn pods_until(&self, condition: impl Fn(&[Value]) -> bool) -> Vec<Value> {
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
    pub(crate) async fn stable(&self, owner: &Value) -> Value {
        let is_stable = |found: &Value| {
            let (spec, status) = (&found["spec"]["replicas"], &found["status"]["replicas"]);
            spec.is_i64() && spec == status && is_observed(found)
        };
        self.cluster.wait_until(owner, is_stable).await
    }

    pub(crate) async fn scale(&self, owner: &Value, replicas: u32) -> Vec<Value> {
        self.patch(owner, &json!({"spec": {"replicas": replicas}}));
        self.stable(owner).await;
        self.pods_until(|pods| pods.len() == replicas as usize).await
    }

    /// Sets the condition Ready of a pod.
    pub(crate) fn set_ready(&self, pod: &Value, status: &str, since: &str) {
        let condition = json!({"type": "Ready", "status": status, "lastTransitionTime": since});
        let status = json!({"phase": "Running", "conditions": [condition]});
        self.cluster.patch_status(pod, &status).unwrap();
    }

    /// Waits for events about an owner with these reasons, each once, sorted. They name the controller as upstream's.
    pub(crate) async fn reasons_until(&self, owner: &Value, expected: &[&str]) {
        let controller = match owner["kind"].as_str() {
            Some(REPLICATION_CONTROLLER) => "replication-controller",
            _ => "replicaset-controller",
        };
        for _ in 0..3000 {
            let event = json!({"apiVersion": "events.k8s.io/v1", "kind": "Event", "metadata": {"name": "any", "namespace": "default"}});
            let events = self.cluster.list(&event).unwrap();
            let about = events
                .iter()
                .filter(|event| event["regarding"]["name"] == owner["metadata"]["name"]);
            let mut reasons: Vec<_> = about
                .inspect(|event| assert_eq!(event["reportingController"], controller))
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

pub(crate) fn is_observed(owner: &Value) -> bool {
    owner["status"]["observedGeneration"] == owner["metadata"]["generation"]
}

pub(crate) fn owner(kind: &str, name: &str, replicas: u32) -> Value {
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

pub(crate) fn pod(name: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": name, "namespace": "default", "labels": {"app": "web"}},
        "spec": {"containers": [{"name": "web", "image": "web"}]},
    })
}

pub(crate) fn controller_of(pod: &Value) -> Option<&Value> {
    let references = pod["metadata"]["ownerReferences"].as_array()?;
    references
        .iter()
        .find(|reference| reference["controller"] == true)
}

pub(crate) fn is_owned_by(pod: &Value, owner: &Value) -> bool {
    controller_of(pod).is_some_and(|reference| reference["uid"] == owner["metadata"]["uid"])
}

/// Items of lists lack their kind.
pub(crate) fn typed_pod(pod: &Value) -> Value {
    let name = pod["metadata"]["name"].as_str().unwrap();
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "default"}})
}

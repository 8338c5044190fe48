//! Tests with the embedded API server.

use std::time::{Duration, Instant};

use kube::Client;
use kube::config::{Config, KubeConfigOptions, Kubeconfig};
use kubewright_apiserver::ApiServer;
use serde_json::{Value, json};

use crate::{Simulation, Timing};

const TIMEOUT: Duration = Duration::from_secs(20);
const PODS: &str = "/api/v1/namespaces/default/pods";

struct TestCluster {
    _server: ApiServer,
    _simulation: Simulation,
    client: Client,
}

impl TestCluster {
    async fn start() -> Self {
        let server = ApiServer::start().await.unwrap();
        let config: Kubeconfig = serde_json::from_str(&server.kubeconfig()).unwrap();
        let config = Config::from_custom_kubeconfig(config, &KubeConfigOptions::default())
            .await
            .unwrap();
        let client = Client::try_from(config).unwrap();
        let timing = Timing {
            pod_start: Duration::from_millis(20),
            pod_run: Duration::from_millis(20),
        };
        Self {
            _server: server,
            _simulation: Simulation::start(client.clone(), timing),
            client,
        }
    }

    async fn request(&self, method: &str, path: &str, body: Value) -> Result<Value, kube::Error> {
        let kind = if method == "PATCH" {
            "application/merge-patch+json"
        } else {
            "application/json"
        };
        let body = if body.is_null() {
            vec![]
        } else {
            body.to_string().into_bytes()
        };
        let request = http::Request::builder()
            .method(method)
            .uri(path)
            .header("Content-Type", kind);
        self.client.request(request.body(body).unwrap()).await
    }

    async fn create(&self, path: &str, object: Value) -> Value {
        self.request("POST", path, object).await.unwrap()
    }

    /// Repeats a GET until the object satisfies the condition.
    async fn wait_until(&self, path: &str, condition: impl Fn(&Value) -> bool) -> Value {
        let mut last = Value::Null;
        let poll = async {
            loop {
                last = self.request("GET", path, Value::Null).await.unwrap_or_default();
                if condition(&last) {
                    return;
                }
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        let result = tokio::time::timeout(TIMEOUT, poll).await;
        assert!(result.is_ok(), "{path}: {last:#}");
        last
    }
}

fn template(annotations: &Value) -> Value {
    json!({
        "metadata": { "labels": { "app": "a" }, "annotations": annotations },
        "spec": { "containers": [{ "name": "c", "image": "i" }] },
    })
}

fn workload(kind: &str, more: &Value, annotations: &Value) -> Value {
    let mut spec =
        json!({ "selector": { "matchLabels": { "app": "a" } }, "template": template(annotations) });
    for (key, value) in more.as_object().unwrap() {
        spec[key] = value.clone();
    }
    json!({ "apiVersion": "apps/v1", "kind": kind, "metadata": { "name": "a" }, "spec": spec })
}

fn is_observed(object: &Value) -> bool {
    object["status"]["observedGeneration"] == object["metadata"]["generation"]
}

fn items(list: &Value) -> &[Value] {
    list["items"].as_array().map(Vec::as_slice).unwrap_or_default()
}

const DEPLOYMENTS: &str = "/apis/apps/v1/namespaces/default/deployments";
const DEPLOYMENT: &str = "/apis/apps/v1/namespaces/default/deployments/a";

#[tokio::test]
async fn deployment_becomes_available_scales_and_is_deleted() {
    let cluster = TestCluster::start().await;
    cluster
        .create(
            DEPLOYMENTS,
            workload("Deployment", &json!({ "replicas": 3 }), &json!({})),
        )
        .await;
    let deployment = cluster
        .wait_until(DEPLOYMENT, |object| object["status"]["availableReplicas"] == 3)
        .await;
    let available = crate::object::condition(&deployment, "Available").unwrap();
    assert_eq!(available["reason"], "MinimumReplicasAvailable");

    let pods = cluster.wait_until(PODS, |pods| items(pods).len() == 3).await;
    let pod = &items(&pods)[0];
    assert_eq!(pod["spec"]["nodeName"], crate::NODE);
    assert_eq!(pod["status"]["phase"], "Running");
    assert!(pod["metadata"]["labels"]["pod-template-hash"].is_string());

    cluster
        .request("PATCH", DEPLOYMENT, json!({ "spec": { "replicas": 1 } }))
        .await
        .unwrap();
    cluster.wait_until(PODS, |pods| items(pods).len() == 1).await;
    let scaled = cluster
        .wait_until(DEPLOYMENT, |object| {
            object["status"]["replicas"] == 1 && is_observed(object)
        })
        .await;
    assert_eq!(scaled["status"]["availableReplicas"], 1);

    cluster.request("DELETE", DEPLOYMENT, Value::Null).await.unwrap();
    cluster.wait_until(PODS, |pods| items(pods).is_empty()).await;
}

#[tokio::test]
async fn rolling_update_keeps_minimum_availability() {
    let cluster = TestCluster::start().await;
    let deployment = workload("Deployment", &json!({ "replicas": 4 }), &json!({}));
    cluster.create(DEPLOYMENTS, deployment).await;
    cluster
        .wait_until(DEPLOYMENT, |object| object["status"]["availableReplicas"] == 4)
        .await;
    let image =
        json!({ "spec": { "template": { "spec": { "containers": [{ "name": "c", "image": "j" }] } } } });
    cluster.request("PATCH", DEPLOYMENT, image).await.unwrap();
    cluster
        .wait_until(DEPLOYMENT, |object| {
            let status = &object["status"];
            if let Some(available) = status["availableReplicas"].as_i64() {
                assert!(available >= 3, "a quarter may be missing: {status}");
            }
            is_observed(object)
                && status["updatedReplicas"] == 4
                && status["replicas"] == 4
                && status["availableReplicas"] == 4
        })
        .await;
    let pods = cluster.wait_until(PODS, |pods| items(pods).len() == 4).await;
    assert!(
        items(&pods)
            .iter()
            .all(|pod| pod["spec"]["containers"][0]["image"] == "j")
    );
    let revision = "deployment.kubernetes.io/revision";
    cluster
        .wait_until(DEPLOYMENT, |object| {
            object["metadata"]["annotations"][revision] == "2"
        })
        .await;
}

#[tokio::test]
async fn annotation_waiting_keeps_pods_pending() {
    let cluster = TestCluster::start().await;
    let stuck = json!({ "simulation.kubewright.dev/waiting": "ImagePullBackOff" });
    cluster
        .create(DEPLOYMENTS, workload("Deployment", &json!({}), &stuck))
        .await;
    let pods = cluster
        .wait_until(PODS, |pods| {
            items(pods)
                .iter()
                .any(|pod| !pod["status"]["containerStatuses"].is_null())
        })
        .await;
    let status = &items(&pods)[0]["status"];
    assert_eq!(status["phase"], "Pending");
    assert_eq!(
        status["containerStatuses"][0]["state"]["waiting"]["reason"],
        "ImagePullBackOff"
    );
    let deployment = cluster
        .wait_until(DEPLOYMENT, |object| object["status"]["unavailableReplicas"] == 1)
        .await;
    assert_eq!(
        crate::object::condition(&deployment, "Available").unwrap()["status"],
        "False"
    );
}

/// Annotations `start` and `run` override the timing.
#[tokio::test]
async fn annotations_override_the_timing() {
    let cluster = TestCluster::start().await;
    let slow = json!({
        "simulation.kubewright.dev/start": "600",
        "simulation.kubewright.dev/run": "600",
        "simulation.kubewright.dev/exit-code": "1",
    });
    let begun = Instant::now();
    cluster
        .create(DEPLOYMENTS, workload("Deployment", &json!({}), &slow))
        .await;
    cluster
        .wait_until(DEPLOYMENT, |object| object["status"]["availableReplicas"] == 1)
        .await;
    assert!(
        begun.elapsed() >= Duration::from_millis(600),
        "{:?}",
        begun.elapsed()
    );
    // With the policy Always, it would run forever.
    cluster
        .wait_until(PODS, |pods| {
            items(pods)[0]["status"]["containerStatuses"][0]["restartCount"] == 1
        })
        .await;
    assert!(
        begun.elapsed() >= Duration::from_millis(1200),
        "{:?}",
        begun.elapsed()
    );
}

#[tokio::test]
async fn running_pod_is_resized() {
    const POD: &str = "/api/v1/namespaces/default/pods/sized";
    let cluster = TestCluster::start().await;
    let sized = |cpu: &str| json!({ "name": "c", "image": "i", "resources": { "requests": { "cpu": cpu } } });
    let pod = json!({ "metadata": { "name": "sized" }, "spec": { "containers": [sized("1")] } });
    cluster.create(PODS, pod).await;
    let has = |cpu: &'static str| {
        move |pod: &Value| pod["status"]["containerStatuses"][0]["resources"]["requests"]["cpu"] == cpu
    };
    cluster.wait_until(POD, has("1")).await;
    let larger = json!({ "spec": { "containers": [sized("2")] } });
    cluster
        .request("PATCH", &format!("{POD}/resize"), larger)
        .await
        .unwrap();
    cluster.wait_until(POD, has("2")).await;
}

#[tokio::test]
async fn never_ready_pod_runs_but_is_not_ready() {
    let cluster = TestCluster::start().await;
    let never = json!({ "simulation.kubewright.dev/never-ready": "true" });
    cluster
        .create(DEPLOYMENTS, workload("Deployment", &json!({}), &never))
        .await;
    let pods = cluster
        .wait_until(PODS, |pods| {
            items(pods).len() == 1 && items(pods)[0]["status"]["phase"] == "Running"
        })
        .await;
    let ready = crate::object::condition(&items(&pods)[0], "Ready").unwrap();
    assert_eq!(
        (&ready["status"], &ready["reason"]),
        (&json!("False"), &json!("ContainersNotReady"))
    );
    let deployment = cluster
        .wait_until(DEPLOYMENT, |object| object["status"]["unavailableReplicas"] == 1)
        .await;
    assert!(deployment["status"]["readyReplicas"].is_null(), "{deployment:#}");
}

#[tokio::test]
async fn standalone_replica_set_replaces_and_scales_pods() {
    let cluster = TestCluster::start().await;
    let sets = "/apis/apps/v1/namespaces/default/replicasets";
    let set = "/apis/apps/v1/namespaces/default/replicasets/a";
    cluster
        .create(
            sets,
            workload("ReplicaSet", &json!({ "replicas": 2 }), &json!({})),
        )
        .await;
    let ready = |count: i64| {
        move |object: &Value| {
            let status = &object["status"];
            is_observed(object) && status["replicas"] == count && status["readyReplicas"] == count
        }
    };
    let object = cluster.wait_until(set, ready(2)).await;
    assert_eq!(object["status"]["availableReplicas"], 2);

    // A deleted pod is replaced.
    let pods = cluster.wait_until(PODS, |pods| items(pods).len() == 2).await;
    let gone = crate::object::name(&items(&pods)[0]).to_owned();
    let path = format!("{PODS}/{gone}");
    cluster.request("DELETE", &path, Value::Null).await.unwrap();
    cluster
        .wait_until(PODS, |pods| {
            items(pods).len() == 2 && items(pods).iter().all(|pod| crate::object::name(pod) != gone)
        })
        .await;
    cluster
        .request("PATCH", set, json!({ "spec": { "replicas": 1 } }))
        .await
        .unwrap();
    cluster.wait_until(set, ready(1)).await;
    cluster.wait_until(PODS, |pods| items(pods).len() == 1).await;
    let deployments = cluster.request("GET", DEPLOYMENTS, Value::Null).await.unwrap();
    assert!(items(&deployments).is_empty());
}

#[tokio::test]
async fn every_namespace_gets_a_default_service_account() {
    let cluster = TestCluster::start().await;
    let namespace = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": "n" } });
    cluster.create("/api/v1/namespaces", namespace).await;
    for name in ["default", "n"] {
        let path = format!("/api/v1/namespaces/{name}/serviceaccounts/default");
        cluster
            .wait_until(&path, |account| account["metadata"]["name"] == "default")
            .await;
    }
}

#[tokio::test]
async fn stateful_set_pods_have_stable_names() {
    let cluster = TestCluster::start().await;
    let sets = "/apis/apps/v1/namespaces/default/statefulsets";
    let set = "/apis/apps/v1/namespaces/default/statefulsets/a";
    let wanted = workload(
        "StatefulSet",
        &json!({ "replicas": 2, "serviceName": "a" }),
        &json!({}),
    );
    cluster.create(sets, wanted).await;
    cluster
        .wait_until(set, |object| object["status"]["readyReplicas"] == 2)
        .await;
    let names = |pods: &Value| -> Vec<String> {
        items(pods)
            .iter()
            .map(|pod| crate::object::name(pod).to_owned())
            .collect()
    };
    assert_eq!(
        names(&cluster.wait_until(PODS, |pods| items(pods).len() == 2).await),
        ["a-0", "a-1"]
    );

    let image =
        json!({ "spec": { "template": { "spec": { "containers": [{ "name": "c", "image": "j" }] } } } });
    cluster.request("PATCH", set, image).await.unwrap();
    cluster
        .wait_until(set, |object| {
            let status = &object["status"];
            is_observed(object)
                && status["updatedReplicas"] == 2
                && status["currentRevision"] == status["updateRevision"]
        })
        .await;
    cluster
        .request("PATCH", set, json!({ "spec": { "replicas": 1 } }))
        .await
        .unwrap();
    let left = cluster.wait_until(PODS, |pods| items(pods).len() == 1).await;
    assert_eq!(names(&left), ["a-0"]);
}

#[tokio::test]
async fn daemon_set_runs_one_pod_on_the_node() {
    let cluster = TestCluster::start().await;
    let sets = "/apis/apps/v1/namespaces/default/daemonsets";
    let set = "/apis/apps/v1/namespaces/default/daemonsets/a";
    cluster
        .create(sets, workload("DaemonSet", &json!({}), &json!({})))
        .await;
    cluster
        .wait_until(set, |object| object["status"]["numberReady"] == 1)
        .await;
    let image =
        json!({ "spec": { "template": { "spec": { "containers": [{ "name": "c", "image": "j" }] } } } });
    cluster.request("PATCH", set, image).await.unwrap();
    cluster
        .wait_until(PODS, |pods| {
            items(pods).len() == 1 && items(pods)[0]["spec"]["containers"][0]["image"] == "j"
        })
        .await;
    cluster
        .wait_until(set, |object| {
            is_observed(object) && object["status"]["updatedNumberScheduled"] == 1
        })
        .await;
}

fn job(more: &Value, policy: &str, annotations: &Value) -> Value {
    let template = json!({
        "metadata": { "annotations": annotations },
        "spec": { "restartPolicy": policy, "containers": [{ "name": "c", "image": "i" }] },
    });
    let mut spec = json!({ "template": template });
    for (key, value) in more.as_object().unwrap() {
        spec[key] = value.clone();
    }
    json!({ "apiVersion": "batch/v1", "kind": "Job", "metadata": { "name": "a" }, "spec": spec })
}

const JOBS: &str = "/apis/batch/v1/namespaces/default/jobs";
const JOB: &str = "/apis/batch/v1/namespaces/default/jobs/a";

#[tokio::test]
async fn job_completes() {
    let cluster = TestCluster::start().await;
    let wanted = job(
        &json!({ "completions": 3, "parallelism": 2 }),
        "Never",
        &json!({}),
    );
    cluster.create(JOBS, wanted).await;
    let done = cluster
        .wait_until(JOB, |object| {
            assert!(object["status"]["active"].as_i64().unwrap_or(0) <= 2);
            crate::object::is_condition_true(object, "Complete")
        })
        .await;
    assert_eq!(done["status"]["succeeded"], 3);
    assert!(done["status"]["completionTime"].is_string());
    let pods = cluster.wait_until(PODS, |_| true).await;
    assert!(
        items(&pods)
            .iter()
            .all(|pod| pod["status"]["phase"] == "Succeeded")
    );
}

#[tokio::test]
async fn job_fails_after_its_backoff_limit() {
    let failing = json!({ "simulation.kubewright.dev/exit-code": "3" });
    for policy in ["Never", "OnFailure"] {
        let cluster = TestCluster::start().await;
        cluster
            .create(JOBS, job(&json!({ "backoffLimit": 1 }), policy, &failing))
            .await;
        let failed = cluster
            .wait_until(JOB, |object| crate::object::is_condition_true(object, "Failed"))
            .await;
        let condition = crate::object::condition(&failed, "Failed").unwrap();
        assert_eq!(condition["reason"], "BackoffLimitExceeded", "{policy}");
    }
}

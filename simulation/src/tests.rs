//! Against the embedded API server, as any client.

use std::time::{Duration, Instant};

use kube::Client;
use kube::config::{Config, KubeConfigOptions, Kubeconfig};
use kubewright_apiserver::ApiServer;
use serde_json::{Value, json};

use crate::{Simulation, Timing};

const PATIENCE: Duration = Duration::from_secs(20);
const PODS: &str = "/api/v1/namespaces/default/pods";

struct Cluster {
    _server: ApiServer,
    _simulation: Simulation,
    client: Client,
}

impl Cluster {
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

    async fn ask(&self, method: &str, path: &str, body: Value) -> Result<Value, kube::Error> {
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
        self.ask("POST", path, object).await.unwrap()
    }

    /// Asks until the answer is as it should be.
    async fn until(&self, path: &str, is: impl Fn(&Value) -> bool) -> Value {
        let mut last = Value::Null;
        let work = async {
            loop {
                last = self.ask("GET", path, Value::Null).await.unwrap_or_default();
                if is(&last) {
                    return;
                }
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        let outcome = tokio::time::timeout(PATIENCE, work).await;
        assert!(outcome.is_ok(), "{path}: {last:#}");
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

fn is_observed(found: &Value) -> bool {
    found["status"]["observedGeneration"] == found["metadata"]["generation"]
}

fn items(list: &Value) -> &[Value] {
    list["items"].as_array().map(Vec::as_slice).unwrap_or_default()
}

const DEPLOYMENTS: &str = "/apis/apps/v1/namespaces/default/deployments";
const DEPLOYMENT: &str = "/apis/apps/v1/namespaces/default/deployments/a";

#[tokio::test]
async fn a_deployment_becomes_available_scales_and_goes() {
    let cluster = Cluster::start().await;
    cluster
        .create(
            DEPLOYMENTS,
            workload("Deployment", &json!({ "replicas": 3 }), &json!({})),
        )
        .await;
    let deployment = cluster
        .until(DEPLOYMENT, |found| found["status"]["availableReplicas"] == 3)
        .await;
    let available = crate::object::condition(&deployment, "Available").unwrap();
    assert_eq!(available["reason"], "MinimumReplicasAvailable");

    let pods = cluster.until(PODS, |pods| items(pods).len() == 3).await;
    let pod = &items(&pods)[0];
    assert_eq!(pod["spec"]["nodeName"], crate::NODE);
    assert_eq!(pod["status"]["phase"], "Running");
    assert!(pod["metadata"]["labels"]["pod-template-hash"].is_string());

    cluster
        .ask("PATCH", DEPLOYMENT, json!({ "spec": { "replicas": 1 } }))
        .await
        .unwrap();
    cluster.until(PODS, |pods| items(pods).len() == 1).await;
    let scaled = cluster
        .until(DEPLOYMENT, |found| {
            found["status"]["replicas"] == 1 && is_observed(found)
        })
        .await;
    assert_eq!(scaled["status"]["availableReplicas"], 1);

    cluster.ask("DELETE", DEPLOYMENT, Value::Null).await.unwrap();
    cluster.until(PODS, |pods| items(pods).is_empty()).await;
}

#[tokio::test]
async fn a_new_template_rolls_out_without_losing_availability() {
    let cluster = Cluster::start().await;
    let deployment = workload("Deployment", &json!({ "replicas": 4 }), &json!({}));
    cluster.create(DEPLOYMENTS, deployment).await;
    cluster
        .until(DEPLOYMENT, |found| found["status"]["availableReplicas"] == 4)
        .await;
    let image =
        json!({ "spec": { "template": { "spec": { "containers": [{ "name": "c", "image": "j" }] } } } });
    cluster.ask("PATCH", DEPLOYMENT, image).await.unwrap();
    cluster
        .until(DEPLOYMENT, |found| {
            let status = &found["status"];
            if let Some(available) = status["availableReplicas"].as_i64() {
                assert!(available >= 3, "a quarter may be missing: {status}");
            }
            is_observed(found)
                && status["updatedReplicas"] == 4
                && status["replicas"] == 4
                && status["availableReplicas"] == 4
        })
        .await;
    let pods = cluster.until(PODS, |pods| items(pods).len() == 4).await;
    assert!(
        items(&pods)
            .iter()
            .all(|pod| pod["spec"]["containers"][0]["image"] == "j")
    );
    let revision = "deployment.kubernetes.io/revision";
    cluster
        .until(DEPLOYMENT, |found| {
            found["metadata"]["annotations"][revision] == "2"
        })
        .await;
}

#[tokio::test]
async fn annotations_make_pods_fail() {
    let cluster = Cluster::start().await;
    let stuck = json!({ "simulation.kubewright.dev/waiting": "ImagePullBackOff" });
    cluster
        .create(DEPLOYMENTS, workload("Deployment", &json!({}), &stuck))
        .await;
    let pods = cluster
        .until(PODS, |pods| {
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
        .until(DEPLOYMENT, |found| found["status"]["unavailableReplicas"] == 1)
        .await;
    assert_eq!(
        crate::object::condition(&deployment, "Available").unwrap()["status"],
        "False"
    );
}

/// The annotations `start` and `run` count, not the timing of all.
#[tokio::test]
async fn annotations_say_how_long_things_take() {
    let cluster = Cluster::start().await;
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
        .until(DEPLOYMENT, |found| found["status"]["availableReplicas"] == 1)
        .await;
    assert!(
        begun.elapsed() >= Duration::from_millis(600),
        "{:?}",
        begun.elapsed()
    );
    // Its policy is Always: it would run for ever.
    cluster
        .until(PODS, |pods| {
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
async fn a_running_pod_is_resized() {
    const POD: &str = "/api/v1/namespaces/default/pods/sized";
    let cluster = Cluster::start().await;
    let sized = |cpu: &str| json!({ "name": "c", "image": "i", "resources": { "requests": { "cpu": cpu } } });
    let pod = json!({ "metadata": { "name": "sized" }, "spec": { "containers": [sized("1")] } });
    cluster.create(PODS, pod).await;
    let has = |cpu: &'static str| {
        move |pod: &Value| pod["status"]["containerStatuses"][0]["resources"]["requests"]["cpu"] == cpu
    };
    cluster.until(POD, has("1")).await;
    let larger = json!({ "spec": { "containers": [sized("2")] } });
    cluster
        .ask("PATCH", &format!("{POD}/resize"), larger)
        .await
        .unwrap();
    cluster.until(POD, has("2")).await;
}

#[tokio::test]
async fn a_pod_that_is_never_ready_runs_all_the_same() {
    let cluster = Cluster::start().await;
    let never = json!({ "simulation.kubewright.dev/never-ready": "true" });
    cluster
        .create(DEPLOYMENTS, workload("Deployment", &json!({}), &never))
        .await;
    let pods = cluster
        .until(PODS, |pods| {
            items(pods).len() == 1 && items(pods)[0]["status"]["phase"] == "Running"
        })
        .await;
    let ready = crate::object::condition(&items(&pods)[0], "Ready").unwrap();
    assert_eq!(
        (&ready["status"], &ready["reason"]),
        (&json!("False"), &json!("ContainersNotReady"))
    );
    let deployment = cluster
        .until(DEPLOYMENT, |found| found["status"]["unavailableReplicas"] == 1)
        .await;
    assert!(deployment["status"]["readyReplicas"].is_null(), "{deployment:#}");
}

#[tokio::test]
async fn a_replica_set_of_its_own_keeps_its_pods() {
    let cluster = Cluster::start().await;
    let sets = "/apis/apps/v1/namespaces/default/replicasets";
    let set = "/apis/apps/v1/namespaces/default/replicasets/a";
    cluster
        .create(
            sets,
            workload("ReplicaSet", &json!({ "replicas": 2 }), &json!({})),
        )
        .await;
    let ready = |count: i64| {
        move |found: &Value| {
            let status = &found["status"];
            is_observed(found) && status["replicas"] == count && status["readyReplicas"] == count
        }
    };
    let found = cluster.until(set, ready(2)).await;
    assert_eq!(found["status"]["availableReplicas"], 2);

    // Who goes is replaced.
    let pods = cluster.until(PODS, |pods| items(pods).len() == 2).await;
    let gone = crate::object::name(&items(&pods)[0]).to_owned();
    let path = format!("{PODS}/{gone}");
    cluster.ask("DELETE", &path, Value::Null).await.unwrap();
    cluster
        .until(PODS, |pods| {
            items(pods).len() == 2 && items(pods).iter().all(|pod| crate::object::name(pod) != gone)
        })
        .await;
    cluster
        .ask("PATCH", set, json!({ "spec": { "replicas": 1 } }))
        .await
        .unwrap();
    cluster.until(set, ready(1)).await;
    cluster.until(PODS, |pods| items(pods).len() == 1).await;
    let deployments = cluster.ask("GET", DEPLOYMENTS, Value::Null).await.unwrap();
    assert!(items(&deployments).is_empty());
}

#[tokio::test]
async fn every_namespace_has_a_default_account() {
    let cluster = Cluster::start().await;
    let namespace = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": "n" } });
    cluster.create("/api/v1/namespaces", namespace).await;
    for name in ["default", "n"] {
        let path = format!("/api/v1/namespaces/{name}/serviceaccounts/default");
        cluster
            .until(&path, |account| account["metadata"]["name"] == "default")
            .await;
    }
}

#[tokio::test]
async fn a_stateful_set_has_names_that_stay() {
    let cluster = Cluster::start().await;
    let sets = "/apis/apps/v1/namespaces/default/statefulsets";
    let set = "/apis/apps/v1/namespaces/default/statefulsets/a";
    let wanted = workload(
        "StatefulSet",
        &json!({ "replicas": 2, "serviceName": "a" }),
        &json!({}),
    );
    cluster.create(sets, wanted).await;
    cluster
        .until(set, |found| found["status"]["readyReplicas"] == 2)
        .await;
    let names = |pods: &Value| -> Vec<String> {
        items(pods)
            .iter()
            .map(|pod| crate::object::name(pod).to_owned())
            .collect()
    };
    assert_eq!(
        names(&cluster.until(PODS, |pods| items(pods).len() == 2).await),
        ["a-0", "a-1"]
    );

    let image =
        json!({ "spec": { "template": { "spec": { "containers": [{ "name": "c", "image": "j" }] } } } });
    cluster.ask("PATCH", set, image).await.unwrap();
    cluster
        .until(set, |found| {
            let status = &found["status"];
            is_observed(found)
                && status["updatedReplicas"] == 2
                && status["currentRevision"] == status["updateRevision"]
        })
        .await;
    cluster
        .ask("PATCH", set, json!({ "spec": { "replicas": 1 } }))
        .await
        .unwrap();
    let left = cluster.until(PODS, |pods| items(pods).len() == 1).await;
    assert_eq!(names(&left), ["a-0"]);
}

#[tokio::test]
async fn a_daemon_set_has_a_pod_on_the_node() {
    let cluster = Cluster::start().await;
    let sets = "/apis/apps/v1/namespaces/default/daemonsets";
    let set = "/apis/apps/v1/namespaces/default/daemonsets/a";
    cluster
        .create(sets, workload("DaemonSet", &json!({}), &json!({})))
        .await;
    cluster
        .until(set, |found| found["status"]["numberReady"] == 1)
        .await;
    let image =
        json!({ "spec": { "template": { "spec": { "containers": [{ "name": "c", "image": "j" }] } } } });
    cluster.ask("PATCH", set, image).await.unwrap();
    cluster
        .until(PODS, |pods| {
            items(pods).len() == 1 && items(pods)[0]["spec"]["containers"][0]["image"] == "j"
        })
        .await;
    cluster
        .until(set, |found| {
            is_observed(found) && found["status"]["updatedNumberScheduled"] == 1
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
async fn a_job_completes() {
    let cluster = Cluster::start().await;
    let wanted = job(
        &json!({ "completions": 3, "parallelism": 2 }),
        "Never",
        &json!({}),
    );
    cluster.create(JOBS, wanted).await;
    let done = cluster
        .until(JOB, |found| {
            assert!(found["status"]["active"].as_i64().unwrap_or(0) <= 2);
            crate::object::is_true(found, "Complete")
        })
        .await;
    assert_eq!(done["status"]["succeeded"], 3);
    assert!(done["status"]["completionTime"].is_string());
    let pods = cluster.until(PODS, |_| true).await;
    assert!(
        items(&pods)
            .iter()
            .all(|pod| pod["status"]["phase"] == "Succeeded")
    );
}

#[tokio::test]
async fn a_job_fails_when_its_pods_fail_too_often() {
    let failing = json!({ "simulation.kubewright.dev/exit-code": "3" });
    for policy in ["Never", "OnFailure"] {
        let cluster = Cluster::start().await;
        cluster
            .create(JOBS, job(&json!({ "backoffLimit": 1 }), policy, &failing))
            .await;
        let failed = cluster
            .until(JOB, |found| crate::object::is_true(found, "Failed"))
            .await;
        let condition = crate::object::condition(&failed, "Failed").unwrap();
        assert_eq!(condition["reason"], "BackoffLimitExceeded", "{policy}");
    }
}

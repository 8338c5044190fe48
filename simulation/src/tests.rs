//! Tests with the embedded API server.

use std::time::{Duration, Instant};

use kube::Client;
use kube::config::{Config, KubeConfigOptions, Kubeconfig};
use kubewright_apiserver::ApiServer;
use serde_json::{Value, json};

use crate::object::{condition, is_condition_true};
use crate::{Simulation, SimulationOptions};

const TIMEOUT: Duration = Duration::from_secs(20);
const PODS: &str = "/api/v1/namespaces/default/pods";

struct TestCluster {
    _server: ApiServer,
    simulation: Simulation,
    client: Client,
}

impl TestCluster {
    async fn start() -> Self {
        Self::with_nodes(1).await
    }

    async fn with_nodes(nodes: usize) -> Self {
        let server = ApiServer::start().await.unwrap();
        let config: Kubeconfig = serde_json::from_str(&server.kubeconfig()).unwrap();
        let config = Config::from_custom_kubeconfig(config, &KubeConfigOptions::default())
            .await
            .unwrap();
        let client = Client::try_from(config).unwrap();
        let options = SimulationOptions {
            nodes,
            pod_start: Duration::from_millis(20),
            pod_run: Duration::from_millis(20),
        };
        Self {
            _server: server,
            simulation: Simulation::start(client.clone(), options),
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

    /// Creates a pod with this in its spec, and these annotations. Returns its path.
    async fn create_pod(&self, name: &str, more: &Value, annotations: &Value) -> String {
        let mut spec = json!({ "containers": [{ "name": "c", "image": "i" }] });
        for (key, value) in more.as_object().unwrap() {
            spec[key] = value.clone();
        }
        let pod = json!({ "metadata": { "name": name, "annotations": annotations }, "spec": spec });
        self.request("POST", PODS, pod).await.unwrap();
        format!("{PODS}/{name}")
    }

    async fn patch(&self, path: &str, change: Value) {
        self.request("PATCH", path, change).await.unwrap();
    }

    async fn delete(&self, path: &str) {
        self.request("DELETE", path, Value::Null).await.unwrap();
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

fn is_running(pod: &Value) -> bool {
    pod["status"]["phase"] == "Running"
}

fn state(pod: &Value) -> &Value {
    &pod["status"]["containerStatuses"][0]["state"]
}

#[tokio::test]
async fn pod_runs_on_the_node_and_becomes_ready() {
    let cluster = TestCluster::start().await;
    let path = cluster.create_pod("a", &json!({}), &json!({})).await;
    let pod = cluster.wait_until(&path, is_running).await;
    assert_eq!(pod["spec"]["nodeName"], crate::NODE);
    for kind in ["PodScheduled", "Initialized", "ContainersReady", "Ready"] {
        assert!(is_condition_true(&pod, kind), "{kind}: {pod:#}");
    }
    assert!(pod["status"]["podIP"].is_string());
}

#[tokio::test]
async fn annotation_waiting_keeps_pods_pending() {
    let cluster = TestCluster::start().await;
    let stuck = json!({ "simulation.kubewright.dev/waiting": "ImagePullBackOff" });
    let path = cluster.create_pod("a", &json!({}), &stuck).await;
    let pod = cluster.wait_until(&path, |pod| state(pod).is_object()).await;
    assert_eq!(state(&pod)["waiting"]["reason"], "ImagePullBackOff");
    assert_eq!(pod["status"]["phase"], "Pending");
    assert!(!is_condition_true(&pod, "Ready") && is_condition_true(&pod, "PodScheduled"));
}

/// Annotations `start` and `run` override the options.
#[tokio::test]
async fn annotations_override_the_durations() {
    let cluster = TestCluster::start().await;
    let slow = json!({
        "simulation.kubewright.dev/start": "600",
        "simulation.kubewright.dev/run": "600",
        "simulation.kubewright.dev/exit-code": "1",
    });
    let begun = Instant::now();
    let path = cluster.create_pod("a", &json!({}), &slow).await;
    cluster.wait_until(&path, is_running).await;
    assert!(
        begun.elapsed() >= Duration::from_millis(600),
        "{:?}",
        begun.elapsed()
    );
    // With the policy Always, it would run forever.
    cluster
        .wait_until(&path, |pod| {
            pod["status"]["containerStatuses"][0]["restartCount"] == 1
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
    let cluster = TestCluster::start().await;
    let sized = |cpu: &str| json!({ "containers": [{ "name": "c", "image": "i", "resources": { "requests": { "cpu": cpu } } }] });
    let path = cluster.create_pod("sized", &sized("1"), &json!({})).await;
    let has = |cpu: &'static str| {
        move |pod: &Value| pod["status"]["containerStatuses"][0]["resources"]["requests"]["cpu"] == cpu
    };
    cluster.wait_until(&path, has("1")).await;
    cluster
        .patch(&format!("{path}/resize"), json!({ "spec": sized("2") }))
        .await;
    cluster.wait_until(&path, has("2")).await;
}

#[tokio::test]
async fn annotation_never_ready_takes_effect_on_running_pods() {
    let cluster = TestCluster::start().await;
    let annotations = |never: Value| json!({ "simulation.kubewright.dev/never-ready": never });
    let path = cluster
        .create_pod("a", &json!({}), &annotations(json!("true")))
        .await;
    let pod = cluster.wait_until(&path, is_running).await;
    let ready = condition(&pod, "Ready").unwrap();
    assert_eq!(
        (&ready["status"], &ready["reason"]),
        (&json!("False"), &json!("ContainersNotReady"))
    );
    let change = json!({ "metadata": { "annotations": annotations(Value::Null) } });
    cluster.patch(&path, change).await;
    let ready = cluster
        .wait_until(&path, |pod| is_condition_true(pod, "Ready"))
        .await;
    assert_eq!(state(&ready), state(&pod), "the containers run on");
}

fn container(probe: &str, delay_seconds: u64) -> Value {
    let mut container = json!({ "name": "c", "image": "i" });
    container[probe] = json!({ "exec": { "command": ["true"] }, "initialDelaySeconds": delay_seconds });
    json!({ "containers": [container] })
}

#[tokio::test]
async fn pod_is_ready_after_the_initial_delay_of_its_readiness_probe() {
    let cluster = TestCluster::start().await;
    let path = cluster
        .create_pod("a", &container("readinessProbe", 1), &json!({}))
        .await;
    let pod = cluster.wait_until(&path, is_running).await;
    assert!(!is_condition_true(&pod, "Ready"), "{pod:#}");
    let running = Instant::now();
    cluster
        .wait_until(&path, |pod| is_condition_true(pod, "Ready"))
        .await;
    assert!(running.elapsed() >= Duration::from_millis(500));
}

#[tokio::test]
async fn failed_liveness_probe_kills_the_containers() {
    let cluster = TestCluster::start().await;
    let failing = json!({ "simulation.kubewright.dev/liveness-failure": "50" });
    let restarted = cluster
        .create_pod("restarted", &container("livenessProbe", 0), &failing)
        .await;
    let mut never = container("livenessProbe", 0);
    never["restartPolicy"] = json!("Never");
    let run = json!({ "simulation.kubewright.dev/liveness-failure": "0", "simulation.kubewright.dev/run": "60000" });
    let killed = cluster.create_pod("killed", &never, &run).await;
    let without_probe = cluster.create_pod("without", &json!({}), &failing).await;
    let restarts = |pod: &Value| pod["status"]["containerStatuses"][0]["restartCount"].as_i64();
    cluster
        .wait_until(&restarted, |pod| restarts(pod) >= Some(2))
        .await;
    let killed = cluster
        .wait_until(&killed, |pod| pod["status"]["phase"] == "Failed")
        .await;
    assert_eq!(state(&killed)["terminated"]["exitCode"], 137);
    let other = cluster.wait_until(&without_probe, is_running).await;
    assert_eq!(restarts(&other), Some(0));
}

#[tokio::test]
async fn readiness_gate_waits_for_its_condition_which_stays() {
    let cluster = TestCluster::start().await;
    let gated = json!({ "readinessGates": [{ "conditionType": "demo.dev/open" }] });
    let path = cluster.create_pod("a", &gated, &json!({})).await;
    let pod = cluster.wait_until(&path, is_running).await;
    assert_eq!(
        condition(&pod, "Ready").unwrap()["reason"],
        "ReadinessGatesNotReady"
    );
    let mut conditions = pod["status"]["conditions"].as_array().unwrap().clone();
    conditions.push(json!({ "type": "demo.dev/open", "status": "True" }));
    let change = json!({ "status": { "conditions": conditions } });
    cluster.patch(&format!("{path}/status"), change).await;
    let pod = cluster
        .wait_until(&path, |pod| is_condition_true(pod, "Ready"))
        .await;
    assert!(is_condition_true(&pod, "demo.dev/open"));
}

#[tokio::test]
async fn pods_complete_or_fail_and_are_restarted_as_their_policy_says() {
    let cluster = TestCluster::start().await;
    let code = |code: &str| json!({ "simulation.kubewright.dev/exit-code": code });
    for (policy, exit, phase) in [
        ("Never", "0", "Succeeded"),
        ("Never", "3", "Failed"),
        ("OnFailure", "0", "Succeeded"),
    ] {
        let name = format!("{policy}-{exit}").to_lowercase();
        let spec = json!({ "restartPolicy": policy });
        let path = cluster.create_pod(&name, &spec, &code(exit)).await;
        let pod = cluster
            .wait_until(&path, |pod| pod["status"]["phase"] == phase)
            .await;
        assert_eq!(
            state(&pod)["terminated"]["exitCode"],
            exit.parse::<i64>().unwrap()
        );
        assert!(!is_condition_true(&pod, "Ready"));
    }
    let spec = json!({ "restartPolicy": "OnFailure" });
    let path = cluster.create_pod("again", &spec, &code("1")).await;
    cluster
        .wait_until(&path, |pod| {
            pod["status"]["containerStatuses"][0]["restartCount"].as_i64() >= Some(2)
        })
        .await;
}

#[tokio::test]
async fn deleted_pod_is_gone_after_its_containers_have_ended() {
    let cluster = TestCluster::start().await;
    let slow = json!({ "simulation.kubewright.dev/stop": "400" });
    let path = cluster.create_pod("a", &json!({}), &slow).await;
    cluster.wait_until(&path, is_running).await;
    let begun = Instant::now();
    cluster.delete(&path).await;
    cluster.wait_until(&path, Value::is_null).await;
    assert!(
        begun.elapsed() >= Duration::from_millis(400),
        "{:?}",
        begun.elapsed()
    );

    let path = cluster.create_pod("held", &json!({}), &json!({})).await;
    cluster.wait_until(&path, is_running).await;
    cluster
        .patch(&path, json!({ "metadata": { "finalizers": ["demo.dev/hold"] } }))
        .await;
    cluster.delete(&path).await;
    let failed = cluster
        .wait_until(&path, |pod| pod["metadata"]["deletionGracePeriodSeconds"] == 0)
        .await;
    assert_eq!(failed["status"]["phase"], "Failed");
    assert_eq!(state(&failed)["terminated"]["exitCode"], 143);
    cluster
        .patch(&path, json!({ "metadata": { "finalizers": null } }))
        .await;
    cluster.wait_until(&path, Value::is_null).await;
}

#[tokio::test]
async fn nodes_are_ready_have_leases_and_share_the_pods() {
    let cluster = TestCluster::with_nodes(3).await;
    let nodes = cluster.simulation.nodes().to_vec();
    assert_eq!(nodes, ["simulated-node", "simulated-node-2", "simulated-node-3"]);
    for node in &nodes {
        let path = format!("/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/{node}");
        cluster
            .wait_until(&path, |lease| lease["spec"]["renewTime"].is_string())
            .await;
        let node = cluster
            .request("GET", &format!("/api/v1/nodes/{node}"), Value::Null)
            .await
            .unwrap();
        assert!(is_condition_true(&node, "Ready"));
        assert!(
            node["spec"]["taints"].as_array().is_none_or(Vec::is_empty),
            "{node:#}"
        );
    }
    let mut used = Vec::new();
    for name in ["a", "b", "c"] {
        let path = cluster.create_pod(name, &json!({}), &json!({})).await;
        let pod = cluster.wait_until(&path, is_running).await;
        used.push(pod["spec"]["nodeName"].as_str().unwrap().to_owned());
    }
    used.sort();
    assert_eq!(used, nodes);
}

#[tokio::test]
async fn pod_waits_until_the_node_is_schedulable() {
    let cluster = TestCluster::start().await;
    let node = format!("/api/v1/nodes/{}", crate::NODE);
    let first = cluster.create_pod("first", &json!({}), &json!({})).await;
    cluster.wait_until(&first, is_running).await;
    cluster
        .patch(&node, json!({ "spec": { "unschedulable": true } }))
        .await;
    let second = cluster.create_pod("second", &json!({}), &json!({})).await;
    let pending = cluster
        .wait_until(&second, |pod| condition(pod, "PodScheduled").is_some())
        .await;
    let reason = &condition(&pending, "PodScheduled").unwrap()["reason"];
    assert_eq!(reason, "Unschedulable");
    cluster
        .patch(&node, json!({ "spec": { "unschedulable": null } }))
        .await;
    cluster.wait_until(&second, is_running).await;
}

#[tokio::test]
async fn deleted_node_is_not_registered_again_and_its_pods_are_left_alone() {
    let cluster = TestCluster::with_nodes(2).await;
    let selected = |node: &str| json!({ "nodeSelector": { "kubernetes.io/hostname": node } });
    let lost = cluster
        .create_pod("lost", &selected("simulated-node-2"), &json!({}))
        .await;
    cluster.wait_until(&lost, is_running).await;
    cluster.delete("/api/v1/nodes/simulated-node-2").await;
    let kept = cluster
        .create_pod("kept", &selected("simulated-node"), &json!({}))
        .await;
    cluster.wait_until(&kept, is_running).await;
    cluster.delete(&lost).await;
    cluster.delete(&kept).await;
    cluster.wait_until(&kept, Value::is_null).await;
    let lost = cluster.request("GET", &lost, Value::Null).await.unwrap();
    assert!(lost["metadata"]["deletionTimestamp"].is_string());
    let node = cluster
        .request("GET", "/api/v1/nodes/simulated-node-2", Value::Null)
        .await;
    assert!(node.is_err(), "{node:?}");
}

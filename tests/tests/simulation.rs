//! `Cluster::simulate` beside the controllers of `kubewright-controllers`: workloads run on simulated nodes in tests.

use std::time::Duration;

use http::Method;
use kubewright_controllers::start;
use kubewright_testkit::{Cluster, SimulationOptions, eventually};
use kubewright_tests::{new_object, on_both_servers};
use serde_json::{Value, json};

const TIMEOUT: Duration = Duration::from_mins(1);
const NAMESPACE: &str = "simulated";

on_both_servers!(workloads_run_on_simulated_nodes);

fn workloads_run_on_simulated_nodes(cluster: &Cluster) {
    cluster.create_namespace(NAMESPACE).expect("a namespace");
    // ANCHOR: simulated_cluster
    let options = SimulationOptions {
        nodes: 2,
        pod_start: Duration::from_millis(20),
        pod_run: Duration::from_millis(20),
    };
    let simulation = cluster.simulate(options).expect("the simulation starts");
    let runtime = tokio::runtime::Runtime::new().expect("threads");
    let controllers = runtime.block_on(async {
        let config = cluster.admin().config().await.expect("a configuration");
        start(config, "serviceaccount,deployment,replicaset,daemonset,job").await
    });
    // ANCHOR_END: simulated_cluster
    let controllers = controllers.expect("the controllers start");

    let web = apply(cluster, "apps/v1", "Deployment", "web", &json!({ "replicas": 4 }));
    let agent = apply(cluster, "apps/v1", "DaemonSet", "agent", &json!({}));
    let mut sum = new_object("batch/v1", "Job", NAMESPACE, "sum");
    sum["spec"] = json!({
        "completions": 3, "parallelism": 2,
        "template": { "spec": { "restartPolicy": "Never", "containers": [{ "name": "c", "image": "i" }] } },
    });
    cluster.apply(&sum).expect("the Job is applied");
    wait(cluster, &web, |web| web["status"]["availableReplicas"] == 4);
    wait(cluster, &agent, |agent| agent["status"]["numberReady"] == 2);
    let done = wait(cluster, &sum, |sum| sum["status"]["completionTime"].is_string());
    assert_eq!(done["status"]["succeeded"], 3);
    for node in simulation.nodes() {
        let pods = pods_of(cluster, "web");
        let on_node = pods.iter().filter(|pod| pod["spec"]["nodeName"] == **node);
        assert!(on_node.count() > 0, "{node}");
    }

    drain(cluster, &simulation.nodes()[1], "web");
    eventually("the pods run on the other node", TIMEOUT, || {
        let pods = pods_of(cluster, "web");
        let moved = pods.iter().filter(|pod| {
            pod["spec"]["nodeName"] == *simulation.nodes()[0] && pod["status"]["phase"] == "Running"
        });
        if moved.count() == 4 && pods.len() == 4 {
            Ok(())
        } else {
            Err(json!(pods))
        }
    });
    let agent = cluster
        .get(&agent)
        .expect("the request succeeds")
        .unwrap_or_default();
    assert_eq!(agent["status"]["numberReady"], 2, "daemons tolerate it");

    drop(simulation);
    apply(
        cluster,
        "apps/v1",
        "Deployment",
        "late",
        &json!({ "replicas": 1 }),
    );
    eventually("the pod exists", TIMEOUT, || {
        let pods = pods_of(cluster, "late");
        if pods.len() == 1 { Ok(()) } else { Err(json!(pods)) }
    });
    // Long enough for it to run if there still were nodes: the first Deployment's pods take less.
    std::thread::sleep(Duration::from_millis(500));
    let phase = pods_of(cluster, "late")[0]["status"]["phase"].clone();
    assert_eq!(phase, "Pending", "pods run after the simulation was dropped");
    runtime.block_on(controllers.stop()).expect("they stop");
}

/// Applies a workload whose pods have its name as the label `app`.
fn apply(cluster: &Cluster, api_version: &str, kind: &str, name: &str, more: &Value) -> Value {
    let mut workload = new_object(api_version, kind, NAMESPACE, name);
    workload["spec"] = more.clone();
    workload["spec"]["selector"] = json!({ "matchLabels": { "app": name } });
    workload["spec"]["template"] = json!({
        "metadata": { "labels": { "app": name } },
        "spec": { "containers": [{ "name": "c", "image": "i" }] },
    });
    cluster.apply(&workload).expect("the workload is applied");
    workload
}

fn pods_of(cluster: &Cluster, app: &str) -> Vec<Value> {
    let pods = cluster.list(&new_object("v1", "Pod", NAMESPACE, ""));
    let mut pods = pods.expect("a list");
    pods.retain(|pod| pod["metadata"]["labels"]["app"] == app);
    pods
}

fn wait(cluster: &Cluster, object: &Value, condition: impl Fn(&Value) -> bool) -> Value {
    let mut found = Value::Null;
    eventually("the object meets the condition", TIMEOUT, || {
        found = cluster
            .get(object)
            .expect("the request succeeds")
            .unwrap_or_default();
        if condition(&found) {
            Ok(())
        } else {
            Err(found.clone())
        }
    });
    found
}

/// Cordons a node and evicts an app's pods from it, as `kubectl drain` does.
fn drain(cluster: &Cluster, node: &str, app: &str) {
    let cordon = json!({ "spec": { "unschedulable": true } });
    cluster
        .merge_patch(&new_object("v1", "Node", "", node), &cordon)
        .expect("the node is cordoned");
    for pod in pods_of(cluster, app) {
        if pod["spec"]["nodeName"] == node {
            let name = pod["metadata"]["name"].as_str().expect("a name");
            let path = format!("/api/v1/namespaces/{NAMESPACE}/pods/{name}/eviction");
            let eviction = new_object("policy/v1", "Eviction", NAMESPACE, name);
            cluster
                .request(Method::POST, &path, "application/json", Some(&eviction))
                .expect("the pod is evicted");
        }
    }
}

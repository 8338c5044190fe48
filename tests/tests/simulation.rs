//! `Cluster::simulate`: runs workloads as simulated pods in tests.

use std::time::Duration;

use kubewright_testkit::{Cluster, Timing, eventually};
use kubewright_tests::{new_object, on_both_servers};
use serde_json::json;

const AVAILABLE_TIMEOUT: Duration = Duration::from_mins(1);

on_both_servers!(workloads_run_while_the_simulation_is_on);

fn workloads_run_while_the_simulation_is_on(cluster: &Cluster) {
    cluster.create_namespace("simulated").expect("a namespace");
    let timing = Timing {
        pod_start: Duration::from_millis(20),
        pod_run: Duration::from_millis(20),
    };
    let simulation = cluster.simulate(timing).expect("the simulation starts");
    let deploy = |name: &str| {
        let mut deployment = new_object("apps/v1", "Deployment", "simulated", name);
        deployment["spec"] = json!({
            "replicas": 2,
            "selector": { "matchLabels": { "app": name } },
            "template": {
                "metadata": { "labels": { "app": name } },
                "spec": { "containers": [{ "name": "c", "image": "i" }] },
            },
        });
        cluster.apply(&deployment).expect("the Deployment is applied");
        deployment
    };
    let web = deploy("web");
    eventually("the Deployment is available", AVAILABLE_TIMEOUT, || {
        let found = cluster
            .get(&web)
            .expect("the request succeeds")
            .unwrap_or_default();
        if found["status"]["availableReplicas"] == 2 {
            Ok(())
        } else {
            Err(found)
        }
    });
    let pods = || {
        let pods = cluster.list(&new_object("v1", "Pod", "simulated", ""));
        pods.expect("a list")
    };
    assert!(pods().iter().all(|pod| pod["status"]["phase"] == "Running"));

    drop(simulation);
    deploy("late");
    // Long enough for pods to appear if the simulation still ran: the first Deployment's pods take less.
    std::thread::sleep(Duration::from_millis(500));
    let late = pods()
        .iter()
        .filter(|pod| pod["metadata"]["labels"]["app"] == "late")
        .count();
    assert_eq!(late, 0, "pods run after the simulation was dropped");
}

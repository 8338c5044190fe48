//! The switch that makes pods of workloads in tests.

use std::time::Duration;

use kubewright_testkit::{Cluster, Timing, eventually};
use kubewright_tests::{named, on_both_servers};
use serde_json::json;

const PATIENCE: Duration = Duration::from_mins(1);

on_both_servers!(workloads_run_while_it_is_on);

fn workloads_run_while_it_is_on(cluster: &Cluster) {
    cluster.create_namespace("simulated").expect("a namespace");
    let timing = Timing {
        pod_start: Duration::from_millis(20),
        pod_run: Duration::from_millis(20),
    };
    let simulation = cluster.simulate(timing).expect("it starts");
    let deploy = |name: &str| {
        let mut deployment = named("apps/v1", "Deployment", "simulated", name);
        deployment["spec"] = json!({
            "replicas": 2,
            "selector": { "matchLabels": { "app": name } },
            "template": {
                "metadata": { "labels": { "app": name } },
                "spec": { "containers": [{ "name": "c", "image": "i" }] },
            },
        });
        cluster.apply(&deployment).expect("applied");
        deployment
    };
    let web = deploy("web");
    eventually("it is available", PATIENCE, || {
        let found = cluster.get(&web).expect("asked").unwrap_or_default();
        if found["status"]["availableReplicas"] == 2 {
            Ok(())
        } else {
            Err(found)
        }
    });
    let pods = || {
        let pods = cluster.list(&named("v1", "Pod", "simulated", ""));
        pods.expect("a list")
    };
    assert!(pods().iter().all(|pod| pod["status"]["phase"] == "Running"));

    drop(simulation);
    deploy("late");
    // Its pods would be there by then: those of the first came within less.
    std::thread::sleep(Duration::from_millis(500));
    let late = pods()
        .iter()
        .filter(|pod| pod["metadata"]["labels"]["app"] == "late")
        .count();
    assert_eq!(late, 0, "nothing runs any more");
}

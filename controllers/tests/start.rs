//! Controllers that run within another program.
#![cfg(feature = "workloads")]
#![allow(clippy::unwrap_used, reason = "helpers of tests are tests")]

use std::time::Duration;

use kubewright_controllers::{StartError, start};
use kubewright_testkit::Cluster;
use serde_json::{Value, json};

fn replica_set(name: &str) -> Value {
    json!({"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"namespace": "default", "name": name}, "spec": {
        "replicas": 2,
        "selector": {"matchLabels": {"app": name}},
        "template": {"metadata": {"labels": {"app": name}}, "spec": {"containers": [{"name": "main", "image": "busybox"}]}}}})
}

async fn has_pods(cluster: &Cluster, set: &Value) {
    let observed = |set: &Value| set["status"]["replicas"] == 2;
    cluster.wait_until(set, observed).await;
}

#[tokio::test]
async fn controllers_run_until_they_are_stopped_or_dropped() {
    let cluster = Cluster::embedded().unwrap();
    let config = cluster.admin().config().await.unwrap();
    let controllers = start(config.clone(), "replicaset,serviceaccount").await.unwrap();
    let first = replica_set("first");
    cluster.apply(&first).unwrap();
    has_pods(&cluster, &first).await;
    controllers.stop().await.unwrap();

    let second = replica_set("second");
    cluster.apply(&second).unwrap();
    // Pods take less.
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert!(cluster.get(&second).unwrap().unwrap()["status"]["replicas"] == 0);

    let controllers = start(config, "replicaset").await.unwrap();
    has_pods(&cluster, &second).await;
    drop(controllers);
    let third = replica_set("third");
    // The task is aborted at its next await.
    tokio::time::sleep(Duration::from_millis(100)).await;
    cluster.apply(&third).unwrap();
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert!(cluster.get(&third).unwrap().unwrap()["status"]["replicas"] == 0);
}

#[tokio::test]
async fn unknown_name_and_unusable_configuration_are_errors() {
    let config = kube::Config::new(http::Uri::from_static("http://127.0.0.1:9"));
    let unknown = start(config.clone(), "replicaset,foo").await.unwrap_err();
    assert!(
        matches!(&unknown, StartError::Unknown(error) if error.name == "foo"),
        "{unknown}"
    );
    let mut unusable = config;
    unusable.root_cert = Some(vec![b"no certificate".to_vec()]);
    let failed = start(unusable, "replicaset").await.unwrap_err();
    assert!(matches!(failed, StartError::Manager(_)), "{failed}");
}

#[tokio::test]
async fn start_waits_for_an_api_server_that_is_not_reachable() {
    let config = kube::Config::new(http::Uri::from_static("http://127.0.0.1:9"));
    let start = start(config, "replicaset");
    let ended = tokio::time::timeout(Duration::from_millis(300), start).await;
    assert!(ended.is_err(), "{ended:?}");
}

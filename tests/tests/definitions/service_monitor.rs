//! The ServiceMonitor and the Service that `generate` writes are valid for prometheus-operator's definition.

use std::{fs, path::Path};

use http::Method;
use kubewright_testkit::{Cluster, ClusterError};
use kubewright_tests::new_object;
use serde_json::{Value, json};

use crate::imported::documents;

/// Applies an object; unknown fields are errors.
fn apply_strictly(cluster: &Cluster, path: &str, object: &Value) -> Result<Value, ClusterError> {
    let path = format!("{path}?fieldManager=kubectl&fieldValidation=Strict");
    let content_type = "application/apply-patch+yaml";
    cluster.request(Method::PATCH, &path, content_type, Some(object))
}

pub(crate) fn generated_service_monitor_is_valid(cluster: &Cluster) {
    let mut definitions = documents(true).into_iter();
    let name = "servicemonitors.monitoring.coreos.com";
    let definition = definitions.find(|crd| crd["metadata"]["name"] == name);
    cluster.install_crd(definition.expect("its definition")).unwrap();
    let snapshot = Path::new(env!("CARGO_MANIFEST_DIR")).join("golden/shipping/all.txt");
    let snapshot = fs::read_to_string(snapshot).unwrap();
    let (_, text) = snapshot
        .split_once("=== manifests/deploy/service_monitor.yaml\n")
        .unwrap();
    let text = text.split_once("\n=== ").map_or(text, |(text, _)| text);
    let objects: Vec<Value> = kubewright_cli::yaml::read_all(text).unwrap();
    let [service, monitor] = &*objects else {
        panic!("{text}");
    };
    let namespace = "shop-system";
    cluster.create_namespace(namespace).unwrap();
    let folder = format!("/api/v1/namespaces/{namespace}/services/");
    apply_strictly(cluster, &format!("{folder}shop-metrics"), service).unwrap();
    let path = format!("/apis/monitoring.coreos.com/v1/namespaces/{namespace}/servicemonitors/shop");
    apply_strictly(cluster, &path, monitor).unwrap();
    let stored = cluster.get(&new_object(
        "monitoring.coreos.com/v1",
        "ServiceMonitor",
        namespace,
        "shop",
    ));
    assert_eq!(stored.unwrap().unwrap()["spec"], monitor["spec"]);

    let mut unknown = monitor.clone();
    unknown["spec"]["endpoints"][0]["tokenFile"] = json!("/token");
    let error = apply_strictly(cluster, &path, &unknown).unwrap_err().to_string();
    assert!(error.contains("tokenFile"), "{error}");
}

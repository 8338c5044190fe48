//! Audit annotations of the admission plugin PodSecurity: as kube-apiserver 1.36.3 wrote them to its audit log for the same requests.

use crate::client::TestServer;
use serde_json::{Value, json};
use std::collections::BTreeMap;

const VIOLATIONS: &str = "would violate PodSecurity \"baseline:v1.20\": host namespaces (hostPID=true)";

/// Sends a request and returns its status code and its annotations, without their prefix.
async fn annotations(
    server: &TestServer,
    method: &str,
    path: &str,
    body: Value,
) -> (u16, BTreeMap<String, String>) {
    server.api.audit().clear();
    server.request(method, path, Some(body)).await;
    let record = server.api.audit().records().remove(0);
    let annotations = record.annotations.into_iter();
    let annotations = annotations.map(|(key, value)| {
        let key = key.strip_prefix("pod-security.kubernetes.io/");
        (key.unwrap_or("not of the plugin").to_owned(), value)
    });
    (record.code, annotations.collect())
}

async fn create_namespace(server: &TestServer, name: &str, labels: &[(&str, &str)]) {
    let labels = labels.iter();
    let labels: Value = labels
        .map(|(key, value)| (format!("pod-security.kubernetes.io/{key}"), json!(value)))
        .collect();
    let namespace = json!({ "metadata": { "name": name, "labels": labels } });
    server.create("/api/v1/namespaces", namespace).await;
}

#[tokio::test]
async fn audit_log_has_the_enforced_level_and_violations() {
    let server = TestServer::start().await;
    create_namespace(&server, "privileged", &[("enforce-version", "v1.20")]).await;
    let enforced = [
        ("enforce", "restricted"),
        ("audit", "baseline"),
        ("audit-version", "v1.20"),
    ];
    create_namespace(&server, "restricted", &enforced).await;
    create_namespace(&server, "audited", &enforced[1..]).await;
    let spec = json!({ "hostPID": true, "containers": [{ "name": "c", "image": "i" }] });
    let pod = |labels: &Value| json!({ "metadata": { "name": "p", "labels": labels }, "spec": spec });
    let owned = |pairs: &[(&str, &str)]| {
        let pairs = pairs.iter();
        pairs
            .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
            .collect::<BTreeMap<_, _>>()
    };

    let pods = |namespace| format!("/api/v1/namespaces/{namespace}/pods");
    let created = annotations(&server, "POST", &pods("privileged"), pod(&json!({}))).await;
    assert_eq!(created, (201, owned(&[("enforce-policy", "privileged:latest")])));
    let refused = annotations(&server, "POST", &pods("restricted"), pod(&json!({}))).await;
    let restricted = [
        ("enforce-policy", "restricted:latest"),
        ("audit-violations", VIOLATIONS),
    ];
    assert_eq!(refused, (403, owned(&restricted)));
    let created = annotations(&server, "POST", &pods("audited"), pod(&json!({}))).await;
    let audited = [
        ("enforce-policy", "privileged:latest"),
        ("audit-violations", VIOLATIONS),
    ];
    assert_eq!(created, (201, owned(&audited)));
    let path = format!("{}/p", pods("audited"));
    let updated = annotations(&server, "PUT", &path, pod(&json!({ "a": "b" }))).await;
    assert_eq!(updated.1, owned(&[]));

    let labels = json!({ "a": "b" });
    let template = json!({ "metadata": { "labels": labels }, "spec": spec });
    let deployment = json!({ "metadata": { "name": "d" }, "spec": { "selector": { "matchLabels": labels }, "template": template } });
    let path = "/apis/apps/v1/namespaces/audited/deployments";
    let created = annotations(&server, "POST", path, deployment).await;
    assert_eq!(created, (201, owned(&audited[1..])));

    // The labels of a status are not validated.
    let labels = json!({ "metadata": { "labels": { "pod-security.kubernetes.io/enforce": "bad" } } });
    let path = "/api/v1/namespaces/audited/status";
    let patched = server.patch(path, "application/merge-patch+json", labels).await;
    patched.expect(200);
    let refused = annotations(&server, "POST", &pods("audited"), pod(&json!({}))).await;
    let error = "Failed to parse policy: metadata.labels[pod-security.kubernetes.io/enforce]: Invalid value: \"bad\": must be one of \
                 privileged, baseline, restricted";
    let invalid = [restricted[0], restricted[1], ("error", error)];
    assert_eq!(refused, (403, owned(&invalid)));
}

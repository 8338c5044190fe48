//! The objects that the programs reconcile.

use anyhow::Result;
use k8s_openapi::api::apps::v1::{Deployment, ReplicaSet};
use serde_json::{Value, json};

/// Returns a Deployment.
pub(super) fn deployment(name: &str, replicas: usize) -> Result<Deployment> {
    Ok(serde_json::from_value(owner("Deployment", name, replicas))?)
}

/// Returns a ReplicaSet.
pub(super) fn replica_set(name: &str, replicas: usize) -> Result<ReplicaSet> {
    Ok(serde_json::from_value(owner("ReplicaSet", name, replicas))?)
}

fn owner(kind: &str, name: &str, replicas: usize) -> Value {
    let labels = json!({ "app.kubernetes.io/name": name });
    json!({
        "apiVersion": "apps/v1",
        "kind": kind,
        "metadata": { "name": name, "labels": labels },
        "spec": {
            "replicas": replicas,
            "selector": { "matchLabels": labels },
            "template": { "metadata": { "labels": labels }, "spec": pod_spec(name) },
        },
    })
}

/// A container as usual: settings, probes, limits, two volumes.
fn pod_spec(name: &str) -> Value {
    let probe = |path: &str| json!({ "httpGet": { "path": path, "port": "http" }, "periodSeconds": 5 });
    json!({
        "containers": [{
            "name": "web",
            "image": "registry.example.com/shop/web:1.25.3",
            "args": ["--listen=:8080", "--log-level=info"],
            "ports": [{ "name": "http", "containerPort": 8080 }],
            "env": [
                { "name": "SERVICE", "value": name },
                { "name": "DATABASE_HOST", "value": "database.shop.svc.cluster.local" },
                { "name": "POD_NAME", "valueFrom": { "fieldRef": { "fieldPath": "metadata.name" } } },
            ],
            "resources": { "requests": { "cpu": "100m", "memory": "128Mi" }, "limits": { "memory": "256Mi" } },
            "livenessProbe": probe("/healthz"),
            "readinessProbe": probe("/readyz"),
            "volumeMounts": [
                { "name": "settings", "mountPath": "/etc/web", "readOnly": true },
                { "name": "scratch", "mountPath": "/var/tmp" },
            ],
        }],
        "volumes": [
            { "name": "settings", "configMap": { "name": "web-settings" } },
            { "name": "scratch", "emptyDir": {} },
        ],
    })
}

//! The Pod of the benchmark: what a Deployment's Pod looks like when the API server sends it, made here and not recorded anywhere.

use anyhow::{Context as _, Result};
use serde_json::{Map, Value, json};

/// Stand in the template where each Pod, and each version of it, differs; as long as what replaces them.
const ORDINAL: &str = "000ordinal000";
const VERSION: &str = "000version000";

/// Writes Pods that differ in name, uid and version, without building a tree for each.
pub(crate) struct Template {
    /// The text between the places that differ, and what stands at the place behind it.
    pieces: Vec<(Vec<u8>, Option<Place>)>,
    /// Bytes of one Pod.
    pub(crate) size: usize,
    /// Bytes of its managedFields.
    pub(crate) managed_fields: usize,
}

#[derive(Clone, Copy)]
enum Place {
    Ordinal,
    Version,
}

impl Template {
    pub(crate) fn new() -> Result<Self> {
        let pod = pod();
        let text = pod.to_string();
        let mut pieces = Vec::new();
        let mut rest = text.as_str();
        loop {
            let ordinal = rest.find(ORDINAL).map(|at| (at, Place::Ordinal));
            let version = rest.find(VERSION).map(|at| (at, Place::Version));
            let Some((at, place)) = ordinal.into_iter().chain(version).min_by_key(|(at, _)| *at) else {
                pieces.push((rest.into(), None));
                break;
            };
            pieces.push((rest[..at].into(), Some(place)));
            rest = &rest[at + ORDINAL.len()..];
        }
        let managed_fields = pod
            .pointer("/metadata/managedFields")
            .context("the Pod has no managedFields")?;
        Ok(Self {
            pieces,
            size: text.len(),
            managed_fields: managed_fields.to_string().len(),
        })
    }

    /// Appends the Pod `ordinal` at `version`.
    pub(crate) fn write(&self, ordinal: usize, version: usize, to: &mut Vec<u8>) {
        let (ordinal, version) = (format!("{ordinal:013}"), format!("1{version:012}"));
        for (text, place) in &self.pieces {
            to.extend_from_slice(text);
            match place {
                Some(Place::Ordinal) => to.extend_from_slice(ordinal.as_bytes()),
                Some(Place::Version) => to.extend_from_slice(version.as_bytes()),
                None => {}
            }
        }
    }
}

fn pod() -> Value {
    let containers = [container("web", 8080), container("proxy", 15001)];
    let labels = json!({
        "app.kubernetes.io/name": "web", "app.kubernetes.io/instance": "web-production", "app.kubernetes.io/part-of": "shop",
        "pod-template-hash": "7d4b9c6f5d",
    });
    let annotations = json!({
        "checksum/config": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "prometheus.io/port": "8080", "prometheus.io/scrape": "true",
    });
    let owners = json!([{
        "apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web-7d4b9c6f5d", "controller": true,
        "blockOwnerDeletion": true, "uid": "0f6d8f5c-6c1e-4a41-9d3a-3f1c0a5b7e21",
    }]);
    let spec = json!({
        "containers": containers,
        "dnsPolicy": "ClusterFirst", "enableServiceLinks": true, "nodeName": "node-17.eu-central-1.compute.internal",
        "preemptionPolicy": "PreemptLowerPriority", "priority": 0, "restartPolicy": "Always", "schedulerName": "default-scheduler",
        "securityContext": {"runAsNonRoot": true, "fsGroup": 65532}, "serviceAccount": "web", "serviceAccountName": "web",
        "terminationGracePeriodSeconds": 30,
        "tolerations": [
            {"effect": "NoExecute", "key": "node.kubernetes.io/not-ready", "operator": "Exists", "tolerationSeconds": 300},
            {"effect": "NoExecute", "key": "node.kubernetes.io/unreachable", "operator": "Exists", "tolerationSeconds": 300},
        ],
        "volumes": [
            {"name": "config", "configMap": {"name": "web-config", "defaultMode": 420}},
            {"name": "kube-api-access", "projected": {"defaultMode": 420, "sources": [
                {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
                {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
            ]}},
        ],
    });
    let conditions = [
        "PodReadyToStartContainers",
        "Initialized",
        "Ready",
        "ContainersReady",
        "PodScheduled",
    ];
    let status = json!({
        "conditions": conditions.map(|kind| json!({
            "type": kind, "status": "True", "lastProbeTime": null, "lastTransitionTime": "2026-01-01T00:00:00Z",
        })),
        "containerStatuses": [container_status("web"), container_status("proxy")],
        "hostIP": "10.0.17.4", "phase": "Running", "podIP": "10.1.17.42", "podIPs": [{"ip": "10.1.17.42"}],
        "qosClass": "Burstable", "startTime": "2026-01-01T00:00:00Z",
    });
    let created = json!({
        "metadata": {"annotations": annotations, "generateName": "web-7d4b9c6f5d-", "labels": labels, "ownerReferences": owners},
        "spec": spec,
    });
    json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": format!("web-7d4b9c6f5d-{ORDINAL}"), "generateName": "web-7d4b9c6f5d-", "namespace": "shop",
            "uid": format!("5b2a91c4-77de-4c6f-{ORDINAL}"), "resourceVersion": VERSION,
            "creationTimestamp": "2026-01-01T00:00:00Z", "labels": labels, "annotations": annotations, "ownerReferences": owners,
            "managedFields": [
                managed("kube-controller-manager", None, &created),
                managed("kubelet", Some("status"), &json!({"status": status})),
            ],
        },
        "spec": spec,
        "status": status,
    })
}

fn container(name: &str, port: u16) -> Value {
    let probe = json!({
        "httpGet": {"path": "/healthz", "port": port, "scheme": "HTTP"}, "periodSeconds": 10, "timeoutSeconds": 1,
        "failureThreshold": 3, "successThreshold": 1,
    });
    json!({
        "name": name,
        "image": format!("registry.example.com/shop/{name}:v1.42.0"),
        "imagePullPolicy": "IfNotPresent",
        "env": [{"name": "LOG_LEVEL", "value": "info"}],
        "livenessProbe": probe,
        "ports": [{"name": "http", "containerPort": port, "protocol": "TCP"}],
        "resources": {"limits": {"memory": "256Mi"}, "requests": {"cpu": "100m", "memory": "128Mi"}},
        "securityContext": {"allowPrivilegeEscalation": false, "readOnlyRootFilesystem": true},
        "terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File",
        "volumeMounts": [
            {"name": "config", "mountPath": "/etc/web", "readOnly": true},
            {"name": "kube-api-access", "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount", "readOnly": true},
        ],
    })
}

fn container_status(name: &str) -> Value {
    json!({
        "name": name, "ready": true, "restartCount": 0, "started": true, "lastState": {},
        "image": format!("registry.example.com/shop/{name}:v1.42.0"),
        "imageID": format!("registry.example.com/shop/{name}@sha256:2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae"),
        "containerID": "containerd://fcde2b2edba56bf408601fb721fe9b5c338d10ee429ea04fae5511b68fbf8fb9",
        "state": {"running": {"startedAt": "2026-01-01T00:00:00Z"}},
    })
}

fn managed(manager: &str, subresource: Option<&str>, owned: &Value) -> Value {
    let mut entry = json!({
        "apiVersion": "v1", "fieldsType": "FieldsV1", "manager": manager, "operation": "Update",
        "time": "2026-01-01T00:00:00Z", "fieldsV1": field_set(owned),
    });
    if let Some(subresource) = subresource {
        entry["subresource"] = subresource.into();
    }
    entry
}

/// The set of fields of `value` as the API server writes it: a tree of names, list items by their key.
fn field_set(value: &Value) -> Value {
    let children: Map<String, Value> = match value {
        Value::Object(fields) => {
            let set = |name: &str, value| match name {
                // Owned as a whole.
                "containerStatuses" => json!({}),
                _ => field_set(value),
            };
            let named = fields.iter();
            named
                .map(|(name, value)| (format!("f:{name}"), set(name, value)))
                .collect()
        }
        Value::Array(items) => {
            let keyed = items.iter().filter_map(|item| Some((item_key(item)?, item)));
            keyed
                .map(|(key, item)| (format!("k:{key}"), field_set(item)))
                .collect()
        }
        _ => Map::new(),
    };
    Value::Object(children)
}

fn item_key(item: &Value) -> Option<Value> {
    let keys = ["mountPath", "containerPort", "type", "uid", "ip", "name"];
    let key = keys.into_iter().find(|key| item.get(key).is_some())?;
    Some(json!({key: item[key]}))
}

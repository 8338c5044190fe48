//! The volume with the token of a pod's account.

use super::list;
use crate::meta::{self, text};
use serde_json::{Value, json};

const TOKEN_VOLUME: &str = "kube-api-access";
const TOKEN_MOUNT_PATH: &str = "/var/run/secrets/kubernetes.io/serviceaccount";
/// One hour and seven seconds: kubelet refreshes such tokens after an hour, and kube-apiserver extends them.
const TOKEN_SECONDS: i64 = 3607;

/// Mounts the token into all containers that mount nothing at its path.
pub(super) fn mount_token(pod: &mut Value) {
    let spec = meta::entry_mut(pod, "spec");
    let prefix = format!("{TOKEN_VOLUME}-");
    let volumes = spec
        .get("volumes")
        .and_then(Value::as_array)
        .into_iter()
        .flatten();
    let mut names = volumes.map(|volume| text(volume, "name"));
    let existing = names.find(|name| name.starts_with(&prefix)).map(str::to_owned);
    let is_new = existing.is_none();
    let name = existing.unwrap_or_else(|| meta::generate_name(&prefix));
    let mut is_mounted = false;
    for field in ["initContainers", "containers"] {
        for container in spec
            .get_mut(field)
            .and_then(Value::as_array_mut)
            .into_iter()
            .flatten()
        {
            if list(container, "volumeMounts").any(|mount| mount["mountPath"] == TOKEN_MOUNT_PATH) {
                continue;
            }
            let Some(container) = container.as_object_mut() else {
                continue;
            };
            let mounts = container.entry("volumeMounts").or_insert(json!([]));
            if mounts.is_null() {
                *mounts = json!([]);
            }
            if let Some(mounts) = mounts.as_array_mut() {
                mounts.push(json!({ "name": name, "readOnly": true, "mountPath": TOKEN_MOUNT_PATH }));
                is_mounted = true;
            }
        }
    }
    if !is_new || !is_mounted {
        return;
    }
    let volumes = spec.entry("volumes").or_insert(json!([]));
    if volumes.is_null() {
        *volumes = json!([]);
    }
    if let Some(volumes) = volumes.as_array_mut() {
        volumes.push(json!({ "name": name, "projected": { "defaultMode": 0o644, "sources": [
            { "serviceAccountToken": { "path": "token", "expirationSeconds": TOKEN_SECONDS } },
            { "configMap": { "name": "kube-root-ca.crt", "items": [{ "key": "ca.crt", "path": "ca.crt" }] } },
            { "downwardAPI": { "items": [
                { "path": "namespace", "fieldRef": { "apiVersion": "v1", "fieldPath": "metadata.namespace" } },
            ] } },
        ] } }));
    }
}

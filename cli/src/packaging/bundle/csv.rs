//! The ClusterServiceVersion.

use std::path::Path;

use serde_json::{Value, json};

use super::{Bundle, ManifestObject, owned, permissions::Permissions, webhooks};
use crate::Error;

const WATCH_FLAG: &str = "--watch-namespace=";
const CERTIFICATE_FLAG: &str = "--webhook-cert-dir=";

/// Returns the object.
pub(super) fn csv(bundle: &Bundle<'_>, root: &Path, permissions: &Permissions) -> Result<Value, Error> {
    let settings = bundle.settings;
    let version = bundle.package.version.to_string();
    let title = format!("The operator {}", settings.name);
    let description = bundle.package.description.as_deref().unwrap_or(&title);
    let webhooks = webhooks::definitions(bundle)?;
    let mut deployments = Vec::new();
    for object in bundle.objects {
        match object.kind() {
            "Deployment" => deployments.push(deployment(bundle, object, !webhooks.is_empty())?),
            kind @ ("StatefulSet" | "DaemonSet") => {
                let fix = format!("OLM installs Deployments, and no {kind}: use a Deployment");
                return Err(object.error("kind", fix).into());
            }
            _ => {}
        }
    }
    let granted = |cluster: bool| -> Vec<Value> {
        let rules = permissions.rules.iter().map(|(account, rules)| {
            let rules = if cluster {
                &rules.cluster
            } else {
                &rules.namespaced
            };
            (account, rules)
        });
        let some = rules.filter(|(_, rules)| !rules.is_empty());
        some.map(|(account, rules)| json!({"serviceAccountName": account, "rules": rules}))
            .collect()
    };
    let mut csv = json!({
        "apiVersion": "operators.coreos.com/v1alpha1",
        "kind": "ClusterServiceVersion",
        "metadata": {
            "name": format!("{}.v{version}", settings.name),
            "namespace": "placeholder",
            "annotations": {
                "alm-examples": owned::examples(bundle, root)?,
                "capabilities": "Basic Install",
                "description": description,
                "containerImage": bundle.operator.image(bundle.objects)?.to_string(),
            },
        },
        "spec": {
            "displayName": settings.name,
            "description": description,
            "version": version,
            "maturity": "alpha",
            "provider": {"name": settings.name},
            "keywords": [settings.name],
            "links": [],
            "maintainers": [],
            "installModes": install_modes(bundle),
            "customresourcedefinitions": {"owned": owned::kinds(bundle)},
            "install": {"strategy": "deployment", "spec": {
                "clusterPermissions": granted(true), "permissions": granted(false), "deployments": deployments,
            }},
        },
    });
    if !webhooks.is_empty() {
        csv["spec"]["webhookdefinitions"] = webhooks.into();
    }
    Ok(csv)
}

/// Returns how the operator may be installed. Conversion webhooks are called for objects of all namespaces.
fn install_modes(bundle: &Bundle<'_>) -> Value {
    let watches_some = !bundle.settings.watched().is_empty();
    let is_limited = watches_some && !bundle.objects.iter().any(webhooks::converts);
    let modes = [
        ("OwnNamespace", is_limited),
        ("SingleNamespace", is_limited),
        ("MultiNamespace", is_limited),
        ("AllNamespaces", !is_limited),
    ];
    modes
        .map(|(mode, supported)| json!({"type": mode, "supported": supported}))
        .as_slice()
        .into()
}

/// Returns the entry of a Deployment. The operator's gets the namespaces and the certificate from OLM.
fn deployment(bundle: &Bundle<'_>, object: &ManifestObject, has_webhooks: bool) -> Result<Value, Error> {
    let mut spec = object.value()["spec"].clone();
    if std::ptr::eq(object, &raw const bundle.objects[bundle.operator.deployment]) {
        let pod = &mut spec["template"]["spec"];
        let container = &mut pod["containers"][bundle.operator.container];
        let mut args = container["args"].as_array().cloned().unwrap_or_default();
        let is_flag = |arg: &Value, flag: &str| arg.as_str().is_some_and(|arg| arg.starts_with(flag));
        let is_replaced =
            |arg: &Value| is_flag(arg, WATCH_FLAG) || has_webhooks && is_flag(arg, CERTIFICATE_FLAG);
        args.retain(|arg| !is_replaced(arg));
        if has_webhooks {
            args.push(format!("{CERTIFICATE_FLAG}{}", webhooks::CERTIFICATE_FOLDER).into());
        }
        container["args"] = args.into();
        if !bundle.settings.watched().is_empty() {
            set_watched(bundle, container)?;
        }
        if has_webhooks {
            // That of cert-manager or of the user.
            remove_named(&mut container["volumeMounts"], "webhook-certificate");
            remove_named(&mut pod["volumes"], "webhook-certificate");
        }
    }
    remove_nulls(&mut spec);
    let mut entry = json!({"name": object.name(), "spec": spec});
    if let Some(labels) = object.value()["metadata"].get("labels") {
        entry["label"] = labels.clone();
    }
    Ok(entry)
}

/// Has the operator watch the namespaces of its OperatorGroup, which OLM writes into an annotation of the Pod.
fn set_watched(bundle: &Bundle<'_>, container: &mut Value) -> Result<(), Error> {
    let targets = json!({
        "name": "WATCH_NAMESPACE",
        "valueFrom": {"fieldRef": {"fieldPath": "metadata.annotations['olm.targetNamespaces']"}},
    });
    let path = format!("{}.env", bundle.operator.path());
    let is_set = |entry: &Value| entry["name"] == "WATCH_NAMESPACE";
    match &mut container["env"] {
        Value::Array(env) if env.iter().any(is_set) => {
            let fix = "the bundle sets WATCH_NAMESPACE to the namespaces of the OperatorGroup: use the flag --watch-namespace in the manifests";
            return Err(bundle.deployment_error(&path, fix).into());
        }
        Value::Array(env) => env.push(targets),
        env => *env = json!([targets]),
    }
    Ok(())
}

fn remove_named(list: &mut Value, name: &str) {
    if let Some(items) = list.as_array_mut() {
        items.retain(|item| item["name"] != name);
        if items.is_empty() {
            *list = Value::Null;
        }
    }
}

/// Removes fields that are null, which indexing has added, and empty `args`.
fn remove_nulls(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|key, value| {
                let is_empty =
                    value.is_null() || key == "args" && value.as_array().is_some_and(Vec::is_empty);
                !is_empty
            });
            fields.values_mut().for_each(remove_nulls);
        }
        Value::Array(items) => items.iter_mut().for_each(remove_nulls),
        _ => {}
    }
}

//! The secrets that a pod refers to, and those that its account lists.

use super::list;
use crate::meta::{self, text};
use serde_json::Value;
use std::collections::BTreeSet;

/// Whether a pod names a secret anywhere: the fields of all of Kubernetes' types that do are called so.
pub(super) fn refers_to_secret(value: &Value) -> bool {
    const FIELDS: [&str; 6] = [
        "imagePullSecrets",
        "secret",
        "secretKeyRef",
        "secretName",
        "secretRef",
        "nodePublishSecretRef",
    ];
    match value {
        Value::Object(fields) => fields.iter().any(|(name, value)| {
            FIELDS.contains(&name.as_str()) && !value.is_null() || refers_to_secret(value)
        }),
        Value::Array(items) => items.iter().any(refers_to_secret),
        _ => false,
    }
}

fn names<'a>(holder: &'a Value, list_name: &str) -> BTreeSet<&'a str> {
    list(holder, list_name).map(|item| text(item, "name")).collect()
}

pub(super) fn unlisted_secret(pod: &Value, account: &Value, containers: &[&str]) -> Option<String> {
    let listed = names(account, "secrets");
    let rest = |secret: &str| {
        format!(
            "secret.secretName=\"{secret}\" is not allowed because service account {} does not reference that secret",
            meta::name(account)
        )
    };
    let is_unlisted = |secret: &Value| secret.as_str().is_some_and(|secret| !listed.contains(secret));
    if containers.contains(&"containers") {
        let mut volumes = list(&pod["spec"], "volumes").map(|volume| &volume["secret"]["secretName"]);
        if let Some(secret) = volumes.find(|secret| is_unlisted(secret)) {
            return Some(format!(
                "volume with {}",
                rest(secret.as_str().unwrap_or_default())
            ));
        }
    }
    for field in containers {
        let prefix = match *field {
            "initContainers" => "init container",
            "ephemeralContainers" => "ephemeral container",
            _ => "container",
        };
        for container in list(&pod["spec"], field) {
            let who = format!("{prefix} {}", text(container, "name"));
            for variable in list(container, "env") {
                let secret = &variable["valueFrom"]["secretKeyRef"]["name"];
                if is_unlisted(secret) {
                    let (name, secret) = (text(variable, "name"), secret.as_str().unwrap_or_default());
                    return Some(format!("{who} with envVar {name} referencing {}", rest(secret)));
                }
            }
            for source in list(container, "envFrom") {
                let secret = &source["secretRef"]["name"];
                if is_unlisted(secret) {
                    let secret = secret.as_str().unwrap_or_default();
                    return Some(format!("{who} with envFrom referencing {}", rest(secret)));
                }
            }
        }
    }
    None
}

pub(super) fn unlisted_pull_secret(pod: &Value, account: &Value) -> Option<String> {
    let listed = names(account, "imagePullSecrets");
    let mut secrets = list(&pod["spec"], "imagePullSecrets").enumerate();
    let (index, secret) = secrets.find(|(_, secret)| !listed.contains(text(secret, "name")))?;
    Some(format!(
        "imagePullSecrets[{index}].name=\"{}\" is not allowed because service account {} does not reference that imagePullSecret",
        text(secret, "name"),
        meta::name(account)
    ))
}

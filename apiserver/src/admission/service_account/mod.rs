//! ServiceAccount: pods run under a service account that exists, and mount its token.

mod secrets;
mod token_volume;

use super::{Attributes, Operation};
use crate::meta::{self, text};
use crate::quote::quoted;
use crate::status::ApiError;
use crate::storage::{Object, Store};
use secrets::{refers_to_secret, unlisted_pull_secret, unlisted_secret};
use serde_json::{Value, json};
use std::sync::Arc;
use token_volume::mount_token;

pub(crate) const DEFAULT_ACCOUNT: &str = "default";
/// The annotation of accounts whose pods may only refer to secrets that the account lists.
const ENFORCE_SECRETS_ANNOTATION: &str = "kubernetes.io/enforce-mountable-secrets";
const MIRROR_ANNOTATION: &str = "kubernetes.io/config.mirror";
/// Sets the account of a new pod, the account's pull secrets, and the volume of its token.
pub(super) fn mutate(attributes: &Attributes<'_>, pod: &mut Value) -> Result<(), ApiError> {
    if !attributes.creates("", "Pod") {
        return Ok(());
    }
    if is_mirror(pod) {
        return validate(attributes, pod);
    }
    if text(&pod["spec"], "serviceAccountName").is_empty() {
        let spec = meta::entry_mut(pod, "spec");
        for field in ["serviceAccountName", "serviceAccount"] {
            spec.insert(field.into(), DEFAULT_ACCOUNT.into());
        }
    }
    let account = service_account(attributes, pod)?;
    let account = account.value();
    let automounts = [&pod["spec"], account]
        .into_iter()
        .find_map(|holder| holder["automountServiceAccountToken"].as_bool());
    if automounts.unwrap_or(true) {
        mount_token(pod);
    }
    let pull_secrets =
        list(account, "imagePullSecrets").map(|secret| json!({ "name": text(secret, "name") }));
    let pull_secrets: Vec<Value> = pull_secrets.collect();
    if list(&pod["spec"], "imagePullSecrets").next().is_none() && !pull_secrets.is_empty() {
        meta::entry_mut(pod, "spec").insert("imagePullSecrets".into(), pull_secrets.into());
    }
    validate(attributes, pod)
}

/// Refuses a pod whose account does not exist or does not list the secrets that the pod uses.
pub(super) fn validate(attributes: &Attributes<'_>, pod: &Value) -> Result<(), ApiError> {
    if !attributes.is_kind("", "Pod") {
        return Ok(());
    }
    match (attributes.operation, attributes.subresource) {
        (Operation::Create, "") if is_mirror(pod) => {
            mirror_error(pod).map_or(Ok(()), |why| Err(attributes.forbidden(pod, why)))
        }
        (Operation::Create, "") => check_secrets(attributes, pod, &["initContainers", "containers"]),
        (Operation::Update { .. }, "ephemeralcontainers") => {
            check_secrets(attributes, pod, &["ephemeralContainers"])
        }
        _ => Ok(()),
    }
}

/// Whether the pod stands for one that a kubelet runs from a file.
pub(crate) fn is_mirror(pod: &Value) -> bool {
    !pod["metadata"]["annotations"][MIRROR_ANNOTATION].is_null()
}

fn list<'a>(holder: &'a Value, name: &str) -> impl Iterator<Item = &'a Value> + use<'a> {
    holder[name].as_array().into_iter().flatten()
}

/// Returns what a mirror pod, which the kubelet runs without an account, may not have.
fn mirror_error(pod: &Value) -> Option<&'static str> {
    let spec = &pod["spec"];
    let projects_token = |volume: &Value| {
        list(&volume["projected"], "sources").any(|source| source["serviceAccountToken"].is_object())
    };
    if !text(spec, "serviceAccountName").is_empty() {
        Some("a mirror pod may not reference service accounts")
    } else if refers_to_secret(spec) {
        Some("a mirror pod may not reference secrets")
    } else if list(spec, "volumes").any(projects_token) {
        Some("a mirror pod may not use ServiceAccountToken volume projections")
    } else {
        None
    }
}

fn service_account(attributes: &Attributes<'_>, pod: &Value) -> Result<Arc<Object>, ApiError> {
    let (namespace, name) = (attributes.namespace, text(&pod["spec"], "serviceAccountName"));
    if name.is_empty() {
        let why = format!(
            "no service account specified for pod {namespace}/{}",
            meta::name(pod)
        );
        return Err(attributes.forbidden(pod, why));
    }
    let account = attributes.get("", "serviceaccounts", &Store::key(namespace, name));
    account.ok_or_else(|| {
        let why = format!(
            "error looking up service account {namespace}/{name}: serviceaccount {} not found",
            quoted(name)
        );
        attributes.forbidden(pod, why)
    })
}

/// Refuses secrets that the account does not list, if the account enforces that.
fn check_secrets(attributes: &Attributes<'_>, pod: &Value, containers: &[&str]) -> Result<(), ApiError> {
    let account = service_account(attributes, pod)?;
    let account = account.value();
    let enforces = account["metadata"]["annotations"][ENFORCE_SECRETS_ANNOTATION].as_str();
    // Go's ParseBool accepts these.
    if !matches!(enforces, Some("1" | "t" | "T" | "true" | "TRUE" | "True")) {
        return Ok(());
    }
    let unlisted = unlisted_secret(pod, account, containers);
    let why = if matches!(attributes.operation, Operation::Create) {
        unlisted.or_else(|| unlisted_pull_secret(pod, account))
    } else {
        unlisted
    };
    why.map_or(Ok(()), |why| {
        Err(match attributes.operation {
            Operation::Create => attributes.forbidden(pod, why),
            // kube-apiserver answers 500 for ephemeral containers: its plugin returns a plain error.
            _ => ApiError::new(500, "", why),
        })
    })
}

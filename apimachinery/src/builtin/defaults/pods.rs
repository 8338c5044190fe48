//! Conditional defaults of pods.

use super::{ObjectFields, list_items};
use crate::builtin::pod_resources;
use serde_json::{Value, json};

/// Defaults the pull policy of an image, which the field `image` names.
pub(super) fn default_pull_policy(object: &mut ObjectFields, image: &str, policy: &str) {
    let image = object.get(image).and_then(Value::as_str);
    let default = image_pull_policy(image.unwrap_or_default());
    object.entry(policy).or_insert_with(|| default.into());
}

/// Returns the default pull policy of an image: `Always` for the tag `latest` or without tag and digest, else `IfNotPresent`.
fn image_pull_policy(image: &str) -> &'static str {
    let name = image.rsplit('/').next().unwrap_or_default();
    let tag = name.split_once(':').map(|(_, tag)| tag);
    let repository = name.split([':', '@']).next().unwrap_or_default();
    let valid = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"._-".contains(&byte);
    if repository.is_empty() || !repository.bytes().all(valid) {
        // An invalid reference has no tag.
        return "IfNotPresent";
    }
    if !name.contains('@') && matches!(tag, None | Some("latest")) {
        "Always"
    } else {
        "IfNotPresent"
    }
}

/// Applies the defaults of pods that pod templates do not get.
pub(super) fn default_pod(pod: &mut ObjectFields) {
    let Some(spec) = pod.get_mut("spec").and_then(Value::as_object_mut) else {
        return;
    };
    spec.entry("enableServiceLinks").or_insert(Value::Bool(true));
    let host_network = spec.get("hostNetwork").is_some_and(|set| *set == true);
    for list in ["containers", "initContainers"] {
        for container in list_items(spec, list) {
            if let Some(resources) = container.get_mut("resources").and_then(Value::as_object_mut)
                && let Some(limits) = resources.get("limits").and_then(Value::as_object).cloned()
                && let Some(requests) = resources
                    .entry("requests")
                    .or_insert_with(|| json!({}))
                    .as_object_mut()
            {
                for (name, limit) in limits {
                    requests.entry(name).or_insert(limit);
                }
            }
            if host_network {
                for port in list_items(container, "ports") {
                    if let Some(number) = port.get("containerPort").cloned() {
                        port.entry("hostPort").or_insert(number);
                    }
                }
            }
        }
    }
    pod_resources::default_pod_resources(spec);
}

/// Keeps `podIP` and the first entry of `podIPs` equal; `podIP` wins if both are set.
pub(super) fn default_pod_ips(status: &mut ObjectFields) {
    let text = |value: Option<&Value>| value.and_then(Value::as_str).unwrap_or_default().to_owned();
    let address = text(status.get("podIP"));
    let all = status.get("podIPs").and_then(|all| all.get(0));
    let first = text(all.and_then(|first| first.get("ip")));
    if address.is_empty() && !first.is_empty() {
        status.insert("podIP".to_owned(), first.into());
    } else if address != first {
        status.insert("podIPs".to_owned(), json!([{ "ip": address }]));
    }
}

//! The usage of pods, and the resources that their containers must set.

use super::amounts::{add, is_zero, max};
use super::usage::count;
use crate::builtin::{ResourceList, aggregate_container_resources, resource_list};
use crate::meta::{self, names};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

const OBJECT_COUNT: &str = "count/pods";
/// The resources of pods that quotas limit by their own name, as requests and as limits.
const COMPUTE_RESOURCES: [&str; 3] = ["cpu", "memory", "ephemeral-storage"];
const HUGE_PAGES: &str = "hugepages-";
const REQUESTS: &str = "requests.";
const LIMITS: &str = "limits.";
/// The prefix of names of extended resources that stand for a device class.
pub(super) const DEVICE_CLASS: &str = "deviceclass.resource.kubernetes.io/";

/// Whether a resource name of a quota counts pods or their resources.
pub(super) fn is_pod_resource(name: &str) -> bool {
    let request = name.strip_prefix(REQUESTS);
    let base = request.or_else(|| name.strip_prefix(LIMITS)).unwrap_or(name);
    name == OBJECT_COUNT
        || name == "pods"
        || COMPUTE_RESOURCES.contains(&base)
        || request.unwrap_or(name).starts_with(HUGE_PAGES)
        || extended_resource(name).is_some()
}

/// Returns the extended resource behind a resource name of a quota, such as `a.dev/gpu` for `requests.a.dev/gpu`.
pub(super) fn extended_resource(name: &str) -> Option<&str> {
    let resource = name.strip_prefix(REQUESTS)?;
    (is_foreign(name) || resource.starts_with(DEVICE_CLASS)).then_some(resource)
}

/// Whether a resource name has a domain outside of kubernetes.io.
fn is_foreign(name: &str) -> bool {
    name.contains('/') && !name.contains("kubernetes.io/")
}

fn is_extended_resource(name: &str) -> bool {
    name.starts_with(DEVICE_CLASS)
        || is_foreign(name)
            && !name.starts_with(REQUESTS)
            && names::is_label_key(&format!("{REQUESTS}{name}"))
}

/// Returns the usage of a pod. A pod that has finished, or is still there after its grace period, counts only as an object.
pub(super) fn pod_usage(pod: &Value) -> ResourceList {
    let mut usage = count([OBJECT_COUNT]);
    if has_ended(pod) {
        return usage;
    }
    usage.extend(count(["pods"]));
    for (name, quantity) in pod_resources(pod, "requests") {
        let is_compute = COMPUTE_RESOURCES.contains(&name.as_str()) || name.starts_with(HUGE_PAGES);
        if is_compute || is_extended_resource(&name) {
            usage.insert(format!("{REQUESTS}{name}"), quantity.clone());
        }
        if is_compute {
            usage.insert(name, quantity);
        }
    }
    for (name, quantity) in pod_resources(pod, "limits") {
        if COMPUTE_RESOURCES.contains(&name.as_str()) {
            usage.insert(format!("{LIMITS}{name}"), quantity);
        }
    }
    usage
}

fn has_ended(pod: &Value) -> bool {
    if matches!(pod["status"]["phase"].as_str(), Some("Failed" | "Succeeded")) {
        return true;
    }
    let metadata = &pod["metadata"];
    let deleted = meta::text(metadata, "deletionTimestamp").parse::<jiff::Timestamp>();
    let (Ok(deleted), Some(grace)) = (deleted, metadata["deletionGracePeriodSeconds"].as_i64()) else {
        return false;
    };
    jiff::Timestamp::now().duration_since(deleted) > jiff::SignedDuration::from_secs(grace)
}

/// Returns the requests or limits of a pod that count while it may be resized.
fn pod_resources(pod: &Value, list: &str) -> ResourceList {
    spec_resources(&with_effective_resources(pod), list)
}

/// Returns the requests or limits of a pod's spec: the pod-level resources, else the aggregate of its containers, plus the overhead.
pub(crate) fn spec_resources(spec: &Value, list: &str) -> ResourceList {
    let mut resources = aggregate_container_resources(spec, list);
    for (name, quantity) in resource_list(&spec["resources"][list]) {
        if is_pod_level_resource(&name) {
            resources.insert(name, quantity);
        }
    }
    let mut overhead = resource_list(&spec["overhead"]);
    if list == "limits" {
        overhead.retain(|name, _| resources.get(name).is_some_and(|limit| !is_zero(limit)));
    }
    add(&resources, &overhead)
}

fn is_pod_level_resource(name: &str) -> bool {
    matches!(name, "cpu" | "memory") || name.starts_with(HUGE_PAGES)
}

/// Returns the pod's spec with the effective resources of its containers: while a pod is resized, the larger of desired and actual ones.
fn with_effective_resources(pod: &Value) -> Value {
    let mut spec = pod["spec"].clone();
    let status = &pod["status"];
    let items = |list: &'_ Value| list.as_array().cloned().unwrap_or_default();
    let mut resizes = items(&status["conditions"]).into_iter();
    let resize = resizes.find(|condition| condition["type"] == "PodResizePending");
    let is_infeasible = resize.is_some_and(|condition| condition["reason"] == "Infeasible");
    let mut statuses = items(&status["containerStatuses"]);
    statuses.extend(items(&status["initContainerStatuses"]));
    for list in ["containers", "initContainers"] {
        for container in spec[list].as_array_mut().into_iter().flatten() {
            let status = statuses.iter().find(|status| status["name"] == container["name"]);
            let is_resizable = list == "containers" || container["restartPolicy"] == "Always";
            let Some(status) = status.filter(|status| is_resizable && status["resources"].is_object()) else {
                continue;
            };
            for list in ["requests", "limits"] {
                let mut resources = resource_list(&status["resources"][list]);
                if list == "requests" {
                    resources = max(resources, resource_list(&status["allocatedResources"]));
                }
                if !is_infeasible {
                    resources = max(resource_list(&container["resources"][list]), resources);
                }
                meta::entry_mut(container, "resources").insert(list.to_owned(), resources.into());
            }
        }
    }
    spec
}

/// Returns the limited CPU and memory resources that containers do not set, with the containers, or None. Pods with pod-level resources need
/// not set them in containers.
pub(super) fn missing_resources(limited: &[&str], pod: &Value) -> Option<String> {
    let spec = &pod["spec"];
    let own = ["requests", "limits"].map(|list| resource_list(&spec["resources"][list]));
    if own
        .iter()
        .any(|list| list.keys().any(|name| is_pod_level_resource(name)))
    {
        return None;
    }
    let mut missing = BTreeMap::<&str, BTreeSet<&str>>::new();
    for name in limited {
        let (list, resource) = match name.strip_prefix(LIMITS) {
            Some(resource) => ("limits", resource),
            None => ("requests", name.strip_prefix(REQUESTS).unwrap_or(name)),
        };
        if !matches!(resource, "cpu" | "memory") {
            continue;
        }
        let containers = ["containers", "initContainers"].map(|list| spec[list].as_array());
        for container in containers.into_iter().flatten().flatten() {
            if container["resources"][list][resource].is_null() {
                missing
                    .entry(name)
                    .or_default()
                    .insert(meta::text(container, "name"));
            }
        }
    }
    let messages = missing.into_iter().map(|(name, containers)| {
        let containers: Vec<&str> = containers.into_iter().collect();
        format!("{name} for: {}", containers.join(","))
    });
    let messages: Vec<String> = messages.collect();
    (!messages.is_empty()).then(|| messages.join("; "))
}

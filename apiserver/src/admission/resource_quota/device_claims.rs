//! The usage of resource claims: devices by class, also under the names of extended resources.

use super::amounts::increase;
use super::pods::{DEVICE_CLASS, extended_resource, pod_usage};
use super::usage::count;
use crate::admission::Attributes;
use crate::builtin::ResourceList;
use crate::meta;
use crate::storage::Store;
use serde_json::Value;
use std::collections::BTreeMap;

const OBJECT_COUNT: &str = "count/resourceclaims.resource.k8s.io";
/// The suffix of names in quotas that limit the devices of a class.
const DEVICES: &str = ".deviceclass.resource.k8s.io/devices";
/// The number of devices that a request for all devices counts as: the maximum of a claim.
const ALL_DEVICES: i64 = 32;
/// Marks the claims that the scheduler creates for the extended resources of a pod.
const EXTENDED_RESOURCE_CLAIM: &str = "resource.kubernetes.io/extended-resource-claim";

/// Whether a resource name of a quota counts claims or devices. Extended resources count while a device class provides them.
pub(super) fn is_claim_resource(attributes: &Attributes<'_>, name: &str) -> bool {
    if name == OBJECT_COUNT || name.ends_with(DEVICES) {
        return true;
    }
    let Some(resource) = extended_resource(name) else {
        return false;
    };
    match resource.strip_prefix(DEVICE_CLASS) {
        Some(class) => attributes
            .get("resource.k8s.io", "deviceclasses", class)
            .is_some(),
        None => attributes
            .list("resource.k8s.io", "deviceclasses", "")
            .iter()
            .any(|class| class.value()["spec"]["extendedResourceName"] == *resource),
    }
}

/// Returns the usage of a claim.
pub(super) fn claim_usage(attributes: &Attributes<'_>, claim: &Value) -> ResourceList {
    let mut usage = count([OBJECT_COUNT]);
    let mut extended = ResourceList::new();
    for (class, devices) in devices_by_class(claim) {
        let devices = Value::from(devices.to_string());
        extended.insert(format!("requests.{DEVICE_CLASS}{class}"), devices.clone());
        let device_class = attributes.get("resource.k8s.io", "deviceclasses", &class);
        let resource = device_class
            .as_ref()
            .and_then(|class| class.value()["spec"]["extendedResourceName"].as_str());
        if let Some(resource) = resource {
            extended.insert(format!("requests.{resource}"), devices.clone());
        }
        usage.insert(format!("{class}{DEVICES}"), devices);
    }
    // The requests of the pod are charged with the pod.
    usage.extend(increase(&extended, &usage_of_owner(attributes, claim)));
    usage
}

/// Returns the maximum number of devices of each class that can be allocated for the claim.
fn devices_by_class(claim: &Value) -> BTreeMap<String, i64> {
    let mut total = BTreeMap::<String, i64>::new();
    let requests = claim["spec"]["devices"]["requests"].as_array();
    for request in requests.into_iter().flatten() {
        let mut largest = BTreeMap::<String, i64>::new();
        let alternatives = request["firstAvailable"].as_array();
        let alternatives = alternatives.filter(|list| !list.is_empty());
        let exact = [request["exactly"].clone()];
        for option in alternatives.map_or(&exact[..], Vec::as_slice) {
            if option.is_object() {
                let devices = match option["allocationMode"].as_str() {
                    Some("ExactCount") => option["count"].as_i64().unwrap_or(0),
                    Some("All") => ALL_DEVICES,
                    _ => 0,
                };
                let class = meta::text(option, "deviceClassName").to_owned();
                let held = largest.entry(class).or_default();
                *held = devices.max(*held);
            }
        }
        for (class, devices) in largest {
            let held = total.entry(class).or_default();
            *held = held.saturating_add(devices);
        }
    }
    total
}

/// Returns the usage of the pod that the scheduler created the claim for; empty for other claims.
fn usage_of_owner(attributes: &Attributes<'_>, claim: &Value) -> ResourceList {
    let none = ResourceList::new();
    let Some(owner) = owning_pod(claim) else {
        return none;
    };
    let key = Store::key(attributes.namespace, meta::text(owner, "name"));
    let Some(pod) = attributes.get("", "pods", &key) else {
        return none;
    };
    let pod = pod.value();
    let claim_of_pod = &pod["status"]["extendedResourceClaimStatus"]["resourceClaimName"];
    let is_claim_of_pod = match claim_of_pod.as_str() {
        Some(name) => name == meta::name(claim),
        None => is_first_claim(attributes, claim, owner),
    };
    if meta::uid(pod) != meta::text(owner, "uid") || !is_claim_of_pod {
        return none;
    }
    pod_usage(pod)
}

/// Returns the reference to the pod that a claim for extended resources was created for.
fn owning_pod(claim: &Value) -> Option<&Value> {
    let is_extended = claim["metadata"]["annotations"][EXTENDED_RESOURCE_CLAIM] == "true";
    let mut owners = meta::owners(claim).iter();
    let controller = owners.find(|owner| owner["controller"] == true)?;
    (is_extended && controller["kind"] == "Pod" && controller["apiVersion"] == "v1").then_some(controller)
}

/// Whether no other claim for the pod's extended resources is older.
fn is_first_claim(attributes: &Attributes<'_>, claim: &Value, owner: &Value) -> bool {
    let age = |claim: &Value| {
        let created = meta::text(&claim["metadata"], "creationTimestamp");
        (created.to_owned(), meta::name(claim).to_owned())
    };
    let claims = attributes.list("resource.k8s.io", "resourceclaims", attributes.namespace);
    !claims.iter().map(|other| other.value()).any(|other| {
        owning_pod(other).is_some_and(|pod| pod["uid"] == owner["uid"]) && age(other) < age(claim)
    })
}

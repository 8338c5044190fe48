//! Resources of a pod as a whole: the sum over its containers, and the defaults of pod-level resources.

use super::quantity_value;
use crate::types;
use serde_json::{Map, Value};

/// A list of resources with their quantities, as `requests` and `limits` have it.
pub type ResourceList = Map<String, Value>;

/// Aggregates the requests or limits of a pod's containers. This is the larger of the sum over containers and sidecars, and the peak of
/// each init container together with the sidecars started before it.
pub fn aggregate_container_resources(spec: &Value, list: &str) -> ResourceList {
    let containers = |name: &str| spec[name].as_array().into_iter().flatten();
    let (mut total, mut sidecars, mut init_peak) =
        (ResourceList::new(), ResourceList::new(), ResourceList::new());
    for container in containers("containers") {
        add(&mut total, &container["resources"][list]);
    }
    for container in containers("initContainers") {
        let own = &container["resources"][list];
        let mut with_sidecars = sidecars.clone();
        add(&mut with_sidecars, own);
        if container["restartPolicy"] == "Always" {
            add(&mut total, own);
            sidecars.clone_from(&with_sidecars);
        }
        max_in_place(&mut init_peak, with_sidecars);
    }
    max_in_place(&mut total, init_peak);
    total
}

fn add(total: &mut ResourceList, more: &Value) {
    for (name, quantity) in more.as_object().into_iter().flatten() {
        let sum = match (total.get(name).and_then(Value::as_str), quantity.as_str()) {
            (Some(first), Some(second)) => types::add_quantities(first, second).map(Value::from),
            _ => None,
        };
        total.insert(name.clone(), sum.unwrap_or_else(|| quantity.clone()));
    }
}

fn max_in_place(total: &mut ResourceList, others: ResourceList) {
    for (name, quantity) in others {
        if total
            .get(&name)
            .is_none_or(|entries| quantity_value(entries) < quantity_value(&quantity))
        {
            total.insert(name, quantity);
        }
    }
}

pub(super) fn is_huge_page(name: &str) -> bool {
    name.starts_with("hugepages-")
}

/// Returns a copy of a list of resources; empty if there is none.
pub fn resource_list(value: &Value) -> ResourceList {
    value.as_object().cloned().unwrap_or_default()
}

/// Defaults pod-level resources, if there are any: limits of huge pages from those of the containers, and requests from the containers'
/// requests and the pod's limits.
pub(super) fn default_pod_resources(spec: &mut Map<String, Value>) {
    let whole = Value::Object(spec.clone());
    let Some(resources) = spec.get_mut("resources").and_then(Value::as_object_mut) else {
        return;
    };
    let (mut limits, mut requests) = (
        resource_list(&whole["resources"]["limits"]),
        resource_list(&whole["resources"]["requests"]),
    );
    if limits.is_empty() && requests.is_empty() {
        return;
    }
    for (name, quantity) in aggregate_container_resources(&whole, "limits") {
        if is_huge_page(&name) && !requests.contains_key(&name) {
            limits.entry(name).or_insert(quantity);
        }
    }
    if limits.is_empty() {
        return;
    }
    let is_cpu_or_memory = |name: &str| matches!(name, "cpu" | "memory");
    for (name, quantity) in aggregate_container_resources(&whole, "requests") {
        if is_cpu_or_memory(&name) {
            requests.entry(name).or_insert(quantity);
        }
    }
    for (name, quantity) in &limits {
        if is_cpu_or_memory(name) || is_huge_page(name) {
            requests.entry(name.clone()).or_insert_with(|| quantity.clone());
        }
    }
    resources.insert("limits".to_owned(), limits.into());
    if !requests.is_empty() {
        resources.insert("requests".to_owned(), requests.into());
    }
}

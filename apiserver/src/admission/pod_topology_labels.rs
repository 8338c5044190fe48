//! PodTopologyLabels: a pod with a node has the node's topology labels.

use super::Attributes;
use crate::meta;
use crate::storage::Store;
use serde_json::{Map, Value};

pub(super) fn mutate(attributes: &Attributes<'_>, pod: &mut Value) {
    if attributes.creates("", "Pod") {
        let node = pod["spec"]["nodeName"].as_str().unwrap_or_default();
        let labels = topology_labels(attributes.store, node);
        meta::extend_metadata(pod, "labels", &labels);
    }
}

/// Returns the topology labels of a node, which are copied to its pods.
pub(crate) fn topology_labels(store: &Store, node: &str) -> Map<String, Value> {
    const LABELS: [&str; 2] = ["topology.kubernetes.io/region", "topology.kubernetes.io/zone"];
    let node = store.get("nodes", node);
    let labels = node.and_then(|node| node.value()["metadata"]["labels"].as_object().cloned());
    let mut labels = labels.unwrap_or_default();
    labels.retain(|name, _| LABELS.contains(&name.as_str()));
    labels
}

//! The pods that a DaemonSet creates: its template with a revision, tolerations, and the affinity that binds a pod to its node.

use std::collections::BTreeMap;

use k8s_openapi::{
    api::{
        apps::v1::DaemonSet,
        core::v1::{
            NodeSelector, NodeSelectorRequirement, NodeSelectorTerm, Pod, PodSpec, PodTemplateSpec,
            Toleration,
        },
    },
    apimachinery::pkg::apis::meta::v1::ObjectMeta,
};
use kubewright::controller::controller_reference;

use super::pods::Revision;
use crate::shared::{
    node_affinity::NAME_FIELD,
    pod_control::{NoLabels, pod_from_template},
    taints::{NO_EXECUTE, NO_SCHEDULE},
};

/// The label with the revision of a pod, and of a ControllerRevision.
pub(super) const HASH_LABEL: &str = "controller-revision-hash";

/// The label with the template generation of a pod, which counted revisions before there were hashes.
pub(super) const GENERATION_LABEL: &str = "pod-template-generation";

/// Taints that pods of DaemonSets tolerate, as long as the node has them.
const TOLERATED: [(&str, &str); 6] = [
    ("node.kubernetes.io/not-ready", NO_EXECUTE),
    ("node.kubernetes.io/unreachable", NO_EXECUTE),
    ("node.kubernetes.io/disk-pressure", NO_SCHEDULE),
    ("node.kubernetes.io/memory-pressure", NO_SCHEDULE),
    ("node.kubernetes.io/pid-pressure", NO_SCHEDULE),
    ("node.kubernetes.io/unschedulable", NO_SCHEDULE),
];

/// The taint that pods in the host's network tolerate as well.
const NETWORK_UNAVAILABLE: (&str, &str) = ("node.kubernetes.io/network-unavailable", NO_SCHEDULE);

/// Returns the tolerations of a pod: those of its spec, and those that all pods of DaemonSets have.
pub(super) fn tolerations(spec: &PodSpec) -> Vec<Toleration> {
    let mut tolerations = spec.tolerations.clone().unwrap_or_default();
    let of_network = (spec.host_network == Some(true)).then_some(NETWORK_UNAVAILABLE);
    for (key, effect) in TOLERATED.into_iter().chain(of_network) {
        add_or_replace(&mut tolerations, key, effect);
    }
    tolerations
}

/// Adds a toleration of a taint, or replaces equal ones that are limited in time.
fn add_or_replace(tolerations: &mut Vec<Toleration>, key: &str, effect: &str) {
    let wanted = Toleration {
        key: Some(key.to_owned()),
        operator: Some("Exists".to_owned()),
        effect: Some(effect.to_owned()),
        ..Toleration::default()
    };
    let mut is_present = false;
    for toleration in tolerations.iter_mut() {
        let is_empty = toleration.value.as_deref().unwrap_or_default().is_empty();
        if toleration.key == wanted.key
            && toleration.operator == wanted.operator
            && toleration.effect == wanted.effect
            && is_empty
        {
            toleration.clone_from(&wanted);
            is_present = true;
        }
    }
    if !is_present {
        tolerations.push(wanted);
    }
}

/// Returns the pod of a revision, for no node yet.
pub(super) fn pod(daemon_set: &DaemonSet, revision: &Revision) -> Result<Pod, NoLabels> {
    let template = daemon_set.spec.as_ref().map(|spec| spec.template.clone());
    let PodTemplateSpec { metadata, spec } = template.unwrap_or_default();
    let (metadata, mut spec) = (metadata.unwrap_or_default(), spec.unwrap_or_default());
    let mut labels: BTreeMap<_, _> = metadata.labels.unwrap_or_default();
    if let Some(generation) = &revision.template_generation {
        labels.insert(GENERATION_LABEL.to_owned(), generation.clone());
    }
    labels.insert(HASH_LABEL.to_owned(), revision.hash.clone());
    spec.tolerations = Some(tolerations(&spec));
    let template = PodTemplateSpec {
        metadata: Some(ObjectMeta {
            labels: Some(labels),
            ..metadata
        }),
        spec: Some(spec),
    };
    let namespace = daemon_set.metadata.namespace.as_deref();
    pod_from_template(Some(&template), namespace, controller_reference(daemon_set))
}

/// Returns the pod for a node. Its affinity lets the scheduler choose no other; the template's required node affinity, which the node meets,
/// is replaced.
pub(super) fn for_node(pod: &Pod, node: &str) -> Pod {
    let mut pod = pod.clone();
    let is_node = NodeSelectorRequirement {
        key: NAME_FIELD.to_owned(),
        operator: "In".to_owned(),
        values: Some(vec![node.to_owned()]),
    };
    let affinity = pod.spec.get_or_insert_default().affinity.get_or_insert_default();
    let node_affinity = affinity.node_affinity.get_or_insert_default();
    node_affinity.required_during_scheduling_ignored_during_execution = Some(NodeSelector {
        node_selector_terms: vec![NodeSelectorTerm {
            match_fields: Some(vec![is_node]),
            match_expressions: None,
        }],
    });
    pod
}

#[cfg(test)]
#[path = "pod_template_tests.rs"]
mod tests;

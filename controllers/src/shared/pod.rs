//! What the controllers read of a pod. The informer keeps these values alone, a small part of the object.

use std::collections::BTreeMap;

use k8s_openapi::{
    api::core::v1::{Pod, PodCondition},
    apimachinery::pkg::apis::meta::v1::Time,
};
use kubewright::Projection;

/// The values of a pod that the controllers read.
#[derive(Projection, Clone, Debug, Default, PartialEq)]
#[projection(of = Pod)]
pub(crate) struct PodView {
    #[projection(path = "metadata.name", default)]
    pub(crate) name: String,
    #[projection(path = "metadata.uid", default)]
    pub(crate) uid: String,
    #[projection(path = "metadata.labels", default)]
    pub(crate) labels: BTreeMap<String, String>,
    #[projection(path = "metadata.creationTimestamp")]
    pub(crate) created: Option<Time>,
    #[projection(path = "metadata.deletionTimestamp")]
    pub(crate) deleted: Option<Time>,
    #[projection(path = "metadata.annotations['controller.kubernetes.io/pod-deletion-cost']")]
    pub(crate) deletion_cost: Option<String>,
    #[projection(path = "spec.nodeName")]
    pub(crate) node: Option<String>,
    #[projection(path = "status.phase", default)]
    pub(crate) phase: String,
    #[projection(path = "status.conditions", default)]
    pub(crate) conditions: Vec<PodCondition>,
    #[projection(path = "status.containerStatuses[*].restartCount")]
    pub(crate) restarts: Vec<i32>,
}

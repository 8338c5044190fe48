//! Kinds of the API group `kueue.x-k8s.io`.

pub mod cluster_queue;
pub mod resource_flavor;

//! Builds the programs of a real control plane from Kubernetes' Go modules, once per machine.
//!
//! [`recipe`] states what is built, and into which folder; [`build()`] builds it, or waits for another process that does.

pub mod build;
pub mod recipe;

pub use build::{BuildError, build, built};
pub use recipe::{
    ETCD, KUBE_APISERVER, KUBE_CONTROLLER_MANAGER, KUBE_SCHEDULER, KUBECTL, build_folder, kubernetes_version,
};

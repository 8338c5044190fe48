//! Values of all forms, with kubewright as the only dependency.
#![deny(warnings, missing_docs, unused, unreachable_pub)]

use std::collections::BTreeMap;

use kubewright::{
    Kind,
    k8s_openapi::{
        api::{apps::v1::Deployment, core::v1::Pod},
        apimachinery::pkg::util::intstr::IntOrString,
    },
    prelude::*,
    serde_json,
};

/// The placement of a Pod.
#[derive(Projection, Clone, Debug)]
#[projection(of = Pod)]
pub struct PodPlace {
    /// An optional value.
    #[projection(path = "spec.nodeName")]
    pub node: Option<String>,
    /// A required value.
    #[projection(path = "status.phase")]
    pub phase: String,
    /// A value of each element.
    #[projection(path = "status.containerStatuses[*].restartCount")]
    pub restarts: Vec<i32>,
    /// The same, with `None` for elements without the value.
    #[projection(path = "status.containerStatuses[*].lastState.terminated.exitCode")]
    pub exits: Vec<Option<i32>>,
    /// Nested lists.
    #[projection(path = "spec.containers[*].ports[*].containerPort")]
    pub ports: Vec<u16>,
    /// A whole object.
    #[projection(path = "metadata.labels", default)]
    pub labels: BTreeMap<String, String>,
    /// A quoted field.
    #[projection(path = "metadata.annotations['example.com/team']", default)]
    pub team: String,
}

/// A kind given by its path; two attributes; a type of k8s-openapi.
#[derive(Projection)]
#[projection(of = kubewright::k8s_openapi::api::apps::v1::Deployment)]
#[projection(crate = "kubewright")]
pub struct Surge {
    /// A value with its own `Deserialize`.
    #[projection(path = "spec.strategy.rollingUpdate.maxSurge")]
    pub max: Option<IntOrString>,
}

fn main() {
    assert_eq!(PodPlace::info(), Pod::info());
    assert_eq!(Surge::info(), Deployment::info());
    assert_eq!(PodPlace::PATHS.len(), 7);
    assert_eq!(<Surge as Projection>::PATHS, ["spec.strategy.rollingUpdate.maxSurge"]);
    let place: PodPlace = serde_json::from_str(r#"{"status": {"phase": "Running"}}"#).unwrap();
    assert_eq!(place.phase, "Running");
    let surge: Surge = serde_json::from_str("{}").unwrap();
    assert!(surge.max.is_none());
}

//! The custom kind of the operator benchmark, and code that its Rust operators share. `../operator-go` is the same in Go.

use std::collections::BTreeMap;

use k8s_openapi::{
    api::{
        apps::v1::{Deployment, DeploymentSpec},
        core::v1::{Container, PodSpec, PodTemplateSpec},
    },
    apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta, OwnerReference},
};
use kubewright::{CustomResource, Informer};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Number of concurrent reconciles in each operator.
pub const WORKERS: u16 = 8;

/// Requests a Deployment of the same name.
#[derive(CustomResource, Informer, Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[kube(
    group = "bench.kubewright.dev",
    version = "v1",
    kind = "Widget",
    namespaced,
    status = "WidgetStatus",
    derive = "Default",
    derive = "PartialEq"
)]
#[serde(rename_all = "camelCase")]
pub struct WidgetSpec {
    /// The container image.
    pub image: String,
    /// The number of replicas.
    pub replicas: i32,
}

/// The observed state of the Widget's Deployment.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WidgetStatus {
    /// The number of replicas in the Deployment's spec.
    pub replicas: i32,
    /// The number of ready replicas.
    pub ready_replicas: i32,
}

/// Returns the Deployment that a Widget requests.
pub fn new_deployment(widget: &Widget, owner: OwnerReference) -> Deployment {
    let name = widget.metadata.name.clone().unwrap_or_default();
    let labels = Some(BTreeMap::from([("widget".to_owned(), name.clone())]));
    let container = Container {
        name: "widget".to_owned(),
        image: Some(widget.spec.image.clone()),
        ..Container::default()
    };
    Deployment {
        metadata: ObjectMeta {
            name: Some(name),
            namespace: widget.metadata.namespace.clone(),
            labels: labels.clone(),
            owner_references: Some(vec![owner]),
            ..ObjectMeta::default()
        },
        spec: Some(DeploymentSpec {
            replicas: Some(widget.spec.replicas),
            selector: LabelSelector {
                match_labels: labels.clone(),
                ..LabelSelector::default()
            },
            template: PodTemplateSpec {
                metadata: Some(ObjectMeta {
                    labels,
                    ..ObjectMeta::default()
                }),
                spec: Some(PodSpec {
                    containers: vec![container],
                    ..PodSpec::default()
                }),
            },
            ..DeploymentSpec::default()
        }),
        status: None,
    }
}

/// Returns the Deployment with the number of replicas that the Widget requests; None if it already has that number.
pub fn with_requested_replicas(deployment: &Deployment, widget: &Widget) -> Option<Deployment> {
    let replicas = Some(widget.spec.replicas);
    let spec = deployment
        .spec
        .as_ref()
        .filter(|spec| spec.replicas != replicas)?;
    Some(Deployment {
        spec: Some(DeploymentSpec {
            replicas,
            ..spec.clone()
        }),
        ..deployment.clone()
    })
}

impl WidgetStatus {
    /// Returns the status of a Widget with this Deployment.
    pub fn of(deployment: &Deployment) -> Self {
        let (spec, status) = (deployment.spec.as_ref(), deployment.status.as_ref());
        Self {
            replicas: spec.and_then(|spec| spec.replicas).unwrap_or_default(),
            ready_replicas: status
                .and_then(|status| status.ready_replicas)
                .unwrap_or_default(),
        }
    }

    /// Returns the text of the Widget's event.
    pub fn note(&self) -> String {
        format!("{} of {} replicas are ready", self.ready_replicas, self.replicas)
    }
}

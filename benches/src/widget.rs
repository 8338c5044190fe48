//! The kind of the operator bench, and what its operators have in common; `../operator-go` says the same in Go.

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

/// How many reconciles run at once, in each of the operators.
pub const WORKERS: u16 = 8;

/// Asks for a Deployment of its own name.
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
    /// What runs.
    pub image: String,
    /// How many of it.
    pub replicas: i32,
}

/// What became of it.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WidgetStatus {
    /// How many the Deployment is asked for.
    pub replicas: i32,
    /// How many of them are ready.
    pub ready_replicas: i32,
}

/// The Deployment that a Widget asks for.
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

/// The Deployment with as many replicas as the Widget asks for; None when it has them.
pub fn scaled(deployment: &Deployment, widget: &Widget) -> Option<Deployment> {
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
    /// What the Deployment says.
    pub fn of(deployment: &Deployment) -> Self {
        let (spec, status) = (deployment.spec.as_ref(), deployment.status.as_ref());
        Self {
            replicas: spec.and_then(|spec| spec.replicas).unwrap_or_default(),
            ready_replicas: status
                .and_then(|status| status.ready_replicas)
                .unwrap_or_default(),
        }
    }

    /// For people.
    pub fn note(&self) -> String {
        format!("{} of {} replicas are ready", self.ready_replicas, self.replicas)
    }
}

//! The controller of Foo: manages a Deployment for each Foo.

use std::collections::BTreeMap;

use k8s_openapi::api::apps::v1::{Deployment, DeploymentSpec};
use k8s_openapi::api::core::v1::{Container, PodSpec, PodTemplateSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, LabelSelector};
use kube::core::ObjectMeta;
use kubewright::prelude::*;

use crate::api::prelude::*;

/// The reconciler's listers and clients. The operator's role is generated from these types: verbs that a client type does
/// not name do not compile, and `kubewright generate` grants those that it names.
pub struct FooController {
    // Reads from the informers' cache.
    foos: FooLister,
    deployments: Lister<Deployment>,
    // Writes to the API server.
    foo_status: FooClient<(ApplyStatus,)>,
    deployment_writer: TypedClient<Deployment, (Apply,)>,
    events: Recorder,
}

impl FooController {
    /// Registers the controller with its watches and clients. Does no I/O.
    pub fn register(setup: &mut Setup) {
        let foos = setup.informers().foos();
        let deployments = setup.informers().of::<Deployment>();
        let reconciler = Self {
            foos: foos.lister(),
            deployments: deployments.lister(),
            foo_status: setup.client(),
            deployment_writer: setup.client(),
            events: setup.recorder(),
        };
        setup
            .controller("foo", reconciler)
            .reconciles(&foos)
            .owns(&deployments)
            .workers(2);
    }
}

impl Reconciler for FooController {
    /// Drives the Deployment towards the spec of the Foo. Called after changes of either; retried with backoff on errors.
    async fn reconcile(&self, key: &NamespacedName) -> Result<Action, ReconcileError> {
        let foo = match self.foos.get(key) {
            Ok(foo) => foo,
            // Deleted: the garbage collector deletes the Deployment.
            Err(LookupError::NotFound { .. }) => return Ok(Action::await_change()),
            Err(error) => return Err(error.into()),
        };
        let name = key.sibling(foo.spec.deployment_name.as_str());
        let before = match self.deployments.get(&name) {
            Ok(deployment) => Some(deployment),
            Err(LookupError::NotFound { .. }) => None,
            Err(error) => return Err(error.into()),
        };
        if let Some(deployment) = &before
            && !is_controlled_by(&deployment.metadata, foo.as_ref())
        {
            let message = format!("Deployment {name} exists and is not controlled by this Foo");
            self.events
                .event(foo.as_ref(), EventType::Warning, "NotOwned", &message);
            return Err(ReconcileError::new(message));
        }

        // Server-side apply: sends the desired state; the API server writes only if something changes.
        let after = self
            .deployment_writer
            .apply(&desired_deployment(&name, &foo))
            .await?;
        match &before {
            None => self.report(&foo, "Created"),
            Some(before) if before.spec != after.spec => {
                self.report(&foo, "Updated");
            }
            Some(_) => {}
        }

        self.apply_status(&foo, &after).await?;
        Ok(Action::await_change())
    }
}

impl FooController {
    /// Records an event about the Deployment.
    fn report(&self, foo: &Foo, reason: &str) {
        let message = format!("{reason} Deployment {}", foo.spec.deployment_name);
        self.events.event(foo, EventType::Normal, reason, &message);
    }

    /// Applies the status if it changed.
    async fn apply_status(&self, foo: &Foo, deployment: &Deployment) -> Result<(), ReconcileError> {
        let available = deployment
            .status
            .as_ref()
            .and_then(|status| status.available_replicas)
            .unwrap_or(0);
        let mut status = foo.status.clone().unwrap_or_default();
        status.available_replicas = available;
        status.observed_generation = foo.metadata.generation;
        set_condition(&mut status.conditions, ready(foo, available));
        if foo.status.as_ref() == Some(&status) {
            return Ok(());
        }
        // Only the status, which the operator owns.
        let intent = FooApply::of(foo).status(status);
        self.foo_status.apply_status(&intent).await?;
        Ok(())
    }
}

/// Returns the desired Deployment. Fields that are not set here are left to Kubernetes and other field managers.
fn desired_deployment(name: &NamespacedName, foo: &Foo) -> Deployment {
    let labels = BTreeMap::from([
        ("app.kubernetes.io/name".to_owned(), "nginx".to_owned()),
        (
            "app.kubernetes.io/instance".to_owned(),
            name.name().to_owned(),
        ),
    ]);
    let container = Container {
        name: "nginx".to_owned(),
        image: Some("nginx:1.29".to_owned()),
        ..Container::default()
    };
    Deployment {
        metadata: ObjectMeta {
            name: Some(name.name().to_owned()),
            namespace: name.namespace().map(str::to_owned),
            // The owner reference makes changes of the Deployment enqueue the Foo, and deletes the Deployment with
            // the Foo.
            owner_references: Some(vec![controller_reference(foo)]),
            ..ObjectMeta::default()
        },
        spec: Some(DeploymentSpec {
            replicas: Some(foo.spec.replicas),
            selector: LabelSelector {
                match_labels: Some(labels.clone()),
                ..LabelSelector::default()
            },
            template: PodTemplateSpec {
                metadata: Some(ObjectMeta {
                    labels: Some(labels),
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

/// Returns the condition `Ready`: whether all desired replicas are available. A rollout may have more of them.
fn ready(foo: &Foo, available: i32) -> Condition {
    let desired = foo.spec.replicas;
    let is_ready = available >= desired;
    let reason = if is_ready { "Available" } else { "Progressing" };
    let message = format!("{available} of {desired} replicas are available");
    condition(foo, "Ready", is_ready, reason, message)
}

//! Keeps a Deployment for each Foo.

use std::collections::BTreeMap;

use k8s_openapi::api::apps::v1::{Deployment, DeploymentSpec};
use k8s_openapi::api::core::v1::{Container, PodSpec, PodTemplateSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, LabelSelector};
use kube::core::ObjectMeta;
use kubewright::cache::LookupError;
use kubewright::controller::{condition, controller_reference, is_controlled_by, set_condition};
use kubewright::events::EventType;
use kubewright::prelude::*;

use crate::api::prelude::*;

/// What a reconcile works with. The operator's Role is made from these types: a verb that a client does not name
/// does not compile, and one that it names is granted at the next `kubewright generate`.
pub struct FooController {
    // Reads come from the cache, which informers keep up to date.
    foos: FooLister,
    deployments: Lister<Deployment>,
    // Writes go to the API server.
    foo_status: FooClient<(UpdateStatus,)>,
    deployment_writer: TypedClient<Deployment, (Apply,)>,
    events: Recorder,
}

impl FooController {
    /// Says what the controller reads, writes and reacts to. No I/O happens here.
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
    /// Called when the Foo or its Deployment changed, and again, ever later, after an error.
    async fn reconcile(&self, key: &NamespacedName) -> Result<Action, ReconcileError> {
        let foo = match self.foos.get(key) {
            Ok(foo) => foo,
            // Deleted meanwhile; Kubernetes collects what it owned.
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
            let message = format!("Deployment {name} exists and is not of this Foo");
            self.events
                .event(foo.as_ref(), EventType::Warning, "NotOwned", &message);
            return Err(ReconcileError::new(message));
        }

        // Applying says how the Deployment shall be, whatever it was; no change is no write.
        let after = self
            .deployment_writer
            .apply(&wanted_deployment(&name, &foo))
            .await?;
        match &before {
            None => self.report(&foo, "Created"),
            Some(before) if before.spec != after.spec => {
                self.report(&foo, "Updated");
            }
            Some(_) => {}
        }

        self.update_status(&foo, &after).await?;
        Ok(Action::await_change())
    }
}

impl FooController {
    fn report(&self, foo: &Foo, what: &str) {
        let message = format!("{what} Deployment {}", foo.spec.deployment_name);
        self.events.event(foo, EventType::Normal, what, &message);
    }

    async fn update_status(
        &self,
        foo: &Foo,
        deployment: &Deployment,
    ) -> Result<(), ReconcileError> {
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
        let mut changed = foo.clone();
        changed.status = Some(status);
        self.foo_status.update_status(&changed).await?;
        Ok(())
    }
}

/// The whole Deployment, from the spec alone: what is not said here is left to Kubernetes and to others.
fn wanted_deployment(name: &NamespacedName, foo: &Foo) -> Deployment {
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
            // Makes this Foo the one controller of the Deployment: its changes wake the Foo, and Kubernetes
            // deletes it with the Foo.
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

/// Ready: as many replicas are available as are wanted.
fn ready(foo: &Foo, available: i32) -> Condition {
    let wanted = foo.spec.replicas;
    let reason = if available == wanted {
        "Available"
    } else {
        "Progressing"
    };
    let message = format!("{available} of {wanted} replicas are available");
    condition(foo, "Ready", available == wanted, reason, message)
}

//! The controller: creates and updates the Deployment that a `Foo` specifies.

use std::time::Duration;

use k8s_openapi::api::apps::v1::Deployment;
use kubewright::{
    NamespacedName,
    cache::{Change, Lister, LookupError, Metadata},
    client::{Create, TypedClient, Update, UpdateStatus},
    controller::{
        Action, OwnEvents, ReconcileError, Reconciler, Setup, Source, controller_reference, is_controlled_by,
    },
    events::{EventType, Recorder},
    workqueue::{ItemExponential, MaxOf, TokenBucket},
};

use crate::api::{Foo, FooClient, FooInformers, FooLister, FooStatus};

/// Reason of the event on a Foo that was synced.
pub const SUCCESS_SYNCED: &str = "Synced";
/// Reason of the event on a Foo if its Deployment exists and has another controller.
pub const ERR_RESOURCE_EXISTS: &str = "ErrResourceExists";
/// Message of [`SUCCESS_SYNCED`].
pub const MESSAGE_RESOURCE_SYNCED: &str = "Foo synced successfully";

/// Reconciles Foos.
pub struct FooController {
    foos: FooLister,
    deployments: Lister<Deployment>,
    foo_status: FooClient<(UpdateStatus,)>,
    deployment_writer: TypedClient<Deployment, (Create, Update)>,
    events: Recorder,
}

/// The Deployment is not controlled by the Foo. The message is the event's, as upstream.
#[derive(Debug)]
struct NotManagedByFoo(String);

impl FooController {
    /// Registers the controller with an operator.
    pub fn register(setup: &mut Setup) {
        let (foos, deployments) = (setup.informers().foos(), setup.informers().of::<Deployment>());
        let owners = foos.lister();
        let reconciler = Self {
            foos: foos.lister(),
            deployments: deployments.lister(),
            foo_status: setup.client(),
            deployment_writer: setup.client(),
            events: setup.recorder(),
        };
        setup
            .controller("sample-controller", reconciler)
            // Upstream has no handler for deleted Foos: the garbage collector deletes their Deployments.
            .reconciles(Source::of(&foos).with_predicate(|change| !matches!(change, Change::Deleted { .. })))
            // As upstream, a Deployment without its Foo enqueues nothing.
            .owns(Source::of(&deployments).with_predicate(move |change| owner_is_cached(change, &owners)))
            .rate_limiter(MaxOf(
                ItemExponential::new(Duration::from_millis(5), Duration::from_secs(1000)),
                TokenBucket::new(50.0, 300),
            ))
            // One call does everything: an extra call after its writes would only repeat the status update.
            .own_events(OwnEvents::Ignore)
            .workers(2);
    }
}

impl Reconciler for FooController {
    async fn reconcile(&self, key: &NamespacedName) -> Result<Action, ReconcileError> {
        let foo = match self.foos.get(key) {
            Ok(foo) => foo,
            Err(LookupError::NotFound { .. }) => {
                tracing::info!(%key, "foo in work queue no longer exists");
                return Ok(Action::await_change());
            }
            Err(error) => return Err(error.into()),
        };
        if foo.spec.deployment_name.is_empty() {
            // A retry cannot succeed before the Foo changes, and the change enqueues it.
            tracing::error!(%key, "deployment name must be specified");
            return Ok(Action::await_change());
        }

        let deployment = match self
            .deployments
            .get(&key.sibling(foo.spec.deployment_name.as_str()))
        {
            Ok(found) => found,
            Err(LookupError::NotFound { .. }) => {
                self.deployment_writer.create(&new_deployment(&foo)).await?.into()
            }
            Err(error) => return Err(error.into()),
        };
        if !is_controlled_by(&deployment.metadata, &*foo) {
            let message = format!(
                "Resource {:?} already exists and is not managed by Foo",
                deployment.metadata.name.as_deref().unwrap_or_default()
            );
            self.events
                .event(foo.as_ref(), EventType::Warning, ERR_RESOURCE_EXISTS, &message);
            return Err(NotManagedByFoo(message).into());
        }

        let desired = foo.spec.replicas;
        let current = deployment.spec.as_ref().and_then(|spec| spec.replicas);
        let deployment = if desired.is_some() && desired != current {
            tracing::debug!(%key, current, desired, "update deployment resource");
            self.deployment_writer.update(&new_deployment(&foo)).await?.into()
        } else {
            deployment
        };

        self.update_status(&foo, &deployment).await?;
        self.events.event(
            foo.as_ref(),
            EventType::Normal,
            SUCCESS_SYNCED,
            MESSAGE_RESOURCE_SYNCED,
        );
        Ok(Action::await_change())
    }
}

impl FooController {
    /// Writes the status, even if unchanged, as upstream does.
    async fn update_status(&self, foo: &Foo, deployment: &Deployment) -> Result<(), ReconcileError> {
        let available = deployment
            .status
            .as_ref()
            .and_then(|status| status.available_replicas);
        let mut foo = foo.clone();
        foo.status = Some(FooStatus {
            available_replicas: available.unwrap_or_default(),
        });
        self.foo_status.update_status(&foo).await?;
        Ok(())
    }
}

/// Whether the object's controller, before or after the change, is in the cache.
fn owner_is_cached(change: &Change<'_>, foos: &FooLister) -> bool {
    let is_cached = |metadata: &Metadata| {
        metadata.controller().is_some_and(|owner| {
            foos.object(&metadata.name().sibling(owner.name.clone()))
                .is_some()
        })
    };
    match change {
        Change::Added { new, .. } => is_cached(new),
        Change::Updated { old, new } => is_cached(old) || is_cached(new),
        Change::Deleted { old, .. } => is_cached(old),
    }
}

/// Returns the desired Deployment of a Foo, with its owner reference.
pub fn new_deployment(foo: &Foo) -> Deployment {
    use std::collections::BTreeMap;

    use k8s_openapi::{
        api::{
            apps::v1::DeploymentSpec,
            core::v1::{Container, PodSpec, PodTemplateSpec},
        },
        apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta},
    };

    let labels = BTreeMap::from([
        ("app".to_owned(), "nginx".to_owned()),
        (
            "controller".to_owned(),
            foo.metadata.name.clone().unwrap_or_default(),
        ),
    ]);
    Deployment {
        metadata: ObjectMeta {
            name: Some(foo.spec.deployment_name.clone()),
            namespace: foo.metadata.namespace.clone(),
            owner_references: Some(vec![controller_reference(foo)]),
            ..ObjectMeta::default()
        },
        spec: Some(DeploymentSpec {
            replicas: foo.spec.replicas,
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
                    containers: vec![Container {
                        name: "nginx".to_owned(),
                        image: Some("nginx:latest".to_owned()),
                        ..Container::default()
                    }],
                    ..PodSpec::default()
                }),
            },
            ..DeploymentSpec::default()
        }),
        status: None,
    }
}

impl std::fmt::Display for NotManagedByFoo {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for NotManagedByFoo {}

//! The controller of DNSPolicy: manages a Deployment for each DNSPolicy.

use std::collections::BTreeMap;

use k8s_openapi::api::apps::v1::{Deployment, DeploymentSpec};
use k8s_openapi::api::core::v1::{Container, PodSpec, PodTemplateSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, LabelSelector};
use kube::core::ObjectMeta;
use kubewright::prelude::*;

use crate::api::prelude::*;

/// The reconciler's listers and clients. The operator's role is generated from these types: verbs that a client type does
/// not name do not compile, and `kubewright generate` grants those that it names.
pub struct DNSPolicyController {
    // Reads from the informers' cache.
    dns_policies: DNSPolicyLister,
    deployments: Lister<Deployment>,
    // Writes to the API server.
    dns_policy_status: DNSPolicyClient<(ApplyStatus,)>,
    deployment_writer: TypedClient<Deployment, (Apply,)>,
    events: Recorder,
}

impl DNSPolicyController {
    /// Registers the controller with its watches and clients. Does no I/O.
    pub fn register(setup: &mut Setup) {
        let dns_policies = setup.informers().dns_policies();
        let deployments = setup.informers().of::<Deployment>();
        let reconciler = Self {
            dns_policies: dns_policies.lister(),
            deployments: deployments.lister(),
            dns_policy_status: setup.client(),
            deployment_writer: setup.client(),
            events: setup.recorder(),
        };
        setup
            .controller("dnspolicy", reconciler)
            .reconciles(&dns_policies)
            .owns(&deployments)
            .workers(2);
    }
}

impl Reconciler for DNSPolicyController {
    /// Drives the Deployment towards the spec of the DNSPolicy. Called after changes of either; retried with backoff on errors.
    async fn reconcile(&self, key: &NamespacedName) -> Result<Action, ReconcileError> {
        let dns_policy = match self.dns_policies.get(key) {
            Ok(dns_policy) => dns_policy,
            // Deleted: the garbage collector deletes the Deployment.
            Err(LookupError::NotFound { .. }) => return Ok(Action::await_change()),
            Err(error) => return Err(error.into()),
        };
        let spec = &dns_policy.spec;
        let name = NamespacedName::namespaced(&*spec.deployment_namespace, &*spec.deployment_name);
        let before = match self.deployments.get(&name) {
            Ok(deployment) => Some(deployment),
            Err(LookupError::NotFound { .. }) => None,
            Err(error) => return Err(error.into()),
        };
        if let Some(deployment) = &before
            && !is_controlled_by(&deployment.metadata, dns_policy.as_ref())
        {
            let message =
                format!("Deployment {name} exists and is not controlled by this DNSPolicy");
            self.events.event(
                dns_policy.as_ref(),
                EventType::Warning,
                "NotOwned",
                &message,
            );
            return Err(ReconcileError::new(message));
        }

        // Server-side apply: sends the desired state; the API server writes only if something changes.
        let after = self
            .deployment_writer
            .apply(&desired_deployment(&name, &dns_policy))
            .await?;
        match &before {
            None => self.report(&dns_policy, "Created"),
            Some(before) if before.spec != after.spec => {
                self.report(&dns_policy, "Updated");
            }
            Some(_) => {}
        }

        self.apply_status(&dns_policy, &after).await?;
        Ok(Action::await_change())
    }
}

impl DNSPolicyController {
    /// Records an event about the Deployment.
    fn report(&self, dns_policy: &DNSPolicy, reason: &str) {
        let message = format!("{reason} Deployment {}", dns_policy.spec.deployment_name);
        self.events
            .event(dns_policy, EventType::Normal, reason, &message);
    }

    /// Applies the status if it changed.
    async fn apply_status(
        &self,
        dns_policy: &DNSPolicy,
        deployment: &Deployment,
    ) -> Result<(), ReconcileError> {
        let available = deployment
            .status
            .as_ref()
            .and_then(|status| status.available_replicas)
            .unwrap_or(0);
        let mut status = dns_policy.status.clone().unwrap_or_default();
        status.available_replicas = available;
        status.observed_generation = dns_policy.metadata.generation;
        set_condition(&mut status.conditions, ready(dns_policy, available));
        if dns_policy.status.as_ref() == Some(&status) {
            return Ok(());
        }
        // Only the status, which the operator owns.
        let intent = DNSPolicyApply::of(dns_policy).status(status);
        self.dns_policy_status.apply_status(&intent).await?;
        Ok(())
    }
}

/// Returns the desired Deployment. Fields that are not set here are left to Kubernetes and other field managers.
fn desired_deployment(name: &NamespacedName, dns_policy: &DNSPolicy) -> Deployment {
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
            // The owner reference makes changes of the Deployment enqueue the DNSPolicy, and deletes the Deployment with
            // the DNSPolicy.
            owner_references: Some(vec![controller_reference(dns_policy)]),
            ..ObjectMeta::default()
        },
        spec: Some(DeploymentSpec {
            replicas: Some(dns_policy.spec.replicas),
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
fn ready(dns_policy: &DNSPolicy, available: i32) -> Condition {
    let desired = dns_policy.spec.replicas;
    let is_ready = available >= desired;
    let reason = if is_ready { "Available" } else { "Progressing" };
    let message = format!("{available} of {desired} replicas are available");
    condition(dns_policy, "Ready", is_ready, reason, message)
}

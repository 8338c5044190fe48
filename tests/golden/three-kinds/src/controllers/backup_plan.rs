//! The controller of BackupPlan: manages a Deployment for each BackupPlan.

use std::collections::BTreeMap;

use k8s_openapi::api::apps::v1::{Deployment, DeploymentSpec};
use k8s_openapi::api::core::v1::{Container, PodSpec, PodTemplateSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, LabelSelector};
use kube::core::ObjectMeta;
use kubewright::prelude::*;

use crate::api::prelude::*;

/// The reconciler's listers and clients. The operator's role is generated from these types: verbs that a client type does
/// not name do not compile, and `kubewright generate` grants those that it names.
pub struct BackupPlanController {
    // Reads from the informers' cache.
    backup_plans: BackupPlanLister,
    deployments: Lister<Deployment>,
    // Writes to the API server.
    backup_plan_status: BackupPlanClient<(ApplyStatus,)>,
    deployment_writer: TypedClient<Deployment, (Apply,)>,
    events: Recorder,
}

impl BackupPlanController {
    /// Registers the controller with its watches and clients. Does no I/O.
    pub fn register(setup: &mut Setup) {
        let backup_plans = setup.informers().backup_plans();
        let deployments = setup.informers().of::<Deployment>();
        let reconciler = Self {
            backup_plans: backup_plans.lister(),
            deployments: deployments.lister(),
            backup_plan_status: setup.client(),
            deployment_writer: setup.client(),
            events: setup.recorder(),
        };
        setup
            .controller("backupplan", reconciler)
            .reconciles(&backup_plans)
            .owns(&deployments)
            .workers(2);
    }
}

impl Reconciler for BackupPlanController {
    /// Drives the Deployment towards the spec of the BackupPlan. Called after changes of either; retried with backoff on errors.
    async fn reconcile(&self, key: &NamespacedName) -> Result<Action, ReconcileError> {
        let backup_plan = match self.backup_plans.get(key) {
            Ok(backup_plan) => backup_plan,
            // Deleted: the garbage collector deletes the Deployment.
            Err(LookupError::NotFound { .. }) => return Ok(Action::await_change()),
            Err(error) => return Err(error.into()),
        };
        let name = key.sibling(backup_plan.spec.deployment_name.as_str());
        let before = match self.deployments.get(&name) {
            Ok(deployment) => Some(deployment),
            Err(LookupError::NotFound { .. }) => None,
            Err(error) => return Err(error.into()),
        };
        if let Some(deployment) = &before
            && !is_controlled_by(&deployment.metadata, backup_plan.as_ref())
        {
            let message =
                format!("Deployment {name} exists and is not controlled by this BackupPlan");
            self.events.event(
                backup_plan.as_ref(),
                EventType::Warning,
                "NotOwned",
                &message,
            );
            return Err(ReconcileError::new(message));
        }

        // Server-side apply: sends the desired state; the API server writes only if something changes.
        let after = self
            .deployment_writer
            .apply(&desired_deployment(&name, &backup_plan))
            .await?;
        match &before {
            None => self.report(&backup_plan, "Created"),
            Some(before) if before.spec != after.spec => {
                self.report(&backup_plan, "Updated");
            }
            Some(_) => {}
        }

        self.apply_status(&backup_plan, &after).await?;
        Ok(Action::await_change())
    }
}

impl BackupPlanController {
    /// Records an event about the Deployment.
    fn report(&self, backup_plan: &BackupPlan, reason: &str) {
        let message = format!("{reason} Deployment {}", backup_plan.spec.deployment_name);
        self.events
            .event(backup_plan, EventType::Normal, reason, &message);
    }

    /// Applies the status if it changed.
    async fn apply_status(
        &self,
        backup_plan: &BackupPlan,
        deployment: &Deployment,
    ) -> Result<(), ReconcileError> {
        let available = deployment
            .status
            .as_ref()
            .and_then(|status| status.available_replicas)
            .unwrap_or(0);
        let mut status = backup_plan.status.clone().unwrap_or_default();
        status.available_replicas = available;
        status.observed_generation = backup_plan.metadata.generation;
        set_condition(&mut status.conditions, ready(backup_plan, available));
        if backup_plan.status.as_ref() == Some(&status) {
            return Ok(());
        }
        // Only the status, which the operator owns.
        let intent = BackupPlanApply::of(backup_plan).status(status);
        self.backup_plan_status.apply_status(&intent).await?;
        Ok(())
    }
}

/// Returns the desired Deployment. Fields that are not set here are left to Kubernetes and other field managers.
fn desired_deployment(name: &NamespacedName, backup_plan: &BackupPlan) -> Deployment {
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
            // The owner reference makes changes of the Deployment enqueue the BackupPlan, and deletes the Deployment with
            // the BackupPlan.
            owner_references: Some(vec![controller_reference(backup_plan)]),
            ..ObjectMeta::default()
        },
        spec: Some(DeploymentSpec {
            replicas: Some(backup_plan.spec.replicas),
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
fn ready(backup_plan: &BackupPlan, available: i32) -> Condition {
    let desired = backup_plan.spec.replicas;
    let is_ready = available >= desired;
    let reason = if is_ready { "Available" } else { "Progressing" };
    let message = format!("{available} of {desired} replicas are available");
    condition(backup_plan, "Ready", is_ready, reason, message)
}

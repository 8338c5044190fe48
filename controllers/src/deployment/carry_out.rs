//! Carries a plan out: writes ReplicaSets and the Deployment, and records events.

use k8s_openapi::api::apps::v1::{Deployment, ReplicaSet};
use kube::core::params::{DeleteParams, Preconditions};
use kubewright::{
    NamespacedName,
    client::ClientError,
    controller::{Action, ReconcileError, is_controlled_by},
    events::EventType,
};

use super::{
    conditions::{self, PROGRESSING, reason},
    controller::DeploymentController,
    desired::DesiredState,
    plan::{DeploymentPlan, DeploymentWrite},
    replica_sets::{ReplicaSetWrite, size},
    template,
};

/// Reason of the events about sizes of ReplicaSets.
const SCALING: &str = "ScalingReplicaSet";

impl DeploymentController {
    /// Carries a plan out. A write that fails ends it: the Deployment is reconciled again.
    pub(super) async fn carry_out(
        &self,
        deployment: &Deployment,
        plan: DeploymentPlan,
    ) -> Result<Action, ReconcileError> {
        for write in &plan.replica_sets {
            match write {
                ReplicaSetWrite::Create(replica_set) => {
                    if let Err(error) = self.replica_sets.create(replica_set).await {
                        return self.not_created(deployment, replica_set, error).await;
                    }
                    self.scaled(deployment, replica_set, 0, size(replica_set));
                }
                ReplicaSetWrite::Update { replica_set, resized } => {
                    self.replica_sets.update(replica_set).await?;
                    if let Some((before, after)) = *resized {
                        self.scaled(deployment, replica_set, before, after);
                    }
                }
                ReplicaSetWrite::Delete(replica_set) => self.delete(replica_set).await?,
            }
        }
        match &plan.deployment {
            DeploymentWrite::None => {}
            DeploymentWrite::Status(changed) => {
                self.deployments.update_status(changed).await?;
            }
            DeploymentWrite::RollBack {
                deployment: changed,
                outcome,
            } => {
                self.deployments.update(changed).await?;
                let severity = if outcome.is_done() {
                    EventType::Normal
                } else {
                    EventType::Warning
                };
                let message = outcome.message(deployment.metadata.name.as_deref().unwrap_or_default());
                self.events.event(deployment, severity, outcome.reason(), message);
            }
        }
        let next_check = plan.next_check.and_then(|delay| delay.try_into().ok());
        Ok(next_check.map_or(Action::await_change(), Action::requeue_after))
    }

    fn scaled(&self, deployment: &Deployment, replica_set: &ReplicaSet, before: i64, after: i64) {
        let name = replica_set.metadata.name.as_deref().unwrap_or_default();
        let direction = if after > before { "up" } else { "down" };
        if before != after {
            let message = format!("Scaled {direction} replica set {name} from {before} to {after}");
            self.events.event(deployment, EventType::Normal, SCALING, message);
        }
    }

    async fn delete(&self, replica_set: &ReplicaSet) -> Result<(), ClientError> {
        let Some(name) = NamespacedName::of(&replica_set.metadata) else {
            return Ok(());
        };
        // Not another one of the same name.
        let preconditions = Preconditions {
            uid: replica_set.metadata.uid.clone(),
            resource_version: None,
        };
        let params = DeleteParams::default().preconditions(preconditions);
        match self.replica_sets.delete(&name, &params).await {
            Err(error) if !error.is_not_found() && !error.is_conflict() => Err(error),
            _ => Ok(()),
        }
    }

    /// Handles the failure to create the ReplicaSet of a template.
    async fn not_created(
        &self,
        deployment: &Deployment,
        replica_set: &ReplicaSet,
        error: ClientError,
    ) -> Result<Action, ReconcileError> {
        if error.is_already_exists() {
            return self.resolve_collision(deployment, replica_set).await;
        }
        if error.is_namespace_terminating() {
            return Ok(Action::await_change());
        }
        let name = replica_set.metadata.name.as_deref().unwrap_or_default();
        let cause = error
            .status()
            .map_or_else(|| error.to_string(), |status| status.message.clone());
        let message = format!("Failed to create new replica set {name:?}: {cause}");
        let spec = deployment.spec.as_ref();
        let has_deadline = spec
            .and_then(|spec| DesiredState::of(spec).ok()?.progress_deadline)
            .is_some();
        let mut failed = deployment.clone();
        let status = failed.status.get_or_insert_default();
        if has_deadline && !conditions::has_reason(status, PROGRESSING, reason::CREATE_FAILED) {
            let now = self.clock.now();
            conditions::set(
                status,
                conditions::condition(PROGRESSING, "False", reason::CREATE_FAILED, &*message, now),
            );
            // The failure to create is the greater one, and is returned.
            if let Err(error) = self.deployments.update_status(&failed).await {
                tracing::debug!("the failure is not reported in the status: {error}");
            }
        }
        self.events
            .event(deployment, EventType::Warning, reason::CREATE_FAILED, message);
        Err(error.into())
    }

    /// Handles a ReplicaSet that has the name which follows from the template. If it has another template, or another owner, the next name
    /// follows from a greater count of collisions.
    async fn resolve_collision(
        &self,
        deployment: &Deployment,
        wanted: &ReplicaSet,
    ) -> Result<Action, ReconcileError> {
        let name = NamespacedName::of(&wanted.metadata).unwrap_or_else(|| NamespacedName::cluster(""));
        let existing = self.caches.replica_sets.get(&name)?;
        let template = |replica_set: &ReplicaSet| replica_set.spec.as_ref()?.template.clone();
        let is_same = match (template(&existing), template(wanted)) {
            (Some(existing), Some(wanted)) => template::equal(&existing, &wanted),
            _ => false,
        };
        if is_same && is_controlled_by(&existing.metadata, deployment) {
            // The cache did not have it before.
            return Ok(Action::requeue());
        }
        let mut collided = deployment.clone();
        let count = &mut collided.status.get_or_insert_default().collision_count;
        *count = Some(count.unwrap_or_default().saturating_add(1));
        tracing::debug!(%name, ?count, "the name belongs to another template");
        self.deployments.update_status(&collided).await?;
        Ok(Action::await_change())
    }
}

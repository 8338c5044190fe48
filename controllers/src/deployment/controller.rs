//! The controller: reads the caches, claims ReplicaSets and carries the plan out.

use std::sync::Arc;

use k8s_openapi::{
    api::apps::v1::{Deployment, ReplicaSet},
    apimachinery::pkg::apis::meta::v1::LabelSelector,
};
use kube::core::params::{DeleteParams, Preconditions};
use kubewright::{
    Clock, NamespacedName,
    cache::{LookupError, Object},
    client::{ClientError, Create, Delete, Get, Patch, TypedClient, Update, UpdateStatus},
    controller::{Action, ReconcileError, Reconciler, Setup, controller_reference, is_controlled_by},
    events::{EventType, Recorder},
};

use super::{
    conditions::{self, PROGRESSING, reason},
    desired::DesiredState,
    plan::{DeploymentPlan, DeploymentWrite, Observed, plan},
    pods::{DeploymentPods, is_recreated},
    replica_sets::{ReplicaSetWrite, size},
    template,
};
use crate::{
    Options,
    feature_gates::Gate,
    shared::{
        claim::{ClaimOwner, check_adopter, claim},
        label_matcher::{InvalidSelector, LabelMatcher},
        orphans::{Orphans, Selectors, Selects, ended},
        pod::PodView,
    },
};

/// Reason of the events about sizes of ReplicaSets.
const SCALING: &str = "ScalingReplicaSet";

struct DeploymentController {
    caches: DeploymentPods,
    selectors: Arc<Selectors<Deployment>>,
    orphans: Orphans<ReplicaSet>,
    deployments: TypedClient<Deployment, (Get, Update, UpdateStatus)>,
    replica_sets: TypedClient<ReplicaSet, (Create, Update, Delete)>,
    claimer: TypedClient<ReplicaSet, (Patch,)>,
    events: Recorder,
    clock: Clock,
    counts_terminating: bool,
}

/// Registers the controller.
pub(crate) fn register(setup: &mut Setup, options: &Options) {
    let deployments = setup.informers().of::<Deployment>();
    let replica_sets = setup.informers().of::<ReplicaSet>();
    let pods = setup.informers().projected::<PodView>();
    let caches = DeploymentPods {
        deployments: deployments.lister(),
        replica_sets: replica_sets.lister(),
        pods: pods.lister(),
    };
    let selectors = Arc::new(Selectors::new(deployments.lister()));
    let reconciler = DeploymentController {
        caches: caches.clone(),
        selectors: selectors.clone(),
        orphans: Orphans::of(&replica_sets),
        deployments: setup.client(),
        replica_sets: setup.client(),
        claimer: setup.client(),
        events: setup.recorder(),
        clock: setup.clock(),
        counts_terminating: options.gates.is_on(Gate::DeploymentReplicaSetTerminatingReplicas),
    };
    let ended_selectors = selectors.clone();
    deployments.add_sink(move |change| {
        if let Some(deployment) = ended(change) {
            ended_selectors.forget(deployment.uid());
        }
    });
    setup
        .controller("deployment-controller", reconciler)
        .workers(options.concurrent_deployment_syncs)
        .reconciles(&deployments)
        .owns(&replica_sets)
        .watches(&replica_sets, move |change| selectors.adopters(change))
        .watches(&pods, move |change| {
            caches.waiting_for(change).into_iter().collect()
        });
}

impl Selects for Deployment {
    fn selector(&self) -> Result<Option<LabelMatcher>, InvalidSelector> {
        let selector = self.spec.as_ref().map(|spec| LabelMatcher::new(&spec.selector));
        selector.transpose()
    }
}

impl Reconciler for DeploymentController {
    async fn reconcile(&self, key: &NamespacedName) -> Result<Action, ReconcileError> {
        let deployment = match self.caches.deployments.get(key) {
            Ok(deployment) => deployment,
            Err(LookupError::NotFound { .. }) => return Ok(Action::await_change()),
            Err(error) => return Err(error.into()),
        };
        if selects_everything(&deployment) {
            return self.refuse(&deployment).await;
        }
        let Some(selector) = self.selectors.of(&deployment) else {
            return Ok(Action::await_change());
        };
        let claimed = self.claim(&deployment, &selector).await?;
        if claimed
            .iter()
            .any(|claimed| claimed.metadata().controller().is_none())
        {
            // Adopted, which the cache does not show yet: the next call continues.
            return Ok(Action::await_change());
        }
        let observed = self.observe(&deployment, &claimed)?;
        // A retry cannot succeed before the spec changes, and the change enqueues the Deployment.
        let plan =
            plan(observed, self.clock.now()).map_err(|invalid| ReconcileError::from(invalid).terminal())?;
        self.carry_out(&deployment, plan).await
    }
}

impl DeploymentController {
    /// Warns about a Deployment that selects all pods, and does nothing else about it.
    async fn refuse(&self, deployment: &Deployment) -> Result<Action, ReconcileError> {
        let message = "This deployment is selecting all pods. A non-empty selector is required.";
        self.events
            .event(deployment, EventType::Warning, "SelectingAll", message);
        let generation = deployment.metadata.generation;
        let observed = deployment
            .status
            .as_ref()
            .and_then(|status| status.observed_generation);
        if observed.unwrap_or_default() < generation.unwrap_or_default() {
            let mut seen = deployment.clone();
            seen.status.get_or_insert_default().observed_generation = generation;
            self.deployments.update_status(&seen).await?;
        }
        Ok(Action::await_change())
    }

    /// Adopts ReplicaSets that the Deployment selects, and releases those that it does not select any more. Returns the Deployment's.
    async fn claim(
        &self,
        deployment: &Deployment,
        selector: &LabelMatcher,
    ) -> Result<Vec<Object<ReplicaSet>>, ReconcileError> {
        let name = NamespacedName::of(&deployment.metadata).unwrap_or_else(|| NamespacedName::cluster(""));
        let mut replica_sets: Vec<_> = self.caches.replica_sets.owned_by(deployment)?.objects().collect();
        replica_sets.extend(self.orphans.in_namespace(name.namespace().unwrap_or_default())?);
        let reference = controller_reference(deployment);
        let owner = ClaimOwner {
            reference: &reference,
            is_deleting: deployment.metadata.deletion_timestamp.is_some(),
            finalizers: &[],
        };
        claim(
            &owner,
            replica_sets,
            |metadata| selector.matches(|key| metadata.label(key)),
            &self.claimer,
            async || check_adopter(&reference, &self.deployments.get(&name).await?.metadata),
        )
        .await
    }

    fn observe<'d>(
        &self,
        deployment: &'d Deployment,
        claimed: &[Object<ReplicaSet>],
    ) -> Result<Observed<'d>, ReconcileError> {
        let mut replica_sets = Vec::with_capacity(claimed.len());
        for claimed in claimed {
            match self.caches.replica_sets.get(claimed.name()) {
                Ok(replica_set) => replica_sets.push(replica_set),
                Err(LookupError::NotFound { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
        let running = if is_recreated(deployment) {
            self.caches.running(claimed.iter())?
        } else {
            <_>::default()
        };
        Ok(Observed {
            deployment,
            replica_sets,
            running,
            counts_terminating: self.counts_terminating,
        })
    }

    async fn carry_out(
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

fn selects_everything(deployment: &Deployment) -> bool {
    deployment.spec.as_ref().is_some_and(|spec| {
        let LabelSelector {
            match_labels,
            match_expressions,
        } = &spec.selector;
        match_labels.as_ref().is_none_or(|labels| labels.is_empty())
            && match_expressions
                .as_ref()
                .is_none_or(|expressions| expressions.is_empty())
    })
}

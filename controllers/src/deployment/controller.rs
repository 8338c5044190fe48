//! The controller: reads the caches, claims ReplicaSets, and plans.

use std::sync::Arc;

use k8s_openapi::api::apps::v1::{Deployment, ReplicaSet};
use kubewright::{
    Clock, NamespacedName,
    cache::{LookupError, Object},
    client::{Create, Delete, Get, Patch, TypedClient, Update, UpdateStatus},
    controller::{Action, ReconcileError, Reconciler, Setup, controller_reference},
    events::{EventType, Recorder},
};

use super::{
    plan::{Observed, plan},
    pods::{DeploymentPods, is_recreated},
};
use crate::{
    Options,
    feature_gates::Gate,
    shared::{
        claim::{ClaimOwner, check_adopter, claim},
        ended::ended,
        invalid_objects::{InvalidObject, InvalidObjects},
        label_matcher::{InvalidSelector, LabelMatcher, selects_everything},
        orphans::{Orphans, Selectors, Selects},
        pod::PodView,
    },
};

const NAME: &str = "deployment-controller";

/// Reconciles Deployments.
pub(super) struct DeploymentController {
    pub(super) caches: DeploymentPods,
    selectors: Arc<Selectors<Deployment>>,
    orphans: Orphans<ReplicaSet>,
    pub(super) deployments: TypedClient<Deployment, (Get, Update, UpdateStatus)>,
    pub(super) replica_sets: TypedClient<ReplicaSet, (Create, Update, Delete)>,
    claimer: TypedClient<ReplicaSet, (Patch,)>,
    pub(super) events: Recorder,
    pub(super) clock: Clock,
    invalid: InvalidObjects,
    counts_terminating: bool,
}

/// Registers the controller.
pub(crate) fn register(setup: &mut Setup, options: &Options, invalid: &InvalidObjects) {
    let deployments = setup.informers().of::<Deployment>();
    let replica_sets = setup.informers().of::<ReplicaSet>();
    let pods = setup.informers().projected::<PodView>();
    let caches = DeploymentPods {
        deployments: deployments.lister(),
        replica_sets: replica_sets.lister(),
        pods: pods.lister(),
    };
    let selectors = Arc::new(Selectors::new(deployments.lister(), NAME, invalid));
    let reconciler = DeploymentController {
        caches: caches.clone(),
        selectors: selectors.clone(),
        orphans: Orphans::of(&replica_sets),
        deployments: setup.client(),
        replica_sets: setup.client(),
        claimer: setup.client(),
        events: setup.recorder(),
        clock: setup.clock(),
        invalid: invalid.clone(),
        counts_terminating: options.gates.is_on(Gate::DeploymentReplicaSetTerminatingReplicas),
    };
    let ended_selectors = selectors.clone();
    deployments.add_sink(move |change| {
        if let Some(deployment) = ended(change) {
            ended_selectors.forget(deployment.uid());
        }
    });
    setup
        .controller(NAME, reconciler)
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
        let selector = self.selectors.of(&deployment);
        let spec = deployment.spec.as_ref();
        if spec.is_some_and(|spec| selects_everything(&spec.selector)) {
            return self.refuse(&deployment).await;
        }
        let Some(selector) = selector else {
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
        match plan(observed, self.clock.now()) {
            Ok(plan) => self.carry_out(&deployment, plan).await,
            Err(invalid) => {
                let object = InvalidObject::decoded("Deployment", key, &deployment.metadata);
                self.invalid.report(NAME, object, invalid.reason(), &invalid);
                // A retry cannot succeed before the spec changes, and the change enqueues the Deployment.
                Ok(Action::await_change())
            }
        }
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
                Ok(replica_set) => {
                    // Another one of the same name is not claimed.
                    if replica_set.metadata.uid.as_deref() == Some(claimed.metadata().uid()) {
                        replica_sets.push(replica_set);
                    }
                }
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
}

#[cfg(test)]
#[path = "controller_tests.rs"]
mod tests;

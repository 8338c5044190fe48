//! The controller of ReplicaSets, and that of ReplicationControllers.

use std::{sync::Arc, time::Duration};

use k8s_openapi::{
    api::{apps::v1::ReplicaSet, core::v1::ReplicationController},
    apimachinery::pkg::apis::meta::v1::OwnerReference,
    jiff::Timestamp,
};
use kubewright::{
    Clock, NamespacedName,
    cache::{Lister, LookupError},
    client::{ClientError, Get, Patch, TypedClient, UpdateStatus},
    controller::{Action, Expectations, ReconcileError, Reconciler, Setup, Source, controller_reference},
};

use super::{
    metrics::DeletionAgeRatio,
    owner::ReplicaOwner,
    replica_pod::{ReplicaPod, is_selected, terminating},
    status::{Failure, PodCounts, ReplicaStatus},
};
use crate::{
    Options,
    feature_gates::Gate,
    shared::{
        claim::{ClaimOwner, Claimable as _, check_adopter, claim},
        ended::ended,
        invalid_objects::InvalidObjects,
        label_matcher::LabelMatcher,
        metrics::stale_sync_counter,
        orphans::{Orphans, Selectors},
        pod::{PodView, next_availability_check},
        pod_control::PodControl,
    },
};

/// How many pods of an owner are created or deleted at once.
const BURST_REPLICAS: usize = 500;

/// Registers the controller of ReplicaSets.
pub(crate) fn register_replica_sets(setup: &mut Setup, options: &Options, invalid: &InvalidObjects) {
    register::<ReplicaSet>(setup, options, invalid);
}

/// Registers the controller of ReplicationControllers.
pub(crate) fn register_replication_controllers(
    setup: &mut Setup,
    options: &Options,
    invalid: &InvalidObjects,
) {
    register::<ReplicationController>(setup, options, invalid);
}

pub(super) struct ReplicaController<O: ReplicaOwner> {
    pub(super) owners: Lister<O>,
    pub(super) selectors: Arc<Selectors<O>>,
    pub(super) pods: Lister<PodView>,
    orphans: Orphans<PodView>,
    owner_client: TypedClient<O, (Get, UpdateStatus)>,
    claimer: TypedClient<PodView, (Patch,)>,
    pub(super) pod_control: PodControl,
    pub(super) expectations: Expectations,
    pub(super) clock: Clock,
    pub(super) burst: usize,
    pub(super) uses_deletion_cost: bool,
    counts_terminating: bool,
    pub(super) age_ratio: DeletionAgeRatio,
}

fn register<O: ReplicaOwner>(setup: &mut Setup, options: &Options, invalid: &InvalidObjects) {
    let owners = setup.informers().of::<O>();
    let pods = setup.informers().projected::<PodView>();
    let selectors = Arc::new(Selectors::new(owners.lister(), O::CONTROLLER, invalid));
    let expectations = Expectations::new();
    let reconciler = ReplicaController {
        owners: owners.lister(),
        selectors: selectors.clone(),
        pods: pods.lister(),
        orphans: Orphans::of(&pods),
        owner_client: setup.client(),
        claimer: setup.client(),
        pod_control: PodControl::new(setup).reporting_as(O::REPORTING_CONTROLLER),
        expectations: expectations.clone(),
        clock: setup.clock(),
        burst: options.knobs.number("replicaset.burstReplicas", BURST_REPLICAS),
        uses_deletion_cost: options.gates.is_on(Gate::PodDeletionCost),
        counts_terminating: O::COUNTS_TERMINATING
            && options.gates.is_on(Gate::DeploymentReplicaSetTerminatingReplicas),
        age_ratio: DeletionAgeRatio::register(setup.metrics(), O::SUBSYSTEM),
    };
    let stale_syncs = stale_sync_counter(setup, O::SUBSYSTEM);
    // Before the change enqueues the key: a new owner of the same name must not inherit expectations.
    let (owner_expectations, owner_selectors) = (expectations.clone(), selectors.clone());
    owners.add_sink(move |change| {
        if let Some(owner) = ended(change) {
            owner_expectations.forget(owner.name());
            owner_selectors.forget(owner.uid());
        }
    });
    setup
        .controller(O::CONTROLLER, reconciler)
        .workers(O::workers(options))
        .on_write_wait(stale_syncs)
        .reconciles(&owners)
        .owns(Source::of(&pods).with_expectations(&expectations))
        // A source of its own, because expectations must not count orphans as created pods.
        .watches(&pods, move |change| selectors.adopters(change));
}

impl<O: ReplicaOwner> Reconciler for ReplicaController<O> {
    async fn reconcile(&self, key: &NamespacedName) -> Result<Action, ReconcileError> {
        let owner = match self.owners.get(key) {
            Ok(owner) => owner,
            Err(LookupError::NotFound { .. }) => {
                self.expectations.forget(key);
                return Ok(Action::await_change());
            }
            Err(error) => return Err(error.into()),
        };
        // Checked before the pods are read: if they are satisfied, the cache shows the expected changes.
        let is_satisfied = self.expectations.are_satisfied(key);
        let Some(selector) = self.selectors.of(&owner) else {
            return Ok(Action::await_change());
        };
        let (active, others) = self.pods(&owner, &selector)?;
        let terminating = self
            .counts_terminating
            .then(|| terminating(&*owner, &selector, &others));
        let active = self.claim(key, &owner, &selector, active).await?;
        let mut scaled = Ok(());
        if is_satisfied && !is_deleting(&*owner) {
            scaled = self.scale(key, &owner, &active).await;
        }

        let now = self.clock.now();
        let failure = scaled.as_ref().err().map(|failed| &failed.failure);
        let status = status(&*owner, &active, terminating, failure, now);
        let waits = owner.min_ready_seconds() > 0 && status.ready != status.available;
        self.write_status(key, &owner, status).await?;
        scaled.map_err(|failed| failed.error)?;
        if !waits {
            return Ok(Action::await_change());
        }
        let views = active.iter().map(|pod| &*pod.view);
        let check = next_availability_check(views, owner.min_ready_seconds(), now, self.clock.now());
        // Without a check, no pod has a known time at which it became ready.
        let fallback = Duration::from_secs(owner.min_ready_seconds().unsigned_abs().into());
        Ok(Action::requeue_after(check.unwrap_or(fallback)))
    }
}

impl<O: ReplicaOwner> ReplicaController<O> {
    /// Returns the owner's pods and the orphans that it may adopt: the active ones, and the others.
    fn pods(
        &self,
        owner: &O,
        selector: &LabelMatcher,
    ) -> Result<(Vec<ReplicaPod>, Vec<ReplicaPod>), ReconcileError> {
        let mut pods = Vec::new();
        for pod in self.pods.owned_by(owner)?.objects() {
            // A pod that does not decode is an error: if it were left out, another one would be created.
            pods.push(ReplicaPod::decode(pod)?);
        }
        let namespace = owner.meta().namespace.as_deref().unwrap_or_default();
        let orphans = self.orphans.in_namespace(namespace)?;
        let orphans = orphans.filter(|orphan| is_selected(selector, orphan.metadata()));
        pods.extend(orphans.filter_map(|orphan| ReplicaPod::decode(orphan).ok()));
        Ok(pods.into_iter().partition(|pod| pod.view.is_active()))
    }

    /// Adopts and releases pods. Returns those that are the owner's.
    async fn claim(
        &self,
        key: &NamespacedName,
        owner: &O,
        selector: &LabelMatcher,
        pods: Vec<ReplicaPod>,
    ) -> Result<Vec<ReplicaPod>, ReconcileError> {
        let reference = controller_reference(owner);
        let claim_owner = ClaimOwner {
            reference: &reference,
            is_deleting: is_deleting(owner),
            finalizers: &[],
        };
        let can_adopt = || self.can_adopt(key, &reference);
        claim(
            &claim_owner,
            pods,
            |pod| is_selected(selector, pod),
            &self.claimer,
            can_adopt,
        )
        .await
    }

    async fn can_adopt(&self, key: &NamespacedName, owner: &OwnerReference) -> Result<(), ReconcileError> {
        let fresh = self.owner_client.get(key).await?;
        check_adopter(owner, fresh.meta())
    }

    /// Writes the status unless it is unchanged. After a failure, reads the owner from the API server and tries once more.
    async fn write_status(
        &self,
        key: &NamespacedName,
        owner: &O,
        mut status: ReplicaStatus,
    ) -> Result<(), ClientError> {
        // The generation of the spec that was reconciled; the retry may write to a newer one.
        status.observed_generation = owner.meta().generation.unwrap_or_default();
        if owner.replica_status() == status {
            return Ok(());
        }
        let changed = owner.with_replica_status(status.clone());
        let Err(error) = self.owner_client.update_status(&changed).await else {
            return Ok(());
        };
        tracing::debug!(%key, "writing the status failed: {error}");
        let fresh = self.owner_client.get(key).await?;
        if fresh.meta().uid != owner.meta().uid {
            return Err(error);
        }
        let changed = fresh.with_replica_status(status);
        self.owner_client.update_status(&changed).await.map(drop)
    }
}

fn status<O: ReplicaOwner>(
    owner: &O,
    active: &[ReplicaPod],
    terminating: Option<usize>,
    failure: Option<&Failure>,
    now: Timestamp,
) -> ReplicaStatus {
    let template = owner.template().and_then(|template| template.metadata.as_ref());
    let labels = template.and_then(|metadata| metadata.labels.as_ref());
    let labels = labels.map(LabelMatcher::of_labels).unwrap_or_default();
    let pods = active
        .iter()
        .map(|pod| (&*pod.view, is_selected(&labels, pod.metadata())));
    let counts = PodCounts::of(pods, owner.min_ready_seconds(), now);
    owner.replica_status().next(counts, terminating, failure, now)
}

fn is_deleting(owner: &impl kube::Resource) -> bool {
    owner.meta().deletion_timestamp.is_some()
}

#[cfg(test)]
#[path = "controller_tests.rs"]
mod tests;

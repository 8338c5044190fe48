//! The controller: reads the caches, claims pods and revisions, plans, and writes the status.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use k8s_openapi::{
    api::{
        apps::v1::{ControllerRevision, DaemonSet},
        core::v1::PodTemplateSpec,
    },
    apimachinery::pkg::apis::meta::v1::OwnerReference,
};
use kubewright::{
    Clock, NamespacedName,
    cache::{DecodeError, Lister, LookupError, Metadata, Object},
    client::{ClientError, Get, Patch, TypedClient, UpdateStatus},
    controller::{Action, Expectations, ReconcileError, Reconciler, Setup, Source, controller_reference},
    events::{EventType, Recorder},
};

use super::{
    desired::DesiredState,
    failed_pods::FailedPodBackoff,
    history::History,
    node_changes::NodeChanges,
    placement::{NodeDecision, Placement},
    plan::{Observed, plan},
    pods::{CachedPod, by_node},
    status::{NodeCounts, is_equal},
};
use crate::{
    Options,
    feature_gates::Gate,
    shared::{
        claim::{ClaimOwner, check_adopter, claim},
        controller_revisions::RevisionHistory,
        ended::ended,
        invalid_objects::InvalidObjects,
        label_matcher::{InvalidSelector, LabelMatcher, selects_everything},
        metrics::stale_sync_counter,
        node::NodeView,
        orphans::{Orphans, Selectors, Selects},
        pod::{PodView, next_availability_check},
        pod_control::PodControl,
        taints::TaintRules,
    },
};

pub(super) const NAME: &str = "daemonset-controller";

/// Reconciles DaemonSets.
pub(super) struct DaemonSetController {
    daemon_sets: Lister<DaemonSet>,
    selectors: Arc<Selectors<DaemonSet>>,
    nodes: Lister<NodeView>,
    pods: Lister<PodView>,
    orphans: Orphans<PodView>,
    pub(super) revisions: RevisionHistory,
    pub(super) daemon_sets_client: TypedClient<DaemonSet, (Get, UpdateStatus)>,
    pub(super) pod_patcher: TypedClient<PodView, (Patch,)>,
    pub(super) pod_control: PodControl,
    pub(super) expectations: Expectations,
    pub(super) failed_pods: Arc<FailedPodBackoff>,
    pub(super) events: Recorder,
    pub(super) invalid: InvalidObjects,
    clock: Clock,
    taint_rules: TaintRules,
}

/// Registers the controller.
pub(crate) fn register(setup: &mut Setup, options: &Options, invalid: &InvalidObjects) {
    let daemon_sets = setup.informers().of::<DaemonSet>();
    let revisions = setup.informers().of::<ControllerRevision>();
    let pods = setup.informers().projected::<PodView>();
    let nodes = setup.informers().projected::<NodeView>();
    let (expectations, failed_pods) = (Expectations::new(), Arc::new(FailedPodBackoff::default()));
    let selectors = Arc::new(Selectors::new(daemon_sets.lister(), NAME, invalid));
    let stale_syncs = stale_sync_counter(setup, "daemonset_controller");
    let taint_rules = TaintRules {
        compares_numbers: options.gates.is_on(Gate::TaintTolerationComparisonOperators),
    };
    let reconciler = DaemonSetController {
        daemon_sets: daemon_sets.lister(),
        selectors: selectors.clone(),
        nodes: nodes.lister(),
        pods: pods.lister(),
        orphans: Orphans::of(&pods),
        revisions: RevisionHistory::new(setup, &revisions),
        daemon_sets_client: setup.client(),
        pod_patcher: setup.client(),
        pod_control: PodControl::new(setup),
        expectations: expectations.clone(),
        failed_pods: failed_pods.clone(),
        events: setup.recorder(),
        invalid: invalid.clone(),
        clock: setup.clock(),
        taint_rules,
    };
    // Before the change enqueues the key: a new DaemonSet of the same name must not inherit expectations.
    let (ended_expectations, ended_selectors) = (expectations.clone(), selectors.clone());
    daemon_sets.add_sink(move |change| {
        if let Some(daemon_set) = ended(change) {
            ended_expectations.forget(daemon_set.name());
            ended_selectors.forget(daemon_set.uid());
            failed_pods.forget(daemon_set.uid());
        }
    });
    let node_changes = NodeChanges::new(nodes.lister(), daemon_sets.lister(), taint_rules);
    let pod_adopters = selectors.clone();
    setup
        .controller(NAME, reconciler)
        .workers(options.concurrent_daemonset_syncs)
        .on_write_wait(stale_syncs)
        .reconciles(&daemon_sets)
        .owns(Source::of(&pods).with_expectations(&expectations))
        .owns(&revisions)
        // Sources of their own, because expectations must not count orphans as created pods.
        .watches(&pods, move |change| pod_adopters.adopters(change))
        .watches(&revisions, move |change| selectors.adopters(change))
        .watches(&nodes, move |change| node_changes.affected(change));
}

impl Selects for DaemonSet {
    fn selector(&self) -> Result<Option<LabelMatcher>, InvalidSelector> {
        let selector = self.spec.as_ref().map(|spec| LabelMatcher::new(&spec.selector));
        selector.transpose()
    }
}

impl Reconciler for DaemonSetController {
    async fn reconcile(&self, key: &NamespacedName) -> Result<Action, ReconcileError> {
        let daemon_set = match self.daemon_sets.get(key) {
            Ok(daemon_set) => daemon_set,
            Err(LookupError::NotFound { .. }) => {
                self.expectations.forget(key);
                return Ok(Action::await_change());
            }
            Err(error) => return Err(error.into()),
        };
        let selector = self.selectors.of(&daemon_set);
        let spec = daemon_set.spec.as_ref();
        if spec.is_some_and(|spec| selects_everything(&spec.selector)) {
            let message = "This daemon set is selecting all pods. A non-empty selector is required.";
            self.events
                .event(&*daemon_set, EventType::Warning, "SelectingAll", message);
            return Ok(Action::await_change());
        }
        let Some(selector) = selector else {
            return Ok(Action::await_change());
        };
        if daemon_set.metadata.deletion_timestamp.is_some() {
            // The garbage collector may have deleted its history already, without which its status cannot be computed.
            return Ok(Action::await_change());
        }
        // Checked before the pods are read: if they are satisfied, the cache shows the expected changes.
        let is_satisfied = self.expectations.are_satisfied(key);
        let owner = controller_reference(&*daemon_set);
        let pods = self.claim_pods(key, &daemon_set, &owner, &selector).await?;
        let history = self.history(key, &daemon_set, &owner, &selector, &pods).await?;
        let Some(history) = history else {
            return Ok(Action::await_change());
        };
        self.manage(key, &daemon_set, &history, &pods, is_satisfied).await
    }
}

impl DaemonSetController {
    /// Creates and deletes pods, if the cache shows the effects of the last time, and writes the status.
    async fn manage(
        &self,
        key: &NamespacedName,
        daemon_set: &DaemonSet,
        history: &History,
        pods: &[CachedPod],
        is_satisfied: bool,
    ) -> Result<Action, ReconcileError> {
        let spec = daemon_set.spec.as_ref();
        let (desired, now) = (DesiredState::of(spec), self.clock.now());
        let nodes: Vec<_> = self.nodes.list().objects().collect();
        let observed = Observed {
            desired: &desired,
            nodes: self.decide(spec.map(|spec| &spec.template), &nodes)?,
            pods: by_node(pods, &history.revision),
            now,
        };
        let (mut next_check, mut managed) = (None, Ok(()));
        if is_satisfied {
            let (uid, generation) = backoff_key(daemon_set);
            let plan = plan(&observed, |node| {
                self.failed_pods.remaining(uid, generation, node, now)
            });
            next_check = plan.next_check;
            managed = self
                .carry_out(key, daemon_set, &history.revision, &plan, now)
                .await;
            if managed.is_ok() {
                managed = self
                    .clean_up(history, desired.history_limit, pods)
                    .await
                    .map_err(Into::into);
            }
        }
        let counts = NodeCounts::of(&observed);
        let written = self.write_status(key, daemon_set, counts, is_satisfied).await;
        managed?;
        written?;
        // Of all pods, not of those that the status counts: an update with surge waits for the younger pod of a node.
        let views = || observed.pods.values().flatten().map(|pod| pod.view);
        let is_waiting = |pod: &PodView| pod.is_ready() && !pod.is_available(desired.min_ready_seconds, now);
        if desired.min_ready_seconds > 0 && views().any(is_waiting) {
            let check = next_availability_check(views(), desired.min_ready_seconds, now, self.clock.now());
            // Without a check, no pod has a known time at which it became ready.
            let fallback = Duration::from_secs(desired.min_ready_seconds.unsigned_abs().into());
            let check = check.unwrap_or(fallback);
            next_check = Some(next_check.map_or(check, |other| other.min(check)));
        }
        Ok(next_check.map_or(Action::await_change(), Action::requeue_after))
    }

    /// Decides about each node.
    fn decide<'n>(
        &self,
        template: Option<&PodTemplateSpec>,
        nodes: &'n [Object<NodeView>],
    ) -> Result<BTreeMap<&'n str, NodeDecision>, DecodeError> {
        let placement = Placement::of(template, self.taint_rules);
        let mut decisions = BTreeMap::new();
        for node in nodes {
            // A node that does not decode is an error: if it were left out, its pods would count as pods without a node.
            let (name, view) = (node.name().name(), node.decode()?);
            let decision = placement.decide(name, |key| node.metadata().label(key), &view.taints);
            decisions.insert(name, decision);
        }
        Ok(decisions)
    }

    /// Adopts and releases pods. Returns those that are the DaemonSet's.
    async fn claim_pods(
        &self,
        key: &NamespacedName,
        daemon_set: &DaemonSet,
        owner: &OwnerReference,
        selector: &LabelMatcher,
    ) -> Result<Vec<CachedPod>, ReconcileError> {
        let mut pods = Vec::new();
        for pod in self.pods.owned_by(daemon_set)?.objects() {
            // A pod that does not decode is an error: if it were left out, another one would be created.
            pods.push(CachedPod::decode(pod)?);
        }
        let orphans = self.orphans.in_namespace(key.namespace().unwrap_or_default())?;
        let orphans = orphans.filter(|orphan| is_selected(selector, orphan.metadata()));
        pods.extend(orphans.filter_map(|orphan| CachedPod::decode(orphan).ok()));
        let claim_owner = ClaimOwner {
            reference: owner,
            is_deleting: false,
            finalizers: &[],
        };
        claim(
            &claim_owner,
            pods,
            |pod| is_selected(selector, pod),
            &self.pod_patcher,
            || self.can_adopt(key, owner),
        )
        .await
    }

    pub(super) async fn can_adopt(
        &self,
        key: &NamespacedName,
        owner: &OwnerReference,
    ) -> Result<(), ReconcileError> {
        let fresh = self.daemon_sets_client.get(key).await?;
        check_adopter(owner, &fresh.metadata)
    }

    /// Writes the status unless it is unchanged. After a failure, reads the DaemonSet from the API server and tries once more.
    async fn write_status(
        &self,
        key: &NamespacedName,
        daemon_set: &DaemonSet,
        counts: NodeCounts,
        is_managed: bool,
    ) -> Result<(), ClientError> {
        // The generation of the spec that was acted on; the retry may write to a newer one.
        let generation = daemon_set.metadata.generation.filter(|_| is_managed);
        let before = daemon_set.status.clone().unwrap_or_default();
        let after = counts.status(&before, generation);
        if is_equal(&before, &after) {
            return Ok(());
        }
        let mut changed = daemon_set.clone();
        changed.status = Some(after);
        let Err(error) = self.daemon_sets_client.update_status(&changed).await else {
            return Ok(());
        };
        tracing::debug!(%key, "writing the status failed: {error}");
        let mut fresh = self.daemon_sets_client.get(key).await?;
        if fresh.metadata.uid != daemon_set.metadata.uid {
            return Err(error);
        }
        fresh.status = Some(counts.status(&fresh.status.unwrap_or_default(), generation));
        self.daemon_sets_client.update_status(&fresh).await.map(drop)
    }
}

/// Returns what the backoff of failed pods depends on: a new generation begins without.
pub(super) fn backoff_key(daemon_set: &DaemonSet) -> (&str, i64) {
    let status = daemon_set.status.as_ref();
    (
        daemon_set.metadata.uid.as_deref().unwrap_or_default(),
        status
            .and_then(|status| status.observed_generation)
            .unwrap_or_default(),
    )
}

pub(super) fn is_selected(selector: &LabelMatcher, object: &Metadata) -> bool {
    selector.matches(|key| object.label(key))
}

#[cfg(test)]
#[path = "controller_tests.rs"]
mod tests;

//! The controller: reads the caches, claims pods and revisions, and plans.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use k8s_openapi::{
    api::{
        apps::v1::{ControllerRevision, StatefulSet, StatefulSetStatus},
        core::v1::PersistentVolumeClaim,
        rbac::v1::PolicyRule,
    },
    apimachinery::pkg::apis::meta::v1::OwnerReference,
    jiff::Timestamp,
};
use kubewright::{
    Clock, NamespacedName,
    cache::{Change, Lister, LookupError, Metadata, Object},
    client::{ClientError, Get, Patch, TypedClient, UpdateStatus},
    controller::{Action, ReconcileError, Reconciler, Setup, controller_reference},
};

use super::{
    carry_out::{PodWriter, SetTemplates},
    claims::ClaimState,
    desired::DesiredSet,
    identity::{POD_NAME_LABEL, REVISION_LABEL, ordinal, set_of},
    metrics::SetMetrics,
    objects::claim_templates,
    plan::{ObservedSet, SetPlan, StatefulPod, plan},
    revisions::{self, SetRevisions},
    status::{self, ReplicaCounts, RevisionNames},
};
use crate::{
    Options,
    feature_gates::Gate,
    shared::{
        claim::{ClaimOwner, check_adopter, claim},
        controller_revisions::{RevisionHistory, Unselected, oldest_unused},
        ended::ended,
        invalid_objects::InvalidObjects,
        label_matcher::{InvalidSelector, LabelMatcher},
        metrics::stale_sync_counter,
        orphans::{Orphans, Selectors, Selects},
        pod::{PodView, next_availability_check},
    },
};

const NAME: &str = "statefulset-controller";

/// Reconciles StatefulSets.
pub(super) struct StatefulSetController {
    sets: Lister<StatefulSet>,
    selectors: Arc<Selectors<StatefulSet>>,
    pods: Lister<PodView>,
    orphans: Orphans<PodView>,
    history: RevisionHistory,
    set_client: TypedClient<StatefulSet, (Get, UpdateStatus)>,
    claimer: TypedClient<PodView, (Patch,)>,
    writer: PodWriter,
    clock: Clock,
    uses_max_unavailable: bool,
    compares_semantics: bool,
    metrics: SetMetrics,
}

/// Registers the controller.
pub(crate) fn register(setup: &mut Setup, options: &Options, invalid: &InvalidObjects) {
    let sets = setup.informers().of::<StatefulSet>();
    let pods = setup.informers().projected::<PodView>();
    let claims = setup.informers().of::<PersistentVolumeClaim>();
    let revisions = setup.informers().of::<ControllerRevision>();
    let selectors = Arc::new(Selectors::new(sets.lister(), NAME, invalid));
    let uses_max_unavailable = options.gates.is_on(Gate::MaxUnavailableStatefulSet);
    let metrics = SetMetrics::register(setup.metrics(), uses_max_unavailable);
    let stale_syncs = stale_sync_counter(setup, "statefulset_controller");
    let reconciler = StatefulSetController {
        sets: sets.lister(),
        selectors: selectors.clone(),
        pods: pods.lister(),
        orphans: Orphans::of(&pods),
        history: RevisionHistory::new(setup, &revisions),
        set_client: setup.client(),
        claimer: setup.client(),
        writer: PodWriter::new(setup, claims.lister()),
        clock: setup.clock(),
        uses_max_unavailable,
        compares_semantics: options.gates.is_on(Gate::StatefulSetSemanticRevisionComparison),
        metrics: metrics.clone(),
    };
    // Who sets owner references must be allowed to delete the object, and to set finalizers of an owner that the object blocks: a pod whose
    // claim is deleted with it.
    for (resource, verb) in [
        ("persistentvolumeclaims", "delete"),
        ("pods/finalizers", "update"),
    ] {
        setup.needs(PolicyRule {
            api_groups: Some(vec![String::new()]),
            resources: Some(vec![resource.to_owned()]),
            verbs: vec![verb.to_owned()],
            ..PolicyRule::default()
        });
    }
    let ended_selectors = selectors.clone();
    sets.add_sink(move |change| {
        if let Some(set) = ended(change) {
            ended_selectors.forget(set.uid());
            metrics.forget(set.name());
        }
    });
    setup
        .controller(NAME, reconciler)
        .workers(options.concurrent_statefulset_syncs)
        .on_write_wait(stale_syncs)
        .reconciles(&sets)
        .owns(&pods)
        .watches(&pods, move |change| selectors.adopters(change))
        .watches(&claims, waiting_for_claim);
}

impl Selects for StatefulSet {
    fn selector(&self) -> Result<Option<LabelMatcher>, InvalidSelector> {
        let selector = self.spec.as_ref().map(|spec| LabelMatcher::new(&spec.selector));
        selector.transpose()
    }
}

/// Returns the sets that may wait for the end of a claim, to create a pod or another claim.
fn waiting_for_claim(change: &Change<'_>) -> Vec<NamespacedName> {
    let Some(claim) = ended(change) else {
        return Vec::new();
    };
    let namespace = claim.name().namespace().unwrap_or_default();
    let sets = claim.owner_references().iter().filter_map(|owner| {
        let name = match &*owner.kind {
            "StatefulSet" => &owner.name,
            "Pod" => set_of(&owner.name)?,
            _ => return None,
        };
        Some(NamespacedName::namespaced(namespace, name))
    });
    sets.collect()
}

impl Reconciler for StatefulSetController {
    async fn reconcile(&self, key: &NamespacedName) -> Result<Action, ReconcileError> {
        let set = match self.sets.get(key) {
            Ok(set) => set,
            Err(LookupError::NotFound { .. }) => return Ok(Action::await_change()),
            Err(error) => return Err(error.into()),
        };
        let Some(selector) = self.selectors.of(&set) else {
            return Ok(Action::await_change());
        };
        let reference = controller_reference(&*set);
        let is_selected = |object: &Metadata| selector.matches(|key| object.label(key));
        let can_adopt = || self.can_adopt(key, &reference);
        let history = self
            .history
            .claim(&*set, is_selected, Unselected::Skip, can_adopt)
            .await?;
        let pods = self.claim_pods(key, &set, &reference, &selector).await?;
        let desired = DesiredSet::of(&set, self.uses_max_unavailable);
        let now = self.clock.now();
        let written = if set.metadata.deletion_timestamp.is_some() {
            self.report_deletion(&set, &desired, &pods, now).await
        } else {
            let set = SetState {
                key,
                set: &set,
                reference: &reference,
                desired,
                pods: &pods,
                history: &history,
            };
            self.sync(&set, now).await
        };
        let status = written?;
        if desired.min_ready_seconds == 0 || status.ready_replicas == status.available_replicas {
            return Ok(Action::await_change());
        }
        let views = pods.values().map(|pod| &*pod.view);
        let check = next_availability_check(views, desired.min_ready_seconds, now, self.clock.now());
        // Without a check, no pod has a known time at which it became ready.
        let fallback = Duration::from_secs(desired.min_ready_seconds.unsigned_abs().into());
        Ok(Action::requeue_after(check.unwrap_or(fallback)))
    }
}

/// A set with what the caches have of it.
struct SetState<'s> {
    key: &'s NamespacedName,
    set: &'s StatefulSet,
    reference: &'s OwnerReference,
    desired: DesiredSet,
    pods: &'s BTreeMap<i64, StatefulPod>,
    /// Sorted.
    history: &'s [Arc<ControllerRevision>],
}

impl StatefulSetController {
    /// Adopts and releases pods. Returns those that are the set's, by ordinal.
    async fn claim_pods(
        &self,
        key: &NamespacedName,
        set: &StatefulSet,
        reference: &OwnerReference,
        selector: &LabelMatcher,
    ) -> Result<BTreeMap<i64, StatefulPod>, ReconcileError> {
        let is_selected = |pod: &Metadata| {
            ordinal(key.name(), pod.name().name()).is_some() && selector.matches(|key| pod.label(key))
        };
        let mut pods: Vec<Object<PodView>> = self.pods.owned_by(set)?.objects().collect();
        let orphans = self.orphans.in_namespace(key.namespace().unwrap_or_default())?;
        pods.extend(orphans.filter(|orphan| is_selected(orphan.metadata())));
        let owner = ClaimOwner {
            reference,
            is_deleting: set.metadata.deletion_timestamp.is_some(),
            finalizers: &[],
        };
        let can_adopt = || self.can_adopt(key, reference);
        let claimed = claim(&owner, pods, is_selected, &self.claimer, can_adopt).await?;
        let mut replicas = BTreeMap::new();
        for pod in claimed {
            let metadata = pod.metadata();
            let name = metadata.name().name();
            let Some(ordinal) = ordinal(key.name(), name) else {
                continue;
            };
            let replica = StatefulPod {
                uid: metadata.uid().to_owned(),
                revision: metadata.label(REVISION_LABEL).map(str::to_owned),
                has_identity: metadata.label(POD_NAME_LABEL) == Some(name),
                view: pod.decode()?,
            };
            replicas.insert(ordinal, replica);
        }
        Ok(replicas)
    }

    async fn can_adopt(&self, key: &NamespacedName, owner: &OwnerReference) -> Result<(), ReconcileError> {
        let fresh = self.set_client.get(key).await?;
        check_adopter(owner, &fresh.metadata)
    }

    /// Counts the pods of a set that is being deleted. Its revisions stay as they are; upstream creates one of a changed template even then.
    async fn report_deletion(
        &self,
        set: &StatefulSet,
        desired: &DesiredSet,
        pods: &BTreeMap<i64, StatefulPod>,
        now: Timestamp,
    ) -> Result<StatefulSetStatus, ReconcileError> {
        let old = set.status.clone().unwrap_or_default();
        let revisions = RevisionNames {
            current: old.current_revision.as_deref().unwrap_or_default(),
            update: old.update_revision.as_deref().unwrap_or_default(),
        };
        let counts = ReplicaCounts::of(pods.values(), revisions, desired.min_ready_seconds, now);
        let collisions = old.collision_count.unwrap_or(0);
        let status = status::next(set, desired, counts, revisions, collisions);
        self.write_status(set, &status).await?;
        Ok(status)
    }

    /// Carries out what the set asks for, reports it in the status, and limits the history. Returns the first error.
    async fn sync(&self, state: &SetState<'_>, now: Timestamp) -> Result<StatefulSetStatus, ReconcileError> {
        let (set, desired) = (state.set, &state.desired);
        let found = SetRevisions::find(set, state.history, &self.history, self.compares_semantics).await?;
        let revisions = RevisionNames {
            current: revisions::name(&found.current),
            update: revisions::name(&found.update),
        };
        let mut counts = ReplicaCounts::of(state.pods.values(), revisions, desired.min_ready_seconds, now);
        let (deleted, done) = self.sync_pods(state, &found, revisions, now).await;
        counts.current = counts
            .current
            .saturating_sub(i32::try_from(deleted).unwrap_or(i32::MAX));
        let status = status::next(set, desired, counts, revisions, found.collision_count);
        let written = self.write_status(set, &status).await;
        let truncated = self.truncate_history(state, revisions).await;
        done?;
        written?;
        truncated?;
        Ok(status)
    }

    /// Returns how many replicas were deleted for their update.
    async fn sync_pods(
        &self,
        state: &SetState<'_>,
        found: &SetRevisions,
        revisions: RevisionNames<'_>,
        now: Timestamp,
    ) -> (usize, Result<(), ReconcileError>) {
        let set = state.set;
        let templates = revisions::template_of(set, &found.current)
            .and_then(|current| Ok((current, revisions::template_of(set, &found.update)?)));
        let (current, update) = match templates {
            Ok(templates) => templates,
            Err(error) => return (0, Err(error)),
        };
        let plan = self.plan(state, revisions.update, now);
        let templates = SetTemplates {
            set,
            key: state.key,
            current: (revisions.current, &current),
            update: (revisions.update, &update),
            is_parallel: state.desired.is_parallel,
        };
        self.writer.carry_out(&templates, &plan).await
    }

    fn plan(&self, state: &SetState<'_>, update_revision: &str, now: Timestamp) -> SetPlan {
        let claim_names: Vec<_> = claim_templates(state.set)
            .iter()
            .map(|template| template.metadata.name.clone().unwrap_or_default())
            .collect();
        let status = state.set.status.as_ref();
        let current_replicas = status.and_then(|status| status.current_replicas);
        let claim = |name: &str| self.claim_state(state.key, name);
        let observed = ObservedSet {
            set: state.reference,
            desired: state.desired,
            templates: &claim_names,
            pods: state.pods,
            claim: &claim,
            update_revision,
            current_replicas: current_replicas.unwrap_or(0).into(),
            now,
        };
        self.metrics
            .observe(state.key, &state.desired, observed.unavailable_replicas());
        plan(&observed)
    }

    fn claim_state(&self, set: &NamespacedName, name: &str) -> Option<ClaimState> {
        let name = NamespacedName::namespaced(set.namespace().unwrap_or_default(), name);
        let claim = self.writer.claims.lister.object(&name)?;
        let metadata = claim.metadata();
        let owners = match metadata.owner_references() {
            [] => Vec::new(),
            // A claim that does not decode has wrong owners at worst.
            _ => claim
                .decode()
                .ok()
                .and_then(|claim| claim.metadata.owner_references.clone())
                .unwrap_or_default(),
        };
        Some(ClaimState {
            owners,
            is_deleting: metadata.is_deleting(),
        })
    }

    /// Writes the status unless it is unchanged. After a conflict, reads the set from the API server and tries once more.
    async fn write_status(&self, set: &StatefulSet, status: &StatefulSetStatus) -> Result<(), ClientError> {
        if !status::is_changed(set.status.as_ref(), status) {
            return Ok(());
        }
        let mut changed = set.clone();
        changed.status = Some(status.clone());
        let Err(error) = self.set_client.update_status(&changed).await else {
            return Ok(());
        };
        let name = NamespacedName::of(&set.metadata).filter(|_| error.is_conflict());
        let Some(name) = name else {
            return Err(error);
        };
        let mut fresh = self.set_client.get(&name).await?;
        if fresh.metadata.uid != set.metadata.uid {
            return Err(error);
        }
        fresh.status = Some(status.clone());
        self.set_client.update_status(&fresh).await.map(drop)
    }

    /// Deletes the oldest revisions beyond the limit that no pod has.
    async fn truncate_history(
        &self,
        state: &SetState<'_>,
        revisions: RevisionNames<'_>,
    ) -> Result<(), ClientError> {
        let Some(limit) = state.desired.history_limit else {
            return Ok(());
        };
        let is_used = |revision: &ControllerRevision| {
            let name = revisions::name(revision);
            let mut of_pods = state.pods.values().map(|pod| pod.revision.as_deref());
            name == revisions.current || name == revisions.update || of_pods.any(|of| of == Some(name))
        };
        let unused = state.history.iter().filter(|revision| !is_used(revision)).count();
        for revision in oldest_unused(state.history, unused.saturating_sub(limit), is_used) {
            self.history.delete(revision).await?;
        }
        Ok(())
    }
}

#[cfg(test)]
#[path = "controller_tests.rs"]
mod tests;

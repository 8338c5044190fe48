//! Property tests of whole rollouts: a model of ReplicaSets whose pods come, go, become available and fail, with their statuses behind, while
//! the Deployment is changed and reconciled, in any order.

use std::{collections::BTreeSet, sync::Arc};

use k8s_openapi::{
    api::apps::v1::{Deployment, ReplicaSet},
    jiff::{SignedDuration, Timestamp},
};
use proptest::prelude::*;

use super::{
    annotations::ROLLBACK_TO,
    conditions::{self, PROGRESSING, reason},
    desired::{DesiredState, Strategy as RolloutStrategy},
    plan::{DeploymentPlan, DeploymentWrite, Observed, plan},
    replica_sets::{ReplicaSetGroup, ReplicaSetWrite, size},
    rollout_events::{Event, any_deployment, events},
    scale, template,
    test_objects::{self, TestDeployment as _, now},
};

struct Model {
    deployment: Deployment,
    replica_sets: Vec<ModelReplicaSet>,
    now: Timestamp,
    created: i64,
}

struct ModelReplicaSet {
    object: ReplicaSet,
    /// Whether each pod is available.
    pods: Vec<bool>,
}

impl ModelReplicaSet {
    fn available(&self) -> i64 {
        self.pods
            .iter()
            .map(|is_available| i64::from(*is_available))
            .sum()
    }

    /// Deletes pods that are not available first, as ReplicaSets do.
    fn sync_pods(&mut self, limit: usize) {
        let wanted = usize::try_from(size(&self.object)).unwrap();
        for _ in 0..limit {
            if self.pods.len() < wanted {
                self.pods.push(false);
            } else if self.pods.len() > wanted {
                let unavailable = self.pods.iter().position(|is_available| !is_available);
                self.pods.swap_remove(unavailable.unwrap_or(0));
            }
        }
    }

    fn report_status(&mut self) {
        let (pods, available) = (
            i32::try_from(self.pods.len()).unwrap(),
            i32::try_from(self.available()).unwrap(),
        );
        let generation = self.object.metadata.generation;
        let status = self.object.status.get_or_insert_default();
        status.observed_generation = generation;
        status.replicas = pods;
        status.ready_replicas = Some(available);
        status.available_replicas = Some(available);
        status.terminating_replicas = Some(0);
    }
}

impl Model {
    fn new(deployment: Deployment) -> Self {
        Self {
            deployment,
            replica_sets: Vec::new(),
            now: now(),
            created: 0,
        }
    }

    fn desired(&self) -> DesiredState {
        DesiredState::of(self.deployment.spec.as_ref().unwrap()).unwrap()
    }

    fn observed(&self) -> Observed<'_> {
        let has_pods = self.replica_sets.iter().filter(|one| !one.pods.is_empty());
        Observed {
            deployment: &self.deployment,
            replica_sets: self
                .replica_sets
                .iter()
                .map(|one| Arc::new(one.object.clone()))
                .collect(),
            running: has_pods
                .map(|one| one.object.metadata.uid.clone().unwrap())
                .collect(),
            counts_terminating: true,
        }
    }

    /// How many pods are available once every ReplicaSet has deleted those beyond its size.
    fn available(&self) -> i64 {
        self.replica_sets
            .iter()
            .map(|one| one.available().min(size(&one.object)))
            .sum()
    }

    /// The size, the pods, the available ones, and those that the status counts.
    fn text(&self) -> String {
        let text = |one: &ModelReplicaSet| {
            let counted = one
                .object
                .status
                .as_ref()
                .and_then(|status| status.available_replicas);
            let (size, pods) = (size(&one.object), one.pods.len());
            format!("[{size} {pods} {} {counted:?}]", one.available())
        };
        self.replica_sets.iter().map(text).collect()
    }

    fn size(&self) -> i64 {
        self.replica_sets.iter().map(|one| size(&one.object)).sum()
    }

    fn is_rolling_out(&self) -> bool {
        let desired = self.desired();
        let rollout = super::plan::Rollout::new(self.observed(), self.now).unwrap();
        matches!(desired.strategy, RolloutStrategy::RollingUpdate { .. })
            && !desired.is_paused
            && !scale::is_scaling_event(&rollout)
    }

    /// Reconciles and checks the limits. Returns whether anything was written.
    fn reconcile(&mut self, writes: usize) -> bool {
        let before = self.text();
        let (size_before, available_before) = (self.size(), self.available());
        let (is_rolling_out, desired) = (self.is_rolling_out(), self.desired());
        let plan = plan(self.observed(), self.now).unwrap();
        self.check_recreate(&plan);
        let is_changed = !plan.replica_sets.is_empty() || plan.deployment != DeploymentWrite::None;
        self.carry_out(plan, writes);
        assert!(
            self.size() <= size_before.max(desired.max_replicas()),
            "{} pods, of {size_before}: {desired:?}",
            self.size()
        );
        if is_rolling_out {
            let available = self.available();
            assert!(
                available >= available_before.min(desired.min_available()),
                "{available} available, of {available_before}: {desired:?} {before} -> {}",
                self.text()
            );
        }
        is_changed
    }

    /// With the strategy Recreate, a ReplicaSet is created when no other has pods.
    fn check_recreate(&self, plan: &DeploymentPlan) {
        let creates = |write: &ReplicaSetWrite| matches!(write, ReplicaSetWrite::Create(_));
        if self.desired().strategy == RolloutStrategy::Recreate && plan.replica_sets.iter().any(creates) {
            let pods: usize = self.replica_sets.iter().map(|one| one.pods.len()).sum();
            assert_eq!(pods, 0, "a ReplicaSet is created beside old pods");
        }
    }

    fn carry_out(&mut self, plan: DeploymentPlan, writes: usize) {
        let is_complete = plan.replica_sets.len() < writes;
        for write in plan.replica_sets.into_iter().take(writes) {
            match write {
                ReplicaSetWrite::Create(created) => self.create(*created),
                ReplicaSetWrite::Update {
                    replica_set: updated, ..
                } => {
                    let name = updated.metadata.name.clone();
                    let one = self
                        .replica_sets
                        .iter_mut()
                        .find(|one| one.object.metadata.name == name)
                        .unwrap();
                    let is_changed = one.object.spec != updated.spec;
                    one.object = *updated;
                    if is_changed {
                        *one.object.metadata.generation.as_mut().unwrap() += 1;
                    }
                }
                ReplicaSetWrite::Delete(deleted) => {
                    let is_kept = |one: &ModelReplicaSet| one.object.metadata.uid != deleted.metadata.uid;
                    let pods = self
                        .replica_sets
                        .iter()
                        .filter(|one| !is_kept(one))
                        .map(|one| one.pods.len());
                    assert_eq!(pods.sum::<usize>(), 0, "a ReplicaSet with pods is deleted");
                    self.replica_sets.retain(is_kept);
                }
            }
        }
        if is_complete {
            match plan.deployment {
                DeploymentWrite::None => {}
                DeploymentWrite::Status(written) => {
                    self.deployment.status = written.status;
                    self.deployment.metadata.annotations = written.metadata.annotations;
                }
                DeploymentWrite::RollBack {
                    deployment: written, ..
                } => {
                    self.deployment.metadata.annotations = written.metadata.annotations;
                    let spec = written.spec.unwrap();
                    self.change(|current| *current = spec);
                }
            }
        }
    }

    fn create(&mut self, mut created: ReplicaSet) {
        let name = created.metadata.name.clone().unwrap();
        assert!(
            self.replica_sets
                .iter()
                .all(|one| one.object.metadata.name.as_ref() != Some(&name)),
            "{name} exists"
        );
        self.created += 1;
        let time = now()
            .checked_add(SignedDuration::from_secs(self.created))
            .unwrap();
        created.metadata.uid = Some(format!("{name}-{}", self.created));
        created.metadata.generation = Some(1);
        created.metadata.creation_timestamp =
            Some(k8s_openapi::apimachinery::pkg::apis::meta::v1::Time(time));
        self.replica_sets.push(ModelReplicaSet {
            object: created,
            pods: Vec::new(),
        });
    }

    fn change(&mut self, change: impl FnOnce(&mut k8s_openapi::api::apps::v1::DeploymentSpec)) {
        change(self.deployment.spec.as_mut().unwrap());
        *self.deployment.metadata.generation.as_mut().unwrap() += 1;
    }

    fn replica_set(&mut self, index: usize) -> Option<&mut ModelReplicaSet> {
        let count = self.replica_sets.len().max(1);
        self.replica_sets.get_mut(index % count)
    }

    fn handle(&mut self, event: &Event) {
        self.now = self.now.checked_add(SignedDuration::from_secs(1)).unwrap();
        match *event {
            Event::Reconcile { writes } => {
                self.reconcile(writes);
            }
            Event::SyncPods { replica_set, pods } => {
                if let Some(one) = self.replica_set(replica_set) {
                    one.sync_pods(pods);
                }
            }
            Event::ReportStatus { replica_set } => {
                if let Some(one) = self.replica_set(replica_set) {
                    one.report_status();
                }
            }
            Event::PodChanges {
                replica_set,
                is_available,
            } => {
                if let Some(one) = self.replica_set(replica_set) {
                    if let Some(pod) = one.pods.iter_mut().find(|pod| **pod != is_available) {
                        *pod = is_available;
                    }
                    one.report_status();
                }
            }
            Event::SetTemplate(number) => {
                let template = test_objects::template(&format!("image-{number}"));
                self.change(|spec| spec.template = template);
            }
            Event::SetReplicas(replicas) => self.change(|spec| spec.replicas = Some(replicas)),
            Event::SetLimits { surge, unavailable } => {
                let is_recreated = self.desired().strategy == RolloutStrategy::Recreate;
                let limited = self
                    .deployment
                    .clone()
                    .rolling(surge, unavailable)
                    .spec
                    .unwrap()
                    .strategy;
                if !is_recreated {
                    self.change(|spec| spec.strategy = limited);
                }
            }
            Event::SetPaused(is_paused) => self.change(|spec| spec.paused = Some(is_paused)),
            Event::RollBack => {
                self.deployment = self.deployment.clone().annotated(ROLLBACK_TO, "0");
            }
        }
    }

    /// Lets everything happen until nothing changes.
    fn settle(&mut self) {
        self.change(|spec| spec.paused = Some(false));
        for _ in 0..200 {
            self.now = self.now.checked_add(SignedDuration::from_secs(1)).unwrap();
            for one in &mut self.replica_sets {
                one.sync_pods(64);
                one.pods.fill(true);
                one.report_status();
            }
            if !self.reconcile(usize::MAX) {
                return;
            }
        }
        panic!("the rollout does not end: {:?}", self.deployment);
    }

    fn check_complete(&self) {
        let spec = self.deployment.spec.as_ref().unwrap();
        let (desired, observed) = (self.desired(), self.observed());
        let group = ReplicaSetGroup::new(&spec.template, observed.replica_sets);
        let new = group.new.as_ref().expect("a ReplicaSet with the template");
        assert_eq!((new.size(), group.size()), (desired.replicas, desired.replicas));
        assert!(group.old.len() <= desired.history_limit.unwrap());
        let status = self.deployment.status.as_ref().unwrap();
        assert!(
            conditions::has_reason(status, PROGRESSING, reason::COMPLETE),
            "{status:?}"
        );
        assert_eq!(
            i64::from(status.available_replicas.unwrap_or(0)),
            desired.replicas
        );
        assert_eq!(status.observed_generation, self.deployment.metadata.generation);
        let plan = plan(self.observed(), self.now).unwrap();
        assert_eq!((plan.deployment, plan.next_check), (DeploymentWrite::None, None));
        let revisions: BTreeSet<_> = group
            .all()
            .map(|one| one.annotation(super::annotations::REVISION))
            .collect();
        assert_eq!(
            revisions.len(),
            group.all().count(),
            "revisions are distinct: {revisions:?}"
        );
        let names: BTreeSet<_> = group
            .all()
            .map(|one| {
                template::hash(
                    one.object().spec.as_ref().unwrap().template.as_ref().unwrap(),
                    None,
                )
            })
            .collect();
        assert_eq!(names.len(), group.all().count());
    }
}

fn config() -> ProptestConfig {
    let default = ProptestConfig::default();
    ProptestConfig {
        cases: default.cases.max(512),
        failure_persistence: None,
        ..default
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn rollouts_stay_within_their_limits_and_end(deployment in any_deployment(), events in events()) {
        let mut model = Model::new(deployment);
        for event in &events {
            model.handle(event);
        }
        model.settle();
        model.check_complete();
    }
}

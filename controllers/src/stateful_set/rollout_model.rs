//! Property tests of whole updates: a model of pods that start, become ready, end and disappear, while the set is changed and reconciled in any
//! order, and writes fail.

use std::{collections::BTreeMap, sync::Arc};

use k8s_openapi::{
    api::apps::v1::{StatefulSet, StatefulSetStatus},
    apimachinery::pkg::apis::meta::v1::Time,
    jiff::{SignedDuration, Timestamp},
};
use proptest::prelude::*;
use serde_json::json;

use super::{
    desired::{DesiredSet, UpdateStrategy},
    plan::{ObservedSet, PodRevision, SetPlan, StatefulPod, Step, plan},
    status::{self, ReplicaCounts, RevisionNames},
    test_objects::{kept, now, set, set_reference},
};
use crate::shared::pod::{ConditionStatus, ConditionType, PodPhase, PodView};

/// What happens next. Pods are chosen by their position.
#[derive(Clone, Debug)]
enum Event {
    /// The set is reconciled. So many of the pods' writes succeed; that of the status may fail as well.
    Reconcile {
        writes: usize,
        reports: bool,
    },
    /// A pod runs.
    Run(usize),
    /// A running pod becomes ready, or not ready.
    SetReady(usize, bool),
    /// A pod ends by itself.
    End(usize, PodPhase),
    /// A user deletes a pod.
    Delete(usize),
    /// A pod that is being deleted is gone.
    Remove(usize),
    SetTemplate(u8),
    SetReplicas(i64),
    SetStart(i64),
    SetPartition(i64),
    Wait(i64),
}

/// The fields of the spec that matter.
#[derive(Clone, Debug)]
struct ModelSpec {
    is_parallel: bool,
    is_on_delete: bool,
    replicas: i64,
    start: i64,
    partition: Option<i64>,
    max_unavailable: Option<i64>,
    min_ready_seconds: i64,
    template: u8,
}

/// The state of the API server. The cache shows it: pods are created and deleted by name, so that a cache behind it leads to no other pods.
struct Model {
    spec: ModelSpec,
    status: StatefulSetStatus,
    pods: BTreeMap<i64, StatefulPod>,
    now: Timestamp,
    created: usize,
}

fn revision_name(template: u8) -> String {
    format!("web-{template}")
}

fn set_ready(view: &mut PodView, since: Option<Timestamp>) {
    view.condition_types = vec![Some(ConditionType::Ready)];
    let status = if since.is_some() {
        ConditionStatus::True
    } else {
        ConditionStatus::False
    };
    view.condition_statuses = vec![Some(status)];
    view.condition_times = vec![since.map(Time)];
}

impl ModelSpec {
    fn set(&self, status: &StatefulSetStatus) -> StatefulSet {
        let update = self
            .partition
            .map(|partition| json!({"partition": partition, "maxUnavailable": self.max_unavailable}));
        let strategy = if self.is_on_delete {
            json!({"type": "OnDelete"})
        } else {
            json!({"type": "RollingUpdate", "rollingUpdate": update})
        };
        let policy = if self.is_parallel {
            "Parallel"
        } else {
            "OrderedReady"
        };
        let mut set = set(&json!({
            "replicas": self.replicas, "ordinals": {"start": self.start}, "minReadySeconds": self.min_ready_seconds,
            "updateStrategy": strategy, "podManagementPolicy": policy,
        }));
        set.status = Some(status.clone());
        set
    }

    fn desired(&self) -> DesiredSet {
        DesiredSet::of(
            &self.set(&StatefulSetStatus::default()),
            self.max_unavailable.is_some(),
        )
    }
}

impl Model {
    fn new(spec: ModelSpec) -> Self {
        Self {
            spec,
            status: StatefulSetStatus::default(),
            pods: BTreeMap::new(),
            now: now(),
            created: 0,
        }
    }

    fn nth(&mut self, position: usize) -> Option<&mut StatefulPod> {
        let count = self.pods.len().max(1);
        self.pods.values_mut().nth(position % count)
    }

    fn change_pod(&mut self, position: usize, change: impl FnOnce(&mut PodView)) {
        if let Some(pod) = self.nth(position) {
            change(Arc::make_mut(&mut pod.view));
        }
    }

    fn apply(&mut self, event: &Event) {
        let now = self.now;
        match *event {
            Event::Reconcile { writes, reports } => {
                self.reconcile(writes, reports);
            }
            Event::Run(pod) => self.change_pod(pod, |view| {
                if view.phase == PodPhase::Pending {
                    view.phase = PodPhase::Running;
                }
            }),
            Event::SetReady(pod, is_ready) => self.change_pod(pod, |view| {
                if view.phase == PodPhase::Running && view.is_ready() != is_ready {
                    set_ready(view, is_ready.then_some(now));
                }
            }),
            Event::End(pod, phase) => self.change_pod(pod, |view| {
                if !view.is_terminal() {
                    view.phase = phase;
                    set_ready(view, None);
                }
            }),
            Event::Delete(pod) => self.change_pod(pod, |view| {
                view.deleted.get_or_insert(Time(now));
            }),
            Event::Remove(pod) => {
                let count = self.pods.len().max(1);
                let chosen = self.pods.iter().nth(pod % count);
                let gone = chosen.filter(|(_, pod)| pod.view.deleted.is_some());
                if let Some(ordinal) = gone.map(|(ordinal, _)| *ordinal) {
                    self.pods.remove(&ordinal);
                }
            }
            Event::SetTemplate(template) => self.spec.template = template,
            Event::SetReplicas(replicas) => self.spec.replicas = replicas,
            Event::SetStart(start) => self.spec.start = start,
            Event::SetPartition(partition) => self.spec.partition = Some(partition),
            Event::Wait(seconds) => self.now += SignedDuration::from_secs(seconds),
        }
    }

    fn is_available(&self, desired: &DesiredSet, ordinal: i64) -> bool {
        self.pods.get(&ordinal).is_some_and(|pod| {
            pod.view.deleted.is_none() && pod.view.is_available(desired.min_ready_seconds, self.now)
        })
    }

    fn available(&self, desired: &DesiredSet) -> i64 {
        let ordinals = desired.ordinals();
        let available = ordinals.filter(|ordinal| self.is_available(desired, *ordinal));
        i64::try_from(available.count()).unwrap()
    }

    /// Reconciles, as the controller does, and checks the order and the limits. Returns whether anything was written.
    fn reconcile(&mut self, writes: usize, reports: bool) -> bool {
        let set = self.spec.set(&self.status);
        let desired = DesiredSet::of(&set, self.spec.max_unavailable.is_some());
        let update = revision_name(self.spec.template);
        let current = self
            .status
            .current_revision
            .clone()
            .unwrap_or_else(|| update.clone());
        let revisions = RevisionNames {
            current: &current,
            update: &update,
        };
        let plan = plan(&ObservedSet {
            set: &set_reference(),
            desired,
            templates: &[],
            pods: &self.pods,
            claim: &kept,
            update_revision: &update,
            current_replicas: self.status.current_replicas.unwrap_or(0).into(),
            now: self.now,
        });
        let mut counts =
            ReplicaCounts::of(self.pods.values(), revisions, desired.min_ready_seconds, self.now);
        let available = self.available(&desired);
        let steps = plan.replicas.iter().chain(&plan.scale_down).chain(&plan.update);
        for step in steps.take(writes) {
            match step {
                Step::Create {
                    ordinal, revision, ..
                } => {
                    let revision = match revision {
                        PodRevision::Current => &current,
                        PodRevision::Update => &update,
                    };
                    self.create(*ordinal, revision, &desired);
                }
                Step::Delete { ordinal } => self.delete(*ordinal, &desired),
                Step::Update { .. } | Step::CompleteClaims { .. } | Step::CorrectOwners { .. } => {
                    panic!("no pod is wrong: {step:?}")
                }
            }
        }
        let before_update = plan.replicas.len() + plan.scale_down.len();
        let updated = writes.saturating_sub(before_update).min(plan.update.len());
        counts.current -= i32::try_from(updated).unwrap();
        self.check_available(available, &plan, &desired);
        let status = status::next(&set, &desired, counts, revisions, 0);
        let is_changed = status::is_changed(Some(&self.status), &status);
        if reports && is_changed {
            self.status = status;
        }
        is_changed || plan != SetPlan::default()
    }

    fn create(&mut self, ordinal: i64, revision: &str, desired: &DesiredSet) {
        assert!(desired.ordinals().contains(&ordinal), "pod {ordinal} is created");
        if !desired.is_parallel {
            let missing = (desired.start..ordinal).find(|before| !self.is_available(desired, *before));
            assert_eq!(
                missing, None,
                "pod {ordinal} is created before this one is available"
            );
        }
        self.created += 1;
        let pod = StatefulPod {
            uid: format!("uid-{}", self.created),
            revision: Some(revision.to_owned()),
            has_identity: true,
            view: Arc::new(PodView {
                phase: PodPhase::Pending,
                ..PodView::default()
            }),
        };
        assert!(self.pods.insert(ordinal, pod).is_none(), "pod {ordinal} exists");
    }

    fn delete(&mut self, ordinal: i64, desired: &DesiredSet) {
        let ordinals = desired.ordinals();
        if !ordinals.contains(&ordinal) && !desired.is_parallel {
            let unavailable = ordinals
                .clone()
                .find(|replica| !self.is_available(desired, *replica));
            assert_eq!(
                unavailable, None,
                "pod {ordinal} is scaled down while this one is not available"
            );
            let later = self.pods.keys().rev().find(|later| !ordinals.contains(later));
            assert_eq!(later, Some(&ordinal), "the last surplus pod goes first");
        }
        let now = self.now;
        let pod = self.pods.get_mut(&ordinal).unwrap();
        let deleted = Arc::make_mut(&mut pod.view).deleted.replace(Time(now));
        assert_eq!(deleted, None, "pod {ordinal} is deleted again");
    }

    /// No update makes more replicas unavailable than it may, and one is deleted after another where no limit is set.
    fn check_available(&self, before: i64, plan: &SetPlan, desired: &DesiredSet) {
        let UpdateStrategy::RollingUpdate { max_unavailable, .. } = desired.strategy else {
            assert_eq!(
                plan.update,
                [],
                "pods are replaced although a user is to delete them"
            );
            return;
        };
        // As upstream, a parallel set without a limit waits only for the replicas after the next one.
        if max_unavailable.is_some() || !desired.is_parallel {
            let least = before.min(desired.replicas - max_unavailable.unwrap_or(1));
            assert!(
                self.available(desired) >= least,
                "{} available, of {before}: {plan:?}",
                self.available(desired)
            );
        }
        if max_unavailable.is_none() {
            assert!(plan.update.len() <= 1, "{plan:?}");
        }
    }

    /// Lets everything happen until nothing changes.
    fn settle(&mut self) {
        for _ in 0..200 {
            self.pods.retain(|_, pod| pod.view.deleted.is_none());
            // As upstream, one of several surplus pods that ended waits for the others before it, for ever.
            let ordinals = self.spec.desired().ordinals();
            self.pods
                .retain(|ordinal, pod| ordinals.contains(ordinal) || !pod.view.is_terminal());
            for position in 0..self.pods.len() {
                self.apply(&Event::Run(position));
                self.apply(&Event::SetReady(position, true));
            }
            self.apply(&Event::Wait(60));
            if !self.reconcile(usize::MAX, true) {
                return;
            }
        }
        panic!("the update does not end: {:?} {:#?}", self.spec, self.pods);
    }

    fn check_complete(&self) {
        let desired = self.spec.desired();
        let ordinals: Vec<_> = self.pods.keys().copied().collect();
        assert_eq!(ordinals, desired.ordinals().collect::<Vec<_>>());
        let update = revision_name(self.spec.template);
        let UpdateStrategy::RollingUpdate { partition, .. } = desired.strategy else {
            return;
        };
        let first = desired.start + partition.unwrap_or(0);
        for (_, pod) in self.pods.range(first.min(desired.ordinals().end)..) {
            assert_eq!(pod.revision.as_ref(), Some(&update));
        }
        if first == desired.start {
            let replicas = i32::try_from(desired.replicas).unwrap();
            let counts = [self.status.current_replicas, self.status.updated_replicas];
            assert_eq!(counts, [Some(replicas); 2], "{:?}", self.status);
            assert_eq!(self.status.current_revision, Some(update));
        }
        let counts = [Some(self.status.replicas), self.status.available_replicas];
        assert_eq!(
            counts,
            [i32::try_from(desired.replicas).ok(); 2],
            "{:?}",
            self.status
        );
    }
}

fn events() -> impl Strategy<Value = Vec<Event>> {
    let pod = 0_usize..8;
    let writes = prop_oneof![3 => Just(usize::MAX), 1 => 0_usize..4];
    let phase = prop_oneof![Just(PodPhase::Failed), Just(PodPhase::Succeeded)];
    let event = prop_oneof![
        12 => (writes, prop::bool::weighted(0.8)).prop_map(|(writes, reports)| Event::Reconcile { writes, reports }),
        10 => pod.clone().prop_map(Event::Run),
        12 => (pod.clone(), prop::bool::weighted(0.8)).prop_map(|(pod, is_ready)| Event::SetReady(pod, is_ready)),
        1 => (pod.clone(), phase).prop_map(|(pod, phase)| Event::End(pod, phase)),
        1 => pod.clone().prop_map(Event::Delete),
        8 => pod.prop_map(Event::Remove),
        1 => (0_u8..3).prop_map(Event::SetTemplate),
        1 => (0_i64..6).prop_map(Event::SetReplicas),
        1 => (0_i64..4).prop_map(Event::SetStart),
        1 => (0_i64..6).prop_map(Event::SetPartition),
        3 => (1_i64..40).prop_map(Event::Wait),
    ];
    prop::collection::vec(event, 0..120)
}

fn specs() -> impl Strategy<Value = ModelSpec> {
    let partition = prop_oneof![Just(None), Just(Some(0)), (1_i64..5).prop_map(Some)];
    let max_unavailable = prop::option::weighted(0.4, 1_i64..4);
    (
        any::<bool>(),
        prop::bool::weighted(0.2),
        0_i64..6,
        partition,
        max_unavailable,
        prop_oneof![Just(0_i64), Just(30)],
    )
        .prop_map(
            |(is_parallel, is_on_delete, replicas, partition, max_unavailable, min_ready_seconds)| {
                ModelSpec {
                    is_parallel,
                    is_on_delete,
                    replicas,
                    start: 0,
                    partition,
                    max_unavailable,
                    min_ready_seconds,
                    template: 0,
                }
            },
        )
}

proptest! {
    #[test]
    fn updates_keep_the_order_and_the_limits_and_complete(spec in specs(), events in events()) {
        let mut model = Model::new(spec);
        for event in &events {
            model.apply(event);
        }
        model.settle();
        model.check_complete();
    }
}

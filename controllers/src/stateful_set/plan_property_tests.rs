//! Invariants of plans over random states, and that plans converge.

use std::collections::BTreeMap;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{
    super::test_objects::{NEW, OLD, kept, now, plan_with, pod},
    PodRevision, SetPlan, StatefulPod, Step,
};

/// The state of a pod in the model, with the letters of [`pod`].
fn any_state() -> impl Strategy<Value = String> {
    let state = prop_oneof![4 => Just("r"), 1 => Just("j"), 1 => Just("u"), 1 => Just("p"), 1 => Just("f"), 1 => Just("s")];
    let revision = prop_oneof![Just("O"), Just("N")];
    let deleted = prop_oneof![5 => Just(""), 1 => Just("T")];
    (state, revision, deleted).prop_map(|(state, revision, deleted)| format!("{state}{revision}{deleted}"))
}

fn any_pods() -> impl Strategy<Value = BTreeMap<i64, StatefulPod>> {
    prop::collection::btree_map(0_i64..8, any_state(), 0..8).prop_map(|states| {
        let pods = states
            .into_iter()
            .map(|(ordinal, state)| (ordinal, pod(ordinal, &state)));
        pods.collect()
    })
}

#[derive(Clone, Debug)]
struct AnySpec {
    replicas: i64,
    start: i64,
    min_ready: i64,
    partition: i64,
    max_unavailable: Option<i64>,
    is_on_delete: bool,
}

impl AnySpec {
    fn json(&self, policy: &str) -> Value {
        let update = if self.is_on_delete {
            json!({"type": "OnDelete"})
        } else {
            let update = json!({"partition": self.partition, "maxUnavailable": self.max_unavailable});
            json!({"type": "RollingUpdate", "rollingUpdate": update})
        };
        json!({
            "replicas": self.replicas, "ordinals": {"start": self.start}, "minReadySeconds": self.min_ready,
            "updateStrategy": update, "podManagementPolicy": policy, "usesMaxUnavailable": self.max_unavailable,
        })
    }

    fn ordinals(&self) -> std::ops::Range<i64> {
        self.start..self.start + self.replicas
    }

    fn is_available(&self, pod: &StatefulPod) -> bool {
        let seconds = i32::try_from(self.min_ready).unwrap();
        pod.view.deleted.is_none() && pod.view.is_available(seconds, now())
    }
}

fn any_spec() -> impl Strategy<Value = AnySpec> {
    let limit = prop::option::of(1_i64..4);
    (
        0_i64..6,
        0_i64..4,
        prop_oneof![Just(0_i64), Just(30)],
        0_i64..7,
        limit,
        prop::bool::weighted(0.2),
    )
        .prop_map(
            |(replicas, start, min_ready, partition, max_unavailable, is_on_delete)| AnySpec {
                replicas,
                start,
                min_ready,
                partition,
                max_unavailable,
                is_on_delete,
            },
        )
}

fn ordinal_of(step: &Step) -> i64 {
    match step {
        Step::Create { ordinal, .. }
        | Step::Update { ordinal, .. }
        | Step::CompleteClaims { ordinal, .. }
        | Step::CorrectOwners { ordinal, .. }
        | Step::Delete { ordinal } => *ordinal,
    }
}

/// Carries a plan out in the model, and lets the kubelet make all pods ready and end deletions.
fn settle(pods: &mut BTreeMap<i64, StatefulPod>, plan: &SetPlan) {
    pods.retain(|_, pod| pod.view.deleted.is_none());
    for step in [&plan.replicas, &plan.scale_down, &plan.update]
        .into_iter()
        .flatten()
    {
        let ordinal = ordinal_of(step);
        match step {
            Step::Create { revision, .. } => {
                let state = if *revision == PodRevision::Update {
                    "pN"
                } else {
                    "pO"
                };
                assert!(
                    pods.insert(ordinal, pod(ordinal, state)).is_none(),
                    "{ordinal} exists"
                );
            }
            Step::Delete { .. } => {
                pods.remove(&ordinal);
            }
            _ => {}
        }
    }
    for (ordinal, one) in pods.iter_mut() {
        if !one.view.is_terminal() {
            let revision = if one.revision.as_deref() == Some(OLD) {
                "O"
            } else {
                "N"
            };
            *one = pod(*ordinal, &format!("r{revision}"));
        }
    }
}

proptest! {
    #[test]
    fn ordered_plans_keep_the_order(spec in any_spec(), pods in any_pods()) {
        let plan = plan_with(&spec.json("OrderedReady"), &pods, &kept);
        let changes = |step: &&Step| matches!(step, Step::Create { .. } | Step::Delete { .. });
        let available = |ordinal: i64| pods.get(&ordinal).is_some_and(|pod| spec.is_available(pod));
        let all_available = spec.ordinals().all(available);
        let surplus: Vec<_> = pods.keys().copied().filter(|ordinal| !spec.ordinals().contains(ordinal)).collect();
        let (scaled, updated) = (plan.scale_down.len(), plan.update.len());
        let replaced = plan.replicas.iter().filter(changes).count();
        prop_assert!(replaced + scaled <= 1 && (replaced + scaled == 0 || updated == 0), "{plan:?}");
        for step in plan.replicas.iter().filter(changes) {
            let ordinal = ordinal_of(step);
            prop_assert!(spec.ordinals().contains(&ordinal));
            prop_assert!((spec.start..ordinal).all(available), "{plan:?}");
            let exists = pods.contains_key(&ordinal);
            prop_assert_eq!(exists, matches!(step, Step::Delete { .. }));
        }
        for step in &plan.scale_down {
            prop_assert!(all_available && surplus.last() == Some(&ordinal_of(step)), "{plan:?}");
            prop_assert!(pods[&ordinal_of(step)].view.deleted.is_none());
        }
        if updated > 0 {
            prop_assert!(all_available && surplus.is_empty(), "{plan:?}");
        }
    }

    #[test]
    fn updates_delete_outdated_pods_after_the_partition(
        spec in any_spec(),
        pods in any_pods(),
        policy in prop_oneof![Just("Parallel"), Just("OrderedReady")],
    ) {
        let plan = plan_with(&spec.json(policy), &pods, &kept);
        let available = pods.range(spec.ordinals()).filter(|(_, pod)| spec.is_available(pod)).count();
        let unavailable = spec.replicas - i64::try_from(available).unwrap();
        let deleted: Vec<_> = plan.update.iter().map(ordinal_of).collect();
        prop_assert!(deleted.is_sorted_by(|one, two| one > two), "{deleted:?}");
        prop_assert!(!spec.is_on_delete || deleted.is_empty());
        let count = i64::try_from(deleted.len()).unwrap();
        match spec.max_unavailable {
            Some(limit) => prop_assert!(count == 0 || unavailable + count <= limit, "{plan:?}"),
            None => prop_assert!(count <= 1),
        }
        for ordinal in deleted {
            prop_assert!(spec.ordinals().contains(&ordinal) && ordinal - spec.start >= spec.partition);
            let pod = &pods[&ordinal];
            prop_assert!(pod.revision.as_deref() == Some(OLD) && pod.view.deleted.is_none());
        }
    }

    #[test]
    fn parallel_plans_create_and_scale_down_everything(spec in any_spec(), pods in any_pods()) {
        let plan = plan_with(&spec.json("Parallel"), &pods, &kept);
        let creates = |step: &&Step| matches!(step, Step::Create { .. });
        let created: Vec<_> = plan.replicas.iter().filter(creates).map(ordinal_of).collect();
        let missing: Vec<_> = spec.ordinals().filter(|ordinal| !pods.contains_key(ordinal)).collect();
        prop_assert_eq!(created, missing);
        let surplus = pods.iter().rev().filter(|(ordinal, pod)| {
            !spec.ordinals().contains(ordinal) && pod.view.deleted.is_none()
        });
        let surplus: Vec<_> = surplus.map(|(ordinal, _)| *ordinal).collect();
        prop_assert_eq!(plan.scale_down.iter().map(ordinal_of).collect::<Vec<_>>(), surplus);
    }

    /// From every state the set gets its replicas, those after the partition of the new revision, and plans nothing more.
    #[test]
    fn plans_converge(
        spec in any_spec(),
        pods in any_pods(),
        policy in prop_oneof![Just("Parallel"), Just("OrderedReady")],
    ) {
        let (spec, mut pods) = (AnySpec { is_on_delete: false, ..spec }, pods);
        // As upstream, one of several surplus pods that ended waits for the others before it, which is for ever.
        pods.retain(|ordinal, pod| spec.ordinals().contains(ordinal) || !pod.view.is_terminal());
        for _ in 0..60 {
            let plan = plan_with(&spec.json(policy), &pods, &kept);
            settle(&mut pods, &plan);
        }
        let ordinals: Vec<_> = pods.keys().copied().collect();
        prop_assert_eq!(ordinals, spec.ordinals().collect::<Vec<_>>());
        for (ordinal, pod) in &pods {
            let is_new = pod.revision.as_deref() == Some(NEW);
            prop_assert!(is_new || ordinal - spec.start < spec.partition);
        }
        prop_assert_eq!(plan_with(&spec.json(policy), &pods, &kept), SetPlan::default());
    }
}

//! The Deployments and the events with which the model of a rollout is tested.

use k8s_openapi::api::apps::v1::Deployment;
use proptest::prelude::*;

use super::test_objects::{TestDeployment as _, deployment};

/// What happens next.
#[derive(Clone, Debug)]
pub(super) enum Event {
    /// The Deployment is reconciled; only so many of the writes succeed.
    Reconcile {
        writes: usize,
    },
    /// A ReplicaSet creates or deletes up to so many pods.
    SyncPods {
        replica_set: usize,
        pods: usize,
    },
    /// The status of a ReplicaSet shows its pods.
    ReportStatus {
        replica_set: usize,
    },
    /// A pod becomes available, or fails. The status shows it at once: a plan cannot know better.
    PodChanges {
        replica_set: usize,
        is_available: bool,
    },
    SetTemplate(u8),
    SetReplicas(i32),
    SetLimits {
        surge: i32,
        unavailable: i32,
    },
    SetPaused(bool),
    RollBack,
}

pub(super) fn events() -> impl Strategy<Value = Vec<Event>> {
    let index = 0_usize..4;
    let event = prop_oneof![
        10 => prop_oneof![3 => Just(usize::MAX), 1 => 0_usize..3].prop_map(|writes| Event::Reconcile { writes }),
        8 => (index.clone(), 1_usize..8).prop_map(|(replica_set, pods)| Event::SyncPods { replica_set, pods }),
        8 => index.clone().prop_map(|replica_set| Event::ReportStatus { replica_set }),
        12 => (index, prop::bool::weighted(0.8)).prop_map(|(replica_set, is_available)| Event::PodChanges { replica_set, is_available }),
        1 => (0_u8..3).prop_map(Event::SetTemplate),
        1 => (0..9).prop_map(Event::SetReplicas),
        1 => (0..4, 0..4).prop_map(|(surge, unavailable)| Event::SetLimits { surge, unavailable }),
        1 => any::<bool>().prop_map(Event::SetPaused),
        1 => Just(Event::RollBack),
    ];
    prop::collection::vec(event, 0..120)
}

pub(super) fn any_deployment() -> impl Strategy<Value = Deployment> {
    (any::<bool>(), 0..9, 0..4, 0..4, 0..3).prop_map(
        |(is_recreated, replicas, surge, unavailable, history)| {
            let deployment = deployment(replicas)
                .rolling(surge, unavailable)
                .spec_with(|spec| {
                    spec.progress_deadline_seconds = Some(600);
                    spec.revision_history_limit = Some(history);
                });
            if is_recreated {
                deployment.recreate()
            } else {
                deployment
            }
        },
    )
}

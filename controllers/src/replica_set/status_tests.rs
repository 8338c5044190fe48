use k8s_openapi::jiff::SignedDuration;
use proptest::prelude::*;
use serde_json::{from_value, json};

use super::*;

fn now() -> Timestamp {
    "2026-05-01T12:00:00Z".parse().unwrap()
}

/// A running pod that is ready since so many seconds.
fn ready(seconds: i64) -> PodView {
    let since = (now() - SignedDuration::from_secs(seconds)).to_string();
    let condition = json!({"type": "Ready", "status": "True", "lastTransitionTime": since});
    from_value(json!({"status": {"phase": "Running", "conditions": [condition]}})).unwrap()
}

fn counts(pods: &[(PodView, bool)], min_ready_seconds: i32) -> [usize; 4] {
    let pods = pods
        .iter()
        .map(|(pod, is_fully_labeled)| (pod, *is_fully_labeled));
    let counts = PodCounts::of(pods, min_ready_seconds, now());
    [
        counts.active,
        counts.fully_labeled,
        counts.ready,
        counts.available,
    ]
}

fn condition(type_: &str, reason: &str) -> ReplicaSetCondition {
    ReplicaSetCondition {
        type_: type_.to_owned(),
        status: "True".to_owned(),
        reason: Some(reason.to_owned()),
        ..ReplicaSetCondition::default()
    }
}

#[test]
fn pods_are_counted_as_upstream_does() {
    let pending = PodView::default();
    for (pods, min_ready_seconds, expected) in [
        (vec![], 0, [0, 0, 0, 0]),
        (vec![(ready(0), true)], 0, [1, 1, 1, 1]),
        (vec![(ready(0), false)], 0, [1, 0, 1, 1]),
        (vec![(ready(0), true), (ready(0), true)], 0, [2, 2, 2, 2]),
        (vec![(ready(0), false), (ready(0), true)], 0, [2, 1, 2, 2]),
        (vec![(pending, true)], 0, [1, 1, 0, 0]),
        (vec![(ready(0), true)], 3600, [1, 1, 1, 0]),
        (vec![(ready(3600), true)], 3600, [1, 1, 1, 1]),
        (vec![(ready(7200), true)], 3600, [1, 1, 1, 1]),
    ] {
        assert_eq!(counts(&pods, min_ready_seconds), expected);
    }
}

#[test]
fn terminating_pods_are_counted_only_where_the_status_has_them() {
    let status = ReplicaStatus {
        terminating: Some(3),
        ..ReplicaStatus::default()
    };
    for (terminating, expected) in [(None, None), (Some(0), Some(0)), (Some(2), Some(2))] {
        let next = status.next(PodCounts::default(), terminating, None, now());
        assert_eq!(next.terminating, expected);
    }
}

#[test]
fn failure_is_a_condition_until_it_is_over() {
    let failure = Failure {
        reason: "FailedCreate",
        message: "exceeded quota".to_owned(),
    };
    let other = || condition("ImagePullBackOff", "NonExistentImage");
    let earlier = || condition(REPLICA_FAILURE, "FailedDelete");
    let new = ReplicaSetCondition {
        message: Some("exceeded quota".to_owned()),
        last_transition_time: Some(Time(now())),
        ..condition(REPLICA_FAILURE, "FailedCreate")
    };
    for (before, failure, after) in [
        (vec![], None, vec![]),
        (vec![], Some(&failure), vec![new.clone()]),
        (vec![other()], Some(&failure), vec![other(), new]),
        (vec![earlier()], Some(&failure), vec![earlier()]),
        (vec![earlier(), other()], None, vec![other()]),
    ] {
        let status = ReplicaStatus {
            conditions: before,
            ..ReplicaStatus::default()
        };
        let next = status.next(PodCounts::default(), None, failure, now());
        assert_eq!(next.conditions, after);
    }
}

proptest! {
    #[test]
    fn counts_are_ordered_and_the_status_is_stable(
        pods in prop::collection::vec((-100_i64..100, any::<bool>(), any::<bool>()), 0..20),
        min_ready_seconds in -1_i32..100,
        terminating in prop::option::of(0_usize..5),
    ) {
        let pods: Vec<_> = pods
            .into_iter()
            .map(|(seconds, is_ready, is_labeled)| {
                (if is_ready { ready(seconds) } else { PodView::default() }, is_labeled)
            })
            .collect();
        let pods = pods.iter().map(|(pod, is_fully_labeled)| (pod, *is_fully_labeled));
        let counts = PodCounts::of(pods, min_ready_seconds, now());
        prop_assert!(counts.available <= counts.ready && counts.ready <= counts.active);
        prop_assert!(counts.fully_labeled <= counts.active);
        let status = ReplicaStatus::default().next(counts, terminating, None, now());
        prop_assert_eq!(status.next(counts, terminating, None, now()), status);
    }
}

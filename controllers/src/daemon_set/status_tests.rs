use k8s_openapi::jiff::SignedDuration;
use serde_json::{from_value, json};

use super::{
    super::test_support::{Model, unavailable},
    *,
};

#[test]
fn nodes_are_counted_by_their_oldest_pod() {
    let mut model = Model::new(unavailable(1), 7);
    model.desired.min_ready_seconds = 10;
    model.revision = 1;
    for (node, decision) in [
        ("node-5", NodeDecision::KeepRunning),
        ("node-6", NodeDecision::Stop),
    ] {
        model.nodes.insert(node.to_owned(), decision);
    }
    // A new and an old pod, a pod that is ready for long, one since now, none, and one on each of the other nodes.
    for (node, revision) in [
        ("node-0", 0),
        ("node-0", 1),
        ("node-1", 1),
        ("node-2", 1),
        ("node-5", 1),
        ("node-6", 1),
        ("gone", 1),
    ] {
        model.add(node, revision);
    }
    model.set_ready(2, true);
    model.now += SignedDuration::from_secs(30);
    model.set_ready(3, true);
    model.set_ready(4, true);
    let expected = NodeCounts {
        desired: 5,
        current: 3,
        misscheduled: 2,
        ready: 2,
        available: 1,
        updated: 2,
    };
    let counts = NodeCounts::of(&model.observed());
    assert_eq!(counts, expected);
    let before = DaemonSetStatus {
        collision_count: Some(3),
        observed_generation: Some(1),
        ..DaemonSetStatus::default()
    };
    let status = counts.status(&before, Some(2));
    assert_eq!(
        json!(status),
        json!({
            "desiredNumberScheduled": 5, "currentNumberScheduled": 3, "numberMisscheduled": 2, "numberReady": 2,
            "numberAvailable": 1, "numberUnavailable": 4, "updatedNumberScheduled": 2,
            "observedGeneration": 2, "collisionCount": 3,
        })
    );
    assert_eq!(counts.status(&before, None).observed_generation, Some(1));
}

#[test]
fn absent_counts_are_zero() {
    let before: DaemonSetStatus = from_value(json!({
        "desiredNumberScheduled": 0, "currentNumberScheduled": 0, "numberMisscheduled": 0, "numberReady": 0,
        "observedGeneration": 1,
    }))
    .unwrap();
    let after = NodeCounts::default().status(&before, Some(1));
    assert!(is_equal(&before, &after));
    assert!(!is_equal(
        &before,
        &NodeCounts::default().status(&before, Some(2))
    ));
    let counts = NodeCounts {
        updated: 1,
        ..NodeCounts::default()
    };
    assert!(!is_equal(&before, &counts.status(&before, Some(1))));
}

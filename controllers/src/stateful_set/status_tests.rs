use serde_json::{Value, from_value, json};

use super::{
    super::test_objects::{NEW, OLD, now, pods, set},
    *,
};

const REVISIONS: RevisionNames<'static> = RevisionNames {
    current: OLD,
    update: NEW,
};

fn counts(state: &str, min_ready_seconds: i32) -> ReplicaCounts {
    ReplicaCounts::of(pods(state).values(), REVISIONS, min_ready_seconds, now())
}

#[test]
fn pods_are_counted_by_state_and_revision() {
    for (state, min_ready_seconds, [replicas, ready, available, current, updated]) in [
        ("", 0, [0, 0, 0, 0, 0]),
        ("0:rN 1:rO 2:uO", 0, [3, 2, 2, 2, 1]),
        ("0:rN 1:jN", 30, [2, 2, 1, 0, 2]),
        ("0:rNT 1:rOT", 0, [2, 2, 2, 0, 0]),
        ("0:pN 1:fN 2:sO", 0, [3, 0, 0, 1, 2]),
        ("0:-N", 0, [0, 0, 0, 0, 0]),
    ] {
        let expected = ReplicaCounts {
            replicas,
            ready,
            available,
            current,
            updated,
        };
        assert_eq!(counts(state, min_ready_seconds), expected, "{state}");
    }
}

#[test]
fn complete_update_makes_the_new_revision_the_current_one() {
    let rolling = json!({"replicas": 2});
    let on_delete = json!({"replicas": 2, "updateStrategy": {"type": "OnDelete"}});
    for (spec, state, expected) in [
        (&rolling, "0:rN 1:rN", (NEW, 2)),
        (&rolling, "0:rO 1:rN", (OLD, 1)),
        (&rolling, "0:uN 1:rN", (OLD, 0)),
        (&rolling, "0:rN 1:rN 2:rN", (OLD, 0)),
        (&rolling, "0:rN 1:rN 2:rNT", (OLD, 0)),
        (&on_delete, "0:rN 1:rN", (OLD, 0)),
    ] {
        let set = set(spec);
        let status = next(&set, &DesiredSet::of(&set, false), counts(state, 0), REVISIONS, 0);
        let current = (
            status.current_revision.as_deref().unwrap(),
            status.current_replicas.unwrap(),
        );
        assert_eq!(current, expected, "{spec} {state}");
        assert_eq!(status.update_revision.as_deref(), Some(NEW));
    }
}

#[test]
fn counts_are_never_negative() {
    let set = set(&json!({"replicas": 2}));
    let counts = ReplicaCounts {
        current: -1,
        ..ReplicaCounts::default()
    };
    let status = next(&set, &DesiredSet::of(&set, false), counts, REVISIONS, 0);
    assert_eq!(status.current_replicas, Some(0));
}

#[test]
fn status_is_written_if_something_changed() {
    let status = json!({
        "observedGeneration": 2, "replicas": 2, "readyReplicas": 1, "availableReplicas": 1, "currentReplicas": 1,
        "updatedReplicas": 1, "currentRevision": OLD, "updateRevision": NEW, "collisionCount": 0,
    });
    let read = |status: &Value| -> StatefulSetStatus { from_value(status.clone()).unwrap() };
    let old = read(&status);
    for (field, value, expected) in [
        ("observedGeneration", json!(3), true),
        ("observedGeneration", json!(1), false),
        ("replicas", json!(3), true),
        ("readyReplicas", json!(0), true),
        ("availableReplicas", json!(0), true),
        ("currentReplicas", json!(null), true),
        ("updatedReplicas", json!(2), true),
        ("currentRevision", json!(NEW), true),
        ("updateRevision", json!(OLD), true),
        ("collisionCount", json!(1), false),
        ("replicas", json!(2), false),
    ] {
        let mut status = status.clone();
        status[field] = value;
        assert_eq!(is_changed(Some(&old), &read(&status)), expected, "{field}");
    }
    assert!(is_changed(None, &old));
    // Absent numbers are zero.
    let zero = read(&json!({"replicas": 0, "readyReplicas": 0, "currentReplicas": 0, "updateRevision": ""}));
    assert!(!is_changed(Some(&StatefulSetStatus::default()), &zero));
}

#[test]
fn conditions_are_kept() {
    let mut set = set(&json!({"replicas": 1}));
    let condition = json!([{"type": "Backup", "status": "True"}]);
    set.status = Some(from_value(json!({"replicas": 0, "conditions": condition})).unwrap());
    let status = next(
        &set,
        &DesiredSet::of(&set, false),
        ReplicaCounts::default(),
        REVISIONS,
        3,
    );
    assert_eq!(status.conditions.unwrap()[0].type_, "Backup");
    assert_eq!(
        (status.collision_count, status.observed_generation),
        (Some(3), Some(2))
    );
}

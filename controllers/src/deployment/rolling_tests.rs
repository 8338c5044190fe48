use super::*;
use crate::deployment::test_objects::{
    TestDeployment as _, TestReplicaSet as _, deployment, replica_set, rollout, texts,
};

#[test]
fn size_of_the_new_replica_set_is_limited_by_replicas_and_surge() {
    let rolling = |replicas, surge| deployment(replicas).rolling(surge, 1);
    for (deployment, size, expected) in [
        (rolling(1, 1), 5, 5),
        (rolling(6, 10), 2, 6),
        (deployment(3).recreate(), 1, 3),
    ] {
        let desired = DesiredState::of(deployment.spec.as_ref().unwrap()).unwrap();
        assert_eq!(size_of_new(&desired, 5, size), expected, "{desired:?}");
    }
}

#[test]
fn new_replica_set_grows_within_the_surge() {
    for (surge, old, new, expected) in [
        (0, 10, 0, &[][..]),
        (2, 10, 0, &["scale new 0 2"]),
        (2, 5, 0, &["scale new 0 7"]),
        (2, 10, 2, &[]),
        (2, 2, 11, &["scale new 11 10"]),
    ] {
        let deployment = deployment(10).rolling(surge, 0);
        let mut rollout = rollout(
            &deployment,
            Some(replica_set("new", new)),
            vec![replica_set("old", old)],
        );
        let is_scaled = scale_new(&rollout.desired, &mut rollout.group);
        assert_eq!(texts(&rollout.group.writes()), expected, "{surge} {old} {new}");
        assert_eq!(is_scaled, !expected.is_empty());
    }
}

/// Upstream's table, with the sizes that it states but does not compare.
#[test]
fn old_replica_sets_shrink_within_the_unavailable_replicas() {
    for (unavailable, (old, ready_old), (new, ready_new), expected) in [
        // Both limits are zero: one replica may be unavailable.
        (0, (10, 10), (0, 0), Some(9)),
        (2, (10, 10), (0, 0), Some(8)),
        // Pods that are not available go first.
        (2, (10, 8), (0, 0), Some(8)),
        (2, (10, 9), (0, 0), Some(8)),
        // Pods of the new one that are not available count as missing.
        (2, (8, 8), (2, 0), None),
    ] {
        let deployment = deployment(10).rolling(0, unavailable);
        let new = replica_set("new", new).with_status(new, ready_new, ready_new);
        let old_one = replica_set("old", old).with_status(old, ready_old, ready_old);
        let mut rollout = rollout(&deployment, Some(new), vec![old_one]);
        let is_scaled = scale_down_old(&rollout.desired, &mut rollout.group);
        let expected_texts: Vec<_> = expected
            .map(|size| format!("scale old {old} {size}"))
            .into_iter()
            .collect();
        assert_eq!(
            texts(&rollout.group.writes()),
            expected_texts,
            "{unavailable} {old} {ready_old}"
        );
        assert_eq!(is_scaled, expected.is_some());
    }
}

#[test]
fn pods_that_are_not_available_are_removed_up_to_the_limit() {
    let deployment = deployment(10).rolling(2, 2);
    for (available, limit, expected) in [(8, 1, 1), (8, 3, 2), (8, 0, 0), (10, 3, 0), (12, 3, 0)] {
        let old = replica_set("old", 10).with_status(available, available, available);
        let mut rollout = rollout(&deployment, None, vec![old]);
        assert_eq!(
            remove_unhealthy(&rollout.desired, &mut rollout.group.old, limit),
            expected
        );
        assert_eq!(rollout.group.size(), 10 - expected, "{available} {limit}");
    }
}

#[test]
fn old_replica_sets_shrink_by_available_pods_beyond_the_minimum() {
    for (unavailable, available, size, expected) in [
        (0, 10, 10, Some(9)),
        (2, 10, 10, Some(8)),
        (2, 8, 10, None),
        (2, 10, 0, None),
        (2, 1, 10, None),
    ] {
        let deployment = deployment(10).rolling(0, unavailable);
        let old = replica_set("old", size).with_status(available, available, available);
        let mut rollout = rollout(&deployment, None, vec![old]);
        let (desired, group) = (&rollout.desired, &mut rollout.group);
        let counted = group.all().map(TrackedReplicaSet::available).sum::<i64>();
        let removed = shrink(desired, &mut group.old, counted - desired.min_available());
        assert_eq!(
            group.size(),
            expected.unwrap_or(size.into()),
            "{unavailable} {available} {size}"
        );
        assert_eq!(removed > 0, expected.is_some());
    }
}

#[test]
fn the_oldest_shrinks_first() {
    let deployment = deployment(10).rolling(0, 5);
    let old = vec![
        replica_set("b", 3).created(2),
        replica_set("a", 3).created(1).with_status(3, 2, 2),
        replica_set("c", 4).created(3).with_status(4, 3, 3),
    ];
    let mut rollout = rollout(&deployment, Some(replica_set("new", 0)), old);
    assert!(scale_down_old(&rollout.desired, &mut rollout.group));
    // One pod of each of a and c is not available; then 8 available ones exceed the minimum by 3.
    assert_eq!(
        texts(&rollout.group.writes()),
        ["scale a 3 0", "scale b 3 2", "scale c 4 3"]
    );
}

#[test]
fn pods_beyond_a_size_do_not_count_as_available() {
    // The old one was shrunk to 5, which its status does not show yet. Upstream's fourth rule would shrink it by 4.
    let deployment = deployment(10).rolling(3, 2);
    let old = replica_set("old", 5).with_status(8, 8, 8);
    let new = replica_set("new", 6).with_status(6, 4, 4);
    let mut rollout = rollout(&deployment, Some(new), vec![old]);
    assert!(scale_down_old(&rollout.desired, &mut rollout.group));
    assert_eq!(texts(&rollout.group.writes()), ["scale old 5 4"]);
}

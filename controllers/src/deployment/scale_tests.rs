use super::*;
use crate::deployment::test_objects::{
    TestDeployment as _, TestReplicaSet as _, deployment, replica_set, rollout, texts,
};

/// A case of upstream's `TestScale`: the ReplicaSets v1, v2 … by age, the sizes before and after. The last one may have the Deployment's
/// template.
struct ScaleCase {
    name: &'static str,
    /// The Deployment's replicas and surge, before and after.
    before: (i32, i32),
    after: (i32, i32),
    has_new: bool,
    sizes: &'static [i32],
    expected: &'static [i64],
}

const fn case(
    name: &'static str,
    before: i32,
    after: i32,
    sizes: &'static [i32],
    expected: &'static [i64],
) -> ScaleCase {
    ScaleCase {
        name,
        before: (before, 0),
        after: (after, 0),
        has_new: true,
        sizes,
        expected,
    }
}

const CASES: [ScaleCase; 15] = [
    case("normal 10 -> 12", 10, 12, &[10], &[12]),
    case("normal 10 -> 5", 10, 5, &[10], &[5]),
    case("proportional 5 -> 10", 5, 10, &[3, 2], &[6, 4]),
    case("proportional 5 -> 3", 5, 3, &[3, 2], &[2, 1]),
    case("proportional 9 -> 4", 9, 4, &[1, 8], &[0, 4]),
    case("proportional 7 -> 10", 7, 10, &[2, 3, 2], &[3, 4, 3]),
    case("proportional 13 -> 8", 13, 8, &[3, 8, 2], &[2, 5, 1]),
    case("leftover 3 -> 4 goes to the newest", 3, 4, &[1, 1, 1], &[1, 1, 2]),
    case(
        "leftover 3 -> 2 is taken from the oldest",
        3,
        2,
        &[1, 1, 1],
        &[0, 1, 1],
    ),
    case("to zero 6 -> 0", 6, 0, &[1, 2, 3], &[0, 0, 0]),
    case("from zero 0 -> 6", 6, 6, &[0, 0, 0], &[0, 0, 6]),
    ScaleCase {
        has_new: false,
        ..case("without a new one 4 -> 5", 4, 5, &[2, 2], &[2, 3])
    },
    ScaleCase {
        before: (10, 2),
        after: (20, 2),
        ..case("surge pods", 0, 0, &[6, 6], &[11, 11])
    },
    ScaleCase {
        before: (10, 3),
        after: (50, 6),
        ..case("both surge and size", 0, 0, &[8, 5], &[34, 22])
    },
    ScaleCase {
        has_new: false,
        ..case("both size and template", 10, 14, &[3, 7], &[4, 10])
    },
];

#[test]
fn replica_sets_are_scaled_as_upstream_does() {
    for case in CASES {
        let before = deployment(case.before.0).rolling(case.before.1, 0);
        let after = deployment(case.after.0).rolling(case.after.1, 0);
        let sizes = case.sizes.iter().zip(1..);
        let mut all: Vec<_> = sizes
            .map(|(size, age)| {
                replica_set(&format!("v{age}"), *size)
                    .created(age)
                    .sized_by(&before)
            })
            .collect();
        let new = case.has_new.then(|| all.pop().unwrap());
        let mut rollout = rollout(&after, new, all);
        scale(&mut rollout);
        let sizes: Vec<_> = rollout.group.all().map(TrackedReplicaSet::size).collect();
        assert_eq!(sizes, case.expected, "{}", case.name);
    }
}

#[test]
fn failed_update_is_repeated_with_the_sizes_that_the_others_got() {
    // The Deployment was scaled from 3 to 5; the update of v2 failed.
    let (before, after) = (deployment(3), deployment(5));
    let v1 = replica_set("v1", 1).created(1).sized_by(&after);
    let v2 = replica_set("v2", 1).created(2).sized_by(&before);
    let v3 = replica_set("v3", 2).created(3).sized_by(&after);
    let mut rollout = rollout(&after, Some(v3), vec![v1, v2]);
    assert!(is_scaling_event(&rollout));
    scale(&mut rollout);
    assert_eq!(texts(&rollout.group.writes()), ["scale v2 1 2"]);
    assert!(!is_scaling_event(&rollout));
}

#[test]
fn old_pods_stay_while_a_full_new_replica_set_is_broken() {
    let deployment = deployment(2).rolling(1, 1);
    let new = |available| {
        replica_set("v2", 2)
            .with_status(2, available, available)
            .sized_by(&deployment)
    };
    let old = || vec![replica_set("v1", 1).sized_by(&deployment)];
    let mut broken = rollout(&deployment, Some(new(0)), old());
    scale(&mut broken);
    assert!(broken.group.writes().is_empty());
    let mut saturated = rollout(&deployment, Some(new(2)), old());
    scale(&mut saturated);
    assert_eq!(texts(&saturated.group.writes()), ["scale v1 1 0"]);
}

#[test]
fn size_that_another_program_set_is_recorded() {
    let (before, after) = (deployment(3), deployment(5));
    let mut rollout = rollout(&after, Some(replica_set("v1", 5).sized_by(&before)), vec![]);
    assert!(is_scaling_event(&rollout));
    scale(&mut rollout);
    assert_eq!(texts(&rollout.group.writes()), ["update v1"]);
    assert!(!is_scaling_event(&rollout));
}

#[test]
fn recreate_with_several_replica_sets_is_no_scaling_event() {
    let (before, after) = (deployment(3).recreate(), deployment(5).recreate());
    let old = |name, size| replica_set(name, size).sized_by(&before);
    assert!(!is_scaling_event(&rollout(
        &after,
        Some(old("v2", 1)),
        vec![old("v1", 1)]
    )));
    assert!(is_scaling_event(&rollout(
        &after,
        Some(old("v2", 1)),
        vec![old("v1", 0)]
    )));
}

#[test]
fn fractions_are_upstreams() {
    for (replicas, surge, status_replicas, size, recorded, expected) in [
        (0, 0, 0, 10, None, -10),
        (10, 0, 0, 5, None, 0),
        (10, 0, 0, 5, Some("0"), 0),
        (120, 0, 100, 50, None, 10),
        (120, 0, 100, 50, Some("0"), 10),
        (120, 0, 0, 50, Some("100"), 10),
        (120, 10, 0, 50, Some("110"), 9),
        (10, 0, 0, 6, Some("12"), -1),
        (100, 10, 0, 50, Some("130"), -8),
        (i32::MAX, i32::MAX, 0, i32::MAX, Some("1"), i64::MAX),
    ] {
        let deployment = deployment(replicas).rolling(surge, 1);
        let plain = replica_set("v1", size);
        let recorded = recorded.into_iter();
        let one = recorded.fold(plain, |one, recorded| one.annotated(MAX_REPLICAS, recorded));
        let rollout = rollout(&deployment, Some(one), vec![]);
        let new = rollout.group.new.as_ref().unwrap();
        let fraction = fraction(new, &rollout.desired, status_replicas);
        if expected == i64::MAX {
            assert!(fraction > i64::from(i32::MAX), "{fraction}");
        } else {
            assert_eq!(fraction, expected, "{replicas} {size}");
        }
    }
}

#[test]
fn sizes_are_recorded_with_each_change_of_size() {
    let deployment = deployment(10).rolling(10, 0);
    let recorded = |desired, max| {
        let one = replica_set("v1", 1).annotated(DESIRED_REPLICAS, desired);
        one.annotated(MAX_REPLICAS, max)
    };
    for (one, is_written) in [
        (replica_set("v1", 1), true),
        (recorded("8", "20"), true),
        (recorded("10", "16"), true),
        (recorded("10", "20"), false),
    ] {
        let mut rollout = rollout(&deployment, Some(one), vec![]);
        let desired = rollout.desired;
        record_sizes(rollout.group.new.as_mut().unwrap(), &desired);
        assert_eq!(!rollout.group.writes().is_empty(), is_written);
        let new = rollout.group.new.as_ref().unwrap();
        assert_eq!(
            (new.annotation(DESIRED_REPLICAS), new.annotation(MAX_REPLICAS)),
            (Some("10"), Some("20"))
        );
    }
}

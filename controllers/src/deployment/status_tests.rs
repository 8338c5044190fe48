use k8s_openapi::api::apps::v1::{ReplicaSet, ReplicaSetCondition};

use super::*;
use crate::deployment::test_objects::{
    TestDeployment as _, TestReplicaSet as _, deployment, replica_set, rollout,
};

fn with_terminating(
    name: &str,
    size: i32,
    status: i32,
    observed: i64,
    terminating: Option<i32>,
) -> ReplicaSet {
    replica_set(name, size).status_with(|replica_set| {
        replica_set.replicas = status;
        replica_set.observed_generation = Some(observed);
        replica_set.terminating_replicas = terminating;
    })
}

#[test]
fn counts_are_sums_and_terminating_pods_are_unknown_if_one_does_not_report_them() {
    let deployment = deployment(1);
    let first = || with_terminating("1", 1, 2, 1, Some(3));
    let second = || with_terminating("2", 2, 3, 0, Some(1));
    let unsynced = || with_terminating("3", 3, 0, 0, None);
    let dropped = || with_terminating("4", 1, 1, 1, None);
    for (all, size, actual, expected) in [
        (vec![first()], 1, 2, Some(3)),
        (vec![first(), second()], 3, 5, Some(4)),
        (vec![unsynced()], 3, 0, Some(0)),
        (vec![first(), second(), unsynced()], 6, 5, Some(4)),
        (vec![dropped()], 1, 1, None),
        (vec![first(), second(), unsynced(), dropped()], 7, 6, None),
        (vec![], 0, 0, Some(0)),
    ] {
        let mut rollout = rollout(&deployment, None, all);
        assert_eq!(rollout.group.size(), size);
        let status = calculate(&rollout);
        assert_eq!(
            (status.replicas.unwrap_or(0), status.terminating_replicas),
            (actual, expected)
        );
        rollout.counts_terminating = false;
        assert_eq!(calculate(&rollout).terminating_replicas, None);
    }
}

#[test]
fn available_condition_follows_the_minimum() {
    let rolling = deployment(10).rolling(1, 3);
    for (deployment, available, expected) in [
        (&rolling, 7, ("True", reason::MINIMUM_AVAILABLE)),
        (&rolling, 6, ("False", reason::MINIMUM_UNAVAILABLE)),
        (
            &deployment(10).recreate(),
            9,
            ("False", reason::MINIMUM_UNAVAILABLE),
        ),
        (
            &deployment(10).recreate(),
            10,
            ("True", reason::MINIMUM_AVAILABLE),
        ),
        (&deployment(0), 0, ("True", reason::MINIMUM_AVAILABLE)),
    ] {
        let new = replica_set("new", 10).with_status(10, 10, available);
        let status = calculate(&rollout(deployment, Some(new), vec![]));
        let condition = conditions::find(&status, AVAILABLE).unwrap();
        assert_eq!(
            (&*condition.status, condition.reason.as_deref().unwrap()),
            expected
        );
    }
}

#[test]
fn counts_are_those_that_an_api_server_stores() {
    let deployment = deployment(3);
    let new = replica_set("new", 3).with_status(2, 1, 0);
    let old = replica_set("old", 0).with_status(4, 4, 4);
    let status = calculate(&rollout(&deployment, Some(new), vec![old]));
    let counts = [
        status.replicas,
        status.updated_replicas,
        status.ready_replicas,
        status.available_replicas,
    ];
    assert_eq!(counts, [Some(6), Some(2), Some(5), Some(4)]);
    // More pods than desired are available: none is missing. Zero is absent.
    assert_eq!(
        (status.unavailable_replicas, status.observed_generation),
        (None, Some(1))
    );
}

#[test]
fn failure_of_the_new_replica_set_comes_first() {
    let failing = |name: &str| {
        replica_set(name, 1).status_with(|status| {
            status.conditions = Some(vec![ReplicaSetCondition {
                type_: "ReplicaFailure".to_owned(),
                status: "True".to_owned(),
                reason: Some("FailedCreate".to_owned()),
                message: Some(name.to_owned()),
                last_transition_time: None,
            }]);
        })
    };
    let plain = |name| replica_set(name, 1);
    let deployment = deployment(1);
    for (new, old, expected) in [
        (Some(failing("new")), vec![failing("old")], Some("new")),
        (Some(plain("new")), vec![failing("old")], Some("old")),
        (None, vec![plain("a"), failing("old")], Some("old")),
        (Some(plain("new")), vec![plain("old")], None),
    ] {
        let rollout = rollout(&deployment, new, old);
        let failure = replica_failure(&rollout.group);
        assert_eq!(
            failure.as_ref().and_then(|failure| failure.message.as_deref()),
            expected
        );
    }
}

use k8s_openapi::{
    api::apps::v1::{Deployment, DeploymentCondition, ReplicaSet},
    apimachinery::pkg::apis::meta::v1::Time,
};

use super::*;
use crate::deployment::test_objects::{
    TestDeployment as _, TestReplicaSet as _, deployment, now, replica_set, rollout,
};

fn before(seconds: i64) -> Timestamp {
    now().checked_sub(SignedDuration::from_secs(seconds)).unwrap()
}

fn progressing(status: &str, reason: &str, updated: Timestamp) -> DeploymentCondition {
    condition(PROGRESSING, status, reason, "", updated)
}

/// A Deployment with a deadline of a minute whose status is up to date.
fn with_status(replicas: i32, counts: [i32; 3], progressing: Option<DeploymentCondition>) -> Deployment {
    let mut deployment = deployment(replicas).recreate();
    deployment.spec.as_mut().unwrap().progress_deadline_seconds = Some(60);
    let [total, updated, available] = counts.map(|count| (count != 0).then_some(count));
    deployment.status = Some(DeploymentStatus {
        observed_generation: Some(1),
        replicas: total,
        updated_replicas: updated,
        available_replicas: available,
        conditions: progressing.map(|condition| vec![condition]),
        ..DeploymentStatus::default()
    });
    deployment
}

fn without_deadline(deployment: Deployment) -> Deployment {
    deployment.spec_with(|spec| spec.progress_deadline_seconds = None)
}

fn sized(name: &str, size: i32, pods: i32, available: i32) -> ReplicaSet {
    replica_set(name, size).with_status(pods, 0, available)
}

fn estimated(rollout: &Rollout<'_>) -> DeploymentStatus {
    let mut status = status::calculate(rollout);
    estimate(rollout, &mut status);
    status
}

/// Upstream's `TestSyncRolloutStatus`, with the times compared.
#[test]
fn condition_follows_the_rollout() {
    let old_time = before(3600);
    let timed_out = || Some(progressing("False", reason::TIMED_OUT, old_time));
    let complete = || Some(progressing("True", reason::COMPLETE, old_time));
    let updated = || Some(progressing("True", reason::UPDATED, old_time));
    let small = || Some(sized("foo", 3, 2, 2));
    let full = || Some(sized("foo", 3, 3, 3));
    let bar = || vec![sized("bar", 0, 1, 1)];
    // Expected: status, reason, whether the times of update and transition are now.
    let cases = vec![
        (
            without_deadline(with_status(3, [2, 2, 2], updated())),
            small(),
            bar(),
            None,
        ),
        (
            with_status(3, [3, 3, 3], complete()),
            None,
            vec![sized("bar", 3, 3, 3)],
            Some(("True", reason::COMPLETE, false, false)),
        ),
        (
            with_status(3, [2, 2, 2], updated()),
            small(),
            bar(),
            Some(("True", reason::UPDATED, true, false)),
        ),
        (
            with_status(3, [2, 2, 2], timed_out()),
            small(),
            bar(),
            Some(("True", reason::UPDATED, true, true)),
        ),
        (
            with_status(3, [2, 2, 2], None),
            small(),
            bar(),
            Some(("True", reason::UPDATED, true, true)),
        ),
        (
            with_status(3, [3, 3, 3], updated()),
            full(),
            vec![],
            Some(("True", reason::COMPLETE, true, false)),
        ),
        (
            with_status(3, [3, 3, 3], timed_out()),
            full(),
            vec![],
            Some(("True", reason::COMPLETE, true, true)),
        ),
        (
            with_status(3, [3, 3, 3], None),
            full(),
            vec![],
            Some(("True", reason::COMPLETE, true, true)),
        ),
        (
            with_status(0, [3, 3, 3], updated()),
            None,
            vec![sized("foo", 0, 0, 0)],
            Some(("True", reason::COMPLETE, true, false)),
        ),
        (
            with_status(3, [2, 2, 2], updated()),
            small(),
            vec![],
            Some(("False", reason::TIMED_OUT, true, true)),
        ),
        (
            with_status(3, [2, 2, 2], timed_out()),
            small(),
            vec![],
            Some(("False", reason::TIMED_OUT, false, false)),
        ),
    ];
    for (number, (deployment, new, old, expected)) in cases.into_iter().enumerate() {
        // As upstream's test, which passes a status that counts other pods than the ReplicaSets have.
        let rollout = rollout(&deployment, new, old);
        let status = estimated(&rollout);
        let found = conditions::find(&status, PROGRESSING).map(|found| {
            let is_now = |time: &Option<Time>| *time == Some(Time(now()));
            let reason = found.reason.as_deref().unwrap();
            (
                &*found.status,
                reason,
                is_now(&found.last_update_time),
                is_now(&found.last_transition_time),
            )
        });
        assert_eq!(found, expected, "case {number}");
    }
}

#[test]
fn rollout_is_complete_when_all_replicas_are_updated_and_available() {
    for (replicas, counts, expected) in [
        (5, [5, 5, 4], false),
        (5, [5, 5, 3], false),
        (5, [5, 5, 5], true),
        (5, [5, 4, 5], false),
        (1, [2, 1, 1], false),
        (1, [1, 1, 0], false),
        (0, [0, 0, 0], true),
    ] {
        let deployment = with_status(replicas, counts, None);
        let mut rollout = rollout(&deployment, None, vec![]);
        assert_eq!(
            is_complete(&rollout, &rollout.status),
            expected,
            "{replicas} {counts:?}"
        );
        rollout.status.observed_generation = None;
        assert!(!is_complete(&rollout, &rollout.status));
    }
}

#[test]
fn progress_is_more_new_ready_or_available_pods_or_fewer_old_ones() {
    let status = |[replicas, updated, ready, available]: [i32; 4]| DeploymentStatus {
        replicas: Some(replicas),
        updated_replicas: Some(updated),
        ready_replicas: Some(ready),
        available_replicas: Some(available),
        ..DeploymentStatus::default()
    };
    for (before, after, expected) in [
        ([10, 4, 4, 4], [10, 6, 4, 4], true),
        ([10, 4, 4, 4], [10, 4, 4, 4], false),
        ([10, 4, 6, 6], [8, 4, 6, 6], true),
        ([10, 7, 3, 3], [10, 6, 3, 3], false),
        ([10, 4, 7, 7], [8, 8, 5, 5], true),
        ([10, 10, 9, 8], [10, 10, 10, 8], true),
        ([10, 10, 10, 9], [10, 10, 10, 10], true),
    ] {
        assert_eq!(
            has_progressed(&status(before), &status(after)),
            expected,
            "{before:?} {after:?}"
        );
    }
}

#[test]
fn rollout_times_out_after_the_deadline_unless_it_completed() {
    let deadline = SignedDuration::from_secs(10);
    for (reason, since, expected) in [
        ("", 11, true),
        ("", 10, false),
        ("", 9, false),
        (reason::COMPLETE, 3600, false),
        (reason::TIMED_OUT, 0, true),
    ] {
        let deployment = with_status(1, [0, 0, 0], Some(progressing("True", reason, before(since))));
        let rollout = rollout(&deployment, None, vec![]);
        assert_eq!(
            has_timed_out(deadline, &rollout.status, now()),
            expected,
            "{reason} {since}"
        );
    }
    assert!(!has_timed_out(deadline, &DeploymentStatus::default(), now()));
    let mut absurd = progressing("True", "", Timestamp::MAX);
    let status = |condition: &DeploymentCondition| DeploymentStatus {
        conditions: Some(vec![condition.clone()]),
        ..DeploymentStatus::default()
    };
    assert!(!has_timed_out(deadline, &status(&absurd), now()));
    absurd.last_update_time = None;
    assert!(has_timed_out(deadline, &status(&absurd), now()));
}

/// Upstream's `TestRequeueStuckDeployment`, but for the last second before the deadline.
#[test]
fn stuck_rollout_is_looked_at_after_its_deadline() {
    let stuck = |since| Some(progressing("True", "", before(since)));
    let timed_out = Some(progressing("False", reason::TIMED_OUT, before(70)));
    let complete = Some(progressing("True", reason::COMPLETE, before(3600)));
    for (deployment, expected) in vec![
        (without_deadline(with_status(4, [3, 3, 2], stuck(0))), None),
        (
            with_status(4, [3, 3, 2], stuck(0))
                .spec_with(|spec| spec.progress_deadline_seconds = Some(i32::MAX)),
            None,
        ),
        (with_status(4, [3, 3, 2], None), None),
        (with_status(3, [3, 3, 3], stuck(0)), None),
        (with_status(3, [3, 3, 0], timed_out), None),
        (with_status(3, [3, 3, 1], complete), None),
        (with_status(3, [3, 3, 1], stuck(30)), Some(31)),
        (with_status(3, [3, 3, 1], stuck(59)), Some(2)),
        (with_status(3, [3, 3, 1], stuck(60)), Some(1)),
        (with_status(3, [3, 3, 1], stuck(120)), Some(1)),
    ] {
        let rollout = rollout(&deployment, None, vec![]);
        let expected = expected.map(SignedDuration::from_secs);
        assert_eq!(next_check(&rollout, &rollout.status), expected, "{deployment:?}");
    }
}

#[test]
fn pause_and_resumption_are_noted_once_and_not_over_a_timeout() {
    let reason_of = |rollout: &Rollout<'_>| conditions::find(&rollout.status, PROGRESSING)?.reason.clone();
    let paused = |deployment: Deployment| deployment.spec_with(|spec| spec.paused = Some(true));
    let noted = |reason| Some(progressing("Unknown", reason, before(5)));
    let cases = vec![
        (
            paused(with_status(1, [1, 1, 1], None)),
            Some((reason::PAUSED, true)),
        ),
        (
            paused(with_status(1, [1, 1, 1], noted(reason::PAUSED))),
            Some((reason::PAUSED, false)),
        ),
        (
            with_status(1, [1, 1, 1], noted(reason::PAUSED)),
            Some((reason::RESUMED, true)),
        ),
        (
            with_status(1, [1, 1, 1], noted(reason::RESUMED)),
            Some((reason::RESUMED, false)),
        ),
        (with_status(1, [1, 1, 1], None), None),
        (
            paused(with_status(1, [1, 1, 1], noted(reason::TIMED_OUT))),
            Some((reason::TIMED_OUT, false)),
        ),
        (paused(without_deadline(with_status(1, [1, 1, 1], None))), None),
    ];
    for (deployment, expected) in cases {
        let mut rollout = rollout(&deployment, None, vec![]);
        note_pause(&mut rollout);
        let updated =
            conditions::find(&rollout.status, PROGRESSING).and_then(|found| found.last_update_time.clone());
        let is_new = updated == Some(Time(now()));
        let expected = expected.map(|(reason, is_new)| (reason.to_owned(), is_new));
        assert_eq!(reason_of(&rollout).map(|reason| (reason, is_new)), expected);
    }
}

#[test]
fn failure_of_a_replica_set_comes_and_goes() {
    let failing = replica_set("new", 1).status_with(|status| {
        status.conditions = serde_json::from_value(serde_json::json!([
            {"type": "ReplicaFailure", "status": "True", "reason": "FailedCreate", "message": "no quota"},
        ]))
        .unwrap();
    });
    let deployment = with_status(1, [1, 1, 1], None);
    let status = estimated(&rollout(&deployment, Some(failing), vec![]));
    let failure = conditions::find(&status, REPLICA_FAILURE).unwrap();
    assert_eq!(
        (&*failure.status, failure.message.as_deref()),
        ("True", Some("no quota"))
    );
    let mut failed = deployment.clone();
    failed.status = Some(status);
    let status = estimated(&rollout(&failed, Some(replica_set("new", 1)), vec![]));
    assert_eq!(conditions::find(&status, REPLICA_FAILURE), None);
}

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use super::*;
use crate::deployment::{
    conditions::{self, PROGRESSING, reason},
    test_objects::{TestDeployment as _, TestReplicaSet as _, deployment, now, observed, replica_set, texts},
};

fn planned(deployment: &Deployment, replica_sets: Vec<ReplicaSet>) -> DeploymentPlan {
    plan(observed(deployment, replica_sets), now()).unwrap()
}

fn status(plan: &DeploymentPlan) -> &DeploymentStatus {
    match &plan.deployment {
        DeploymentWrite::Status(deployment) => deployment.status.as_ref().unwrap(),
        other => panic!("{other:?}"),
    }
}

/// The new ReplicaSet as the controller made it.
fn new_of(deployment: &Deployment, size: i32) -> ReplicaSet {
    replica_set("new", size)
        .of(deployment)
        .sized_by(deployment)
        .created(9)
        .annotated(REVISION, "2")
}

fn old_of(deployment: &Deployment, size: i32) -> ReplicaSet {
    replica_set("old", size)
        .sized_by(deployment)
        .created(1)
        .annotated(REVISION, "1")
}

#[test]
fn new_deployment_creates_a_replica_set_and_reports_it() {
    let deployment = deployment(3).spec_with(|spec| spec.progress_deadline_seconds = Some(600));
    let plan = planned(&deployment, vec![]);
    assert_eq!(texts(&plan.replica_sets), ["create 3"]);
    assert!(conditions::has_reason(
        status(&plan),
        PROGRESSING,
        reason::CREATED
    ));
    assert_eq!(status(&plan).unavailable_replicas, Some(3));
    let DeploymentWrite::Status(written) = &plan.deployment else {
        unreachable!()
    };
    assert_eq!(written.metadata.annotations.as_ref().unwrap()[REVISION], "1");
    assert_eq!(plan.next_check, Some(SignedDuration::from_secs(601)));
}

#[test]
fn rolling_update_takes_one_step_at_a_time() {
    let deployment = deployment(10).rolling(2, 2);
    let old = old_of(&deployment, 10);
    // The surge is used; the old one shrinks at the same time, by the unavailable replicas.
    let first = planned(&deployment, vec![old.clone()]);
    assert_eq!(texts(&first.replica_sets), ["create 2", "scale old 10 8"]);
    let grown = planned(
        &deployment,
        vec![
            old_of(&deployment, 8),
            new_of(&deployment, 2).with_status(0, 0, 0),
        ],
    );
    assert_eq!(texts(&grown.replica_sets), ["scale new 2 4"]);
}

#[test]
fn paused_deployment_is_scaled_and_not_rolled_out() {
    let paused = |replicas| deployment(replicas).spec_with(|spec| spec.paused = Some(true));
    assert!(planned(&paused(3), vec![]).replica_sets.is_empty());
    let before = deployment(3);
    let plan = planned(&paused(10), vec![old_of(&before, 3)]);
    assert_eq!(texts(&plan.replica_sets), ["scale old 3 10"]);
    let limited = paused(1).spec_with(|spec| spec.revision_history_limit = Some(0));
    let plan = planned(&limited, vec![new_of(&limited, 1), old_of(&limited, 0)]);
    assert_eq!(texts(&plan.replica_sets), ["delete old"]);
}

#[test]
fn paused_deployment_does_not_delete_what_it_scales_up() {
    let paused = deployment(3).spec_with(|spec| {
        spec.paused = Some(true);
        spec.revision_history_limit = Some(0);
    });
    let plan = planned(&paused, vec![old_of(&paused, 0)]);
    assert_eq!(texts(&plan.replica_sets), ["scale old 0 3"]);
}

#[test]
fn scaled_deployment_is_scaled_before_it_is_rolled_out() {
    let before = deployment(4).rolling(0, 1);
    let after = deployment(8).rolling(0, 1);
    let plan = planned(&after, vec![old_of(&before, 4)]);
    assert_eq!(texts(&plan.replica_sets), ["scale old 4 8"]);
    assert!(conditions::find(status(&plan), PROGRESSING).is_none());
}

#[test]
fn deployment_that_is_deleted_only_reports() {
    let mut deleting = deployment(3);
    deleting.metadata.deletion_timestamp = Some(Time(now()));
    let plan = planned(&deleting, vec![]);
    assert!(plan.replica_sets.is_empty());
    assert_eq!(status(&plan).observed_generation, Some(1));
}

#[test]
fn complete_rollout_deletes_old_revisions_and_then_does_nothing() {
    let mut deployment = deployment(2).spec_with(|spec| {
        spec.revision_history_limit = Some(0);
        spec.progress_deadline_seconds = Some(600);
    });
    let new = new_of(&deployment, 2);
    // The status has to show first that the rollout is complete.
    let first = planned(&deployment, vec![new.clone(), old_of(&deployment, 0)]);
    assert!(first.replica_sets.is_empty());
    assert!(conditions::has_reason(
        status(&first),
        PROGRESSING,
        reason::COMPLETE
    ));
    let DeploymentWrite::Status(written) = first.deployment else {
        unreachable!()
    };
    deployment = *written;
    let second = planned(&deployment, vec![new.clone(), old_of(&deployment, 0)]);
    assert_eq!(texts(&second.replica_sets), ["delete old"]);
    let done = planned(&deployment, vec![new]);
    assert_eq!(
        (&*done.replica_sets, &done.deployment, done.next_check),
        (&[][..], &DeploymentWrite::None, None)
    );
}

#[test]
fn invalid_specs_are_errors() {
    let mut without_spec = deployment(1);
    without_spec.spec = None;
    let error = plan(observed(&without_spec, vec![]), now()).unwrap_err();
    assert_eq!(error, InvalidSpec::Missing);
    let canary =
        deployment(1).spec_with(|spec| spec.strategy.as_mut().unwrap().type_ = Some("Canary".to_owned()));
    assert!(plan(observed(&canary, vec![]), now()).is_err());
}

#[test]
fn absurd_numbers_do_not_panic() {
    for replicas in [i32::MIN, -1, i32::MAX] {
        let deployment = deployment(replicas).rolling(i32::MAX, i32::MAX);
        let old = old_of(&deployment, i32::MAX).with_status(i32::MAX, i32::MAX, i32::MIN);
        planned(
            &deployment,
            vec![old, new_of(&deployment, i32::MAX), replica_set("other", i32::MIN)],
        );
        planned(
            &deployment.clone().spec_with(|spec| spec.paused = Some(true)),
            vec![old_of(&self::deployment(7), 7)],
        );
    }
}

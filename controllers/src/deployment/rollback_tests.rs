use super::*;
use crate::deployment::{
    annotations::REVISION,
    plan::plan,
    test_objects::{TestDeployment as _, TestReplicaSet as _, deployment, now, observed, replica_set, texts},
};

/// A Deployment at revision 3 that is to be rolled back, with its status up to date.
fn rolled_back(to: &str) -> (Deployment, Vec<k8s_openapi::api::apps::v1::ReplicaSet>) {
    let mut deployment = deployment(1)
        .annotated(ROLLBACK_TO, to)
        .annotated("change-cause", "edit")
        .annotated(REVISION, "3");
    deployment.status = Some(k8s_openapi::api::apps::v1::DeploymentStatus::default());
    let old = |name: &str, revision, age| {
        let old = replica_set(name, 0).annotated(REVISION, revision).created(age);
        old.annotated("change-cause", name)
    };
    let new = replica_set("new", 1).of(&deployment).created(3);
    let new = new.annotated(REVISION, "3").annotated("change-cause", "edit");
    (deployment, vec![old("first", "1", 1), old("second", "2", 2), new])
}

#[test]
fn deployment_gets_the_template_and_the_annotations_of_the_revision() {
    for (to, image, outcome) in [
        ("1", "first", RollbackOutcome::Done(1)),
        ("2", "second", RollbackOutcome::Done(2)),
        ("0", "second", RollbackOutcome::Done(2)),
        ("3", "new", RollbackOutcome::Unchanged),
        ("9", "new", RollbackOutcome::NotFound),
        ("-1", "new", RollbackOutcome::NotFound),
    ] {
        let (deployment, replica_sets) = rolled_back(to);
        let plan = plan(observed(&deployment, replica_sets), now()).unwrap();
        assert!(plan.replica_sets.is_empty());
        let DeploymentWrite::RollBack {
            deployment: written,
            outcome: planned,
        } = plan.deployment
        else {
            panic!("{plan:?}");
        };
        assert_eq!(planned, outcome, "{to}");
        let template = &written.spec.as_ref().unwrap().template;
        assert_eq!(
            template.spec.as_ref().unwrap().containers[0].image.as_deref(),
            Some(image)
        );
        let annotations = written.metadata.annotations.as_ref().unwrap();
        let cause = if outcome.is_done() { image } else { "edit" };
        assert_eq!(
            (annotations.get(ROLLBACK_TO), &*annotations["change-cause"]),
            (None, cause)
        );
        assert_eq!(annotations[REVISION], "3");
    }
}

#[test]
fn last_revision_must_exist() {
    let (deployment, mut replica_sets) = rolled_back("0");
    replica_sets.drain(..2);
    let plan = plan(observed(&deployment, replica_sets), now()).unwrap();
    let DeploymentWrite::RollBack { outcome, .. } = plan.deployment else {
        panic!("{plan:?}");
    };
    assert_eq!(outcome, RollbackOutcome::NoLastRevision);
    assert_eq!(
        (outcome.reason(), &*outcome.message("foo")),
        (
            "DeploymentRollbackRevisionNotFound",
            "Unable to find last revision."
        )
    );
}

#[test]
fn revisions_are_brought_up_to_date_before_a_rollback() {
    let (deployment, mut replica_sets) = rolled_back("1");
    replica_sets.pop();
    let plan = plan(observed(&deployment, replica_sets), now()).unwrap();
    assert_eq!(texts(&plan.replica_sets), ["create 1"]);
    assert!(matches!(plan.deployment, DeploymentWrite::Status(_)));
}

#[test]
fn other_texts_are_no_request_and_a_paused_deployment_is_not_rolled_back() {
    for (text, expected) in [("1", Some(1)), ("0", Some(0)), ("", None), ("x", None)] {
        assert_eq!(
            requested(&deployment(1).annotated(ROLLBACK_TO, text)),
            expected,
            "{text}"
        );
    }
    let (deployment, replica_sets) = rolled_back("1");
    let paused = deployment.spec_with(|spec| spec.paused = Some(true));
    let plan = plan(observed(&paused, replica_sets), now()).unwrap();
    assert!(matches!(plan.deployment, DeploymentWrite::Status(_)), "{plan:?}");
}

#[test]
fn events_are_upstreams() {
    for (outcome, reason, message) in [
        (
            RollbackOutcome::Done(2),
            "DeploymentRollback",
            "Rolled back deployment \"foo\" to revision 2",
        ),
        (
            RollbackOutcome::Unchanged,
            "DeploymentRollbackTemplateUnchanged",
            "The rollback revision contains the same template as current deployment \"foo\"",
        ),
        (
            RollbackOutcome::NotFound,
            "DeploymentRollbackRevisionNotFound",
            "Unable to find the revision to rollback to.",
        ),
    ] {
        assert_eq!((outcome.reason(), &*outcome.message("foo")), (reason, message));
    }
}

use k8s_openapi::{api::apps::v1::ReplicaSet, apimachinery::pkg::apis::meta::v1::Time};

use super::*;
use crate::deployment::{
    annotations::REVISION,
    replica_sets::ReplicaSetWrite,
    test_objects::{TestDeployment as _, TestReplicaSet as _, deployment, now, replica_set, rollout, texts},
};

fn deleted(limit: i32, old: Vec<ReplicaSet>) -> Vec<String> {
    let deployment = deployment(1).spec_with(|spec| spec.revision_history_limit = Some(limit));
    let mut rollout = rollout(&deployment, None, old);
    clean_up(&mut rollout);
    let writes: Vec<_> = rollout
        .expired
        .iter()
        .cloned()
        .map(ReplicaSetWrite::Delete)
        .collect();
    texts(&writes)
}

fn sized(name: &str, size: i32, status: i32) -> ReplicaSet {
    replica_set(name, size).with_status(status, 0, 0)
}

#[test]
fn old_replica_sets_without_pods_are_deleted_beyond_the_limit() {
    let unused = |count: usize| {
        ["1", "2", "3"][..count]
            .iter()
            .map(|name| sized(name, 0, 0))
            .collect::<Vec<_>>()
    };
    let mut deleting = sized("1", 0, 0);
    deleting.metadata.deletion_timestamp = Some(Time(now()));
    let mut unobserved = sized("1", 0, 0);
    unobserved.metadata.generation = Some(2);
    for (limit, old, expected) in [
        (1, unused(3), &["delete 1", "delete 2"][..]),
        (
            0,
            vec![
                sized("1", 0, 0),
                sized("2", 0, 1),
                sized("3", 1, 0),
                sized("4", 1, 1),
            ],
            &["delete 1"],
        ),
        (0, unused(2), &["delete 1", "delete 2"]),
        (0, vec![sized("1", 1, 1), sized("2", 1, 1)], &[]),
        (0, vec![deleting], &[]),
        (0, vec![unobserved], &[]),
        (i32::MAX, unused(3), &[]),
        (3, unused(3), &[]),
    ] {
        assert_eq!(deleted(limit, old), expected, "{limit}");
    }
}

#[test]
fn the_oldest_revisions_are_deleted() {
    // ReplicaSets by age; none has no revision.
    let old = |revisions: &[(i32, Option<&str>)]| {
        let all = revisions.iter().zip(1..);
        let one = |((size, revision), age): (&(i32, Option<&str>), i64)| {
            let plain = sized(&age.to_string(), *size, *size).created(age);
            revision
                .iter()
                .fold(plain, |one, revision| one.annotated(REVISION, revision))
        };
        all.map(one).collect::<Vec<_>>()
    };
    for (limit, revisions, expected) in [
        (1, &[(0, Some("1")), (0, Some("2"))][..], &["delete 1"][..]),
        (1, &[(0, Some("2")), (0, Some("1"))], &["delete 2"]),
        (1, &[(0, Some("1")), (0, None)], &["delete 2"]),
        (1, &[(0, None), (0, Some("2"))], &["delete 1"]),
        (
            1,
            &[(1, Some("1")), (0, Some("2")), (0, Some("3"))],
            &["delete 2"],
        ),
        (1, &[(1, Some("1")), (1, Some("2")), (0, Some("3"))], &[]),
        (
            2,
            &[(0, Some("3")), (0, Some("1")), (0, Some("4")), (0, Some("2"))],
            &["delete 2", "delete 4"],
        ),
        (1, &[(0, Some("x")), (0, Some("1"))], &["delete 1"]),
    ] {
        assert_eq!(deleted(limit, old(revisions)), expected, "{revisions:?}");
    }
}

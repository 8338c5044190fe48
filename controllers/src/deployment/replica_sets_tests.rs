use super::*;
use crate::deployment::test_objects::{TestReplicaSet as _, deployment, replica_set, texts};

fn group(replica_sets: Vec<ReplicaSet>) -> ReplicaSetGroup {
    let deployment = deployment(1);
    let template = &deployment.spec.as_ref().unwrap().template;
    ReplicaSetGroup::new(template, replica_sets.into_iter().map(Arc::new).collect())
}

#[test]
fn the_oldest_with_the_template_is_the_new_one() {
    let deployment = deployment(1);
    let new = || replica_set("new", 1).of(&deployment).created(3);
    let duplicate = || replica_set("duplicate", 0).of(&deployment).created(2);
    let old = || replica_set("old", 0).created(1);
    for (replica_sets, expected_new, expected_old) in [
        (vec![new(), old()], Some("new"), &["old"][..]),
        (vec![old()], None, &["old"]),
        (
            vec![new(), old(), duplicate()],
            Some("duplicate"),
            &["old", "new"],
        ),
        (vec![new()], Some("new"), &[]),
        (vec![], None, &[]),
    ] {
        let group = group(replica_sets);
        let old: Vec<_> = group.old.iter().map(TrackedReplicaSet::name).collect();
        assert_eq!(
            (group.new.as_ref().map(TrackedReplicaSet::name), &*old),
            (expected_new, expected_old)
        );
    }
}

#[test]
fn age_is_the_time_of_creation_and_then_the_name() {
    let all = vec![
        replica_set("b", 0).created(1),
        replica_set("a", 0).created(1),
        replica_set("c", 0),
        replica_set("0", 0).created(2),
    ];
    let names: Vec<_> = group(all).old.iter().map(|one| one.name().to_owned()).collect();
    assert_eq!(names, ["c", "a", "b", "0"]);
}

#[test]
fn only_changed_replica_sets_are_written_each_once() {
    let mut group = group(vec![
        replica_set("a", 1).created(1),
        replica_set("b", 1).created(2),
    ]);
    assert_eq!(group.size(), 2);
    group.old[0].set_size(3);
    group.old[0].set_annotations(Annotations::new());
    assert_eq!(texts(&group.writes()), ["scale a 1 3"]);
    group.old[0].set_size(1);
    assert_eq!(texts(&group.writes()), ["update a"]);
    group.new = Some(TrackedReplicaSet::created(replica_set("c", 0)));
    group.new.as_mut().unwrap().set_size(i64::MAX);
    assert_eq!(
        texts(&group.writes()),
        [&format!("create {}", i32::MAX), "update a"]
    );
}

#[test]
fn absurd_sizes_are_read_as_the_nearest_possible() {
    let mut negative = replica_set("a", -5);
    assert_eq!(size(&negative), 0);
    negative.spec = None;
    assert_eq!(size(&negative), 1);
    let group = group(vec![replica_set("a", i32::MAX), replica_set("b", i32::MAX)]);
    assert_eq!(group.size(), 2 * i64::from(i32::MAX));
    assert_eq!(
        group.total(|status| Some(status.replicas)),
        2 * i64::from(i32::MAX)
    );
}

#[test]
fn available_pods_are_no_more_than_the_size() {
    for (size, available, expected) in [(5, 3, 3), (5, 5, 5), (5, 8, 5), (0, 1, 0)] {
        let one = replica_set("a", size).with_status(available, available, available);
        assert_eq!(TrackedReplicaSet::cached(Arc::new(one)).available(), expected);
    }
}

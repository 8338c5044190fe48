use super::*;
use crate::deployment::{
    annotations::{DESIRED_REPLICAS, MAX_REPLICAS},
    conditions::{self, PROGRESSING},
    replica_sets::ReplicaSetWrite,
    test_objects::{TestDeployment as _, TestReplicaSet as _, deployment, replica_set, rollout, texts},
};

#[test]
fn revisions_are_numbers_and_others_are_skipped() {
    let deployment = deployment(1);
    for (revisions, max, last) in [
        (&[][..], 0, 0),
        (&[Some("3")], 3, 0),
        (&[Some("1"), Some("3"), Some("2")], 3, 2),
        (&[Some("3"), Some("3"), Some("1")], 3, 3),
        (&[Some("x"), None, Some("2")], 2, 0),
        (&[Some("-4"), Some("-7")], 0, 0),
        (&[Some("9223372036854775807")], i64::MAX - 1, 0),
    ] {
        let all = revisions.iter().zip(1_i64..).map(|(revision, age)| {
            let plain = replica_set(&age.to_string(), 0).created(age);
            revision
                .iter()
                .fold(plain, |one, revision| one.annotated(REVISION, revision))
        });
        let mut group = rollout(&deployment, None, all.collect()).group;
        assert_eq!(
            (max_revision(&group.old), last_revision(&group)),
            (max, max),
            "{revisions:?}"
        );
        group.new = group.old.pop();
        assert_eq!(last_revision(&group), last, "{revisions:?}");
    }
}

#[test]
fn created_replica_set_has_the_hash_and_the_annotations() {
    let deployment = deployment(3)
        .rolling(1, 0)
        .spec_with(|spec| {
            spec.min_ready_seconds = Some(5);
            spec.progress_deadline_seconds = Some(600);
        })
        .annotated("test", "copied")
        .annotated("kubectl.kubernetes.io/last-applied-configuration", "{}");
    let old = replica_set("old", 2).annotated(REVISION, "7");
    let mut rollout = rollout(&deployment, None, vec![old]);
    sync(&mut rollout);
    assert!(rollout.group.new.is_none() && rollout.revision.is_none());
    sync_or_create(&mut rollout);
    assert_eq!(
        (
            texts(&rollout.group.writes()).as_slice(),
            rollout.revision.as_deref()
        ),
        (&["create 2".to_owned()][..], Some("8"))
    );
    let new = rollout.group.new.as_ref().unwrap();
    let (metadata, spec) = (&new.object().metadata, new.object().spec.as_ref().unwrap());
    let hash = &metadata.labels.as_ref().unwrap()[HASH_LABEL];
    assert_eq!(new.name(), format!("foo-{hash}"));
    assert_eq!(spec.selector.match_labels, metadata.labels);
    assert_eq!(
        spec.template.as_ref().unwrap().metadata.as_ref().unwrap().labels,
        metadata.labels
    );
    assert_eq!(metadata.labels.as_ref().unwrap()["app"], "foo");
    assert_eq!(spec.min_ready_seconds, Some(5));
    let expected = [
        ("test", "copied"),
        (REVISION, "8"),
        (DESIRED_REPLICAS, "3"),
        (MAX_REPLICAS, "4"),
    ];
    let expected = expected.map(|(key, value)| (key.to_owned(), value.to_owned()));
    assert_eq!(new.annotations(), expected.into());
    let owner = &metadata.owner_references.as_ref().unwrap()[0];
    assert_eq!(
        (&*owner.kind, &*owner.uid, owner.controller),
        ("Deployment", "foo", Some(true))
    );
    let progressing = conditions::find(&rollout.status, PROGRESSING).unwrap();
    assert_eq!(
        progressing.message.as_deref(),
        Some(&*format!("Created new replica set {:?}", new.name()))
    );
    assert!(new.has_template(&rollout.spec.template));
}

#[test]
fn collision_leads_to_another_name() {
    let deployment = deployment(1);
    let name = |collisions| {
        let mut rollout = rollout(&deployment, None, vec![]);
        rollout.status.collision_count = collisions;
        new_replica_set(&rollout).metadata.name.unwrap()
    };
    assert_ne!(name(None), name(Some(1)));
    assert_ne!(name(Some(1)), name(Some(2)));
}

#[test]
fn existing_replica_set_is_brought_up_to_date() {
    let deployment = deployment(3)
        .spec_with(|spec| {
            spec.min_ready_seconds = Some(5);
            spec.progress_deadline_seconds = Some(600);
        })
        .annotated("test", "copied");
    let old = || vec![replica_set("old", 0).annotated(REVISION, "2")];
    let mut changed = rollout(
        &deployment,
        Some(replica_set("new", 3).annotated(REVISION, "1")),
        old(),
    );
    sync(&mut changed);
    let [
        ReplicaSetWrite::Update {
            replica_set: new,
            resized: None,
        },
    ] = &*changed.group.writes()
    else {
        panic!("{:?}", changed.group.writes());
    };
    let annotations = new.metadata.annotations.as_ref().unwrap();
    assert_eq!(annotations[REVISION], "3");
    assert_eq!(annotations["deployment.kubernetes.io/revision-history"], "1");
    assert_eq!(annotations["test"], "copied");
    assert_eq!(new.spec.as_ref().unwrap().min_ready_seconds, Some(5));
    assert_eq!(changed.revision.as_deref(), Some("3"));
    let progressing = conditions::find(&changed.status, PROGRESSING).unwrap();
    assert_eq!(
        progressing.message.as_deref(),
        Some("Found new replica set \"new\"")
    );

    let mut again = rollout(&deployment, Some(ReplicaSet::clone(new)), old());
    sync(&mut again);
    assert!(again.group.writes().is_empty());
}

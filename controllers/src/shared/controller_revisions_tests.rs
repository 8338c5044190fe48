use k8s_openapi::{api::apps::v1::StatefulSet, apimachinery::pkg::apis::meta::v1::Time};
use serde_json::from_value;

use super::*;

const HASH_LABEL: &str = "controller.kubernetes.io/hash";

fn template(image: &str) -> PodTemplateSpec {
    from_value(json!({
        "metadata": {"labels": {"app": "db"}},
        "spec": {"containers": [{"name": "db", "image": image}]},
    }))
    .unwrap()
}

fn owner(image: &str) -> StatefulSet {
    from_value(json!({
        "metadata": {"name": "db", "namespace": "shop", "uid": "1", "annotations": {"team": "data"}},
        "spec": {"serviceName": "db", "selector": {"matchLabels": {"app": "db"}}, "template": template(image)},
    }))
    .unwrap()
}

fn proposal<'o>(owner: &'o StatefulSet, image: &str) -> Proposal<'o, StatefulSet> {
    Proposal::new(owner, Some(&template(image)), HASH_LABEL)
}

/// A revision with this name, number and second of creation.
fn numbered(name: &str, number: i64, created: i64) -> Arc<ControllerRevision> {
    let created = k8s_openapi::jiff::Timestamp::from_second(created).unwrap();
    let mut revision = ControllerRevision {
        revision: number,
        ..ControllerRevision::default()
    };
    revision.metadata.name = Some(name.to_owned());
    revision.metadata.creation_timestamp = Some(Time(created));
    Arc::new(revision)
}

fn names(revisions: &[Arc<ControllerRevision>]) -> Vec<&str> {
    let names = revisions.iter().map(|revision| revision.metadata.name.as_deref());
    names.map(Option::unwrap_or_default).collect()
}

#[test]
fn revision_is_a_patch_that_replaces_the_template() {
    let owner = owner("db:1");
    let revision = proposal(&owner, "db:1").revision(3, Some(0));
    let hash = revision.metadata.labels.as_ref().unwrap()[HASH_LABEL].clone();
    assert_eq!(
        json!(revision),
        json!({
            "apiVersion": "apps/v1",
            "kind": "ControllerRevision",
            "metadata": {
                "name": format!("db-{hash}"), "namespace": "shop",
                "annotations": {"team": "data"},
                "labels": {"app": "db", HASH_LABEL: hash},
                "ownerReferences": [{"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "db", "uid": "1",
                    "controller": true, "blockOwnerDeletion": true}],
            },
            "revision": 3,
            "data": {"spec": {"template": {
                "$patch": "replace",
                "metadata": {"labels": {"app": "db"}},
                "spec": {"containers": [{"name": "db", "image": "db:1"}]},
            }}},
        })
    );
    assert_eq!(super::template(&revision).unwrap(), Some(template("db:1")));
}

#[test]
fn hashes_follow_from_the_data_and_the_count_of_collisions() {
    let data = json!({"b": "a<b", "a": 1});
    let hash_of = |text: &str| {
        let mut hash = NameHash::fnv1();
        hash.add(text.as_bytes());
        hash.finish()
    };
    assert_eq!(hash(&data, None), hash_of(r#"{"a":1,"b":"a\u003cb"}"#));
    assert_eq!(hash(&data, Some(2)), hash_of(r#"{"a":1,"b":"a\u003cb"}2"#));
}

#[test]
fn last_revision_with_equal_data_is_found() {
    let owner = owner("db:1");
    let made = |image: &str, number| Arc::new(proposal(&owner, image).revision(number, None));
    let revisions = [
        made("db:1", 1),
        made("db:2", 2),
        made("db:1", 3),
        made("db:3", 4),
        numbered("empty", 5, 0),
    ];
    for (image, expected) in [
        ("db:1", Some(3)),
        ("db:2", Some(2)),
        ("db:3", Some(4)),
        ("db:4", None),
    ] {
        let proposal = proposal(&owner, image);
        let found = proposal.find_equal(&revisions).map(|revision| revision.revision);
        assert_eq!(found, expected, "{image}");
    }
}

#[test]
fn templates_with_the_same_meaning_are_recognized() {
    let owner = owner("db:1");
    let proposal = proposal(&owner, "db:1");
    let mut revision = proposal.revision(1, None);
    assert!(proposal.means_the_same(&revision));
    let data = revision.data.as_mut().unwrap();
    data.0["spec"]["template"]["metadata"]["creationTimestamp"] = Value::Null;
    let revision = Arc::new(revision);
    assert!(proposal.find_equal(std::slice::from_ref(&revision)).is_none());
    assert!(proposal.means_the_same(&revision));
    assert!(!proposal.means_the_same(&numbered("empty", 1, 0)));
}

#[test]
fn revisions_are_sorted_by_number_age_and_name() {
    let mut revisions = [
        numbered("e", 2, 0),
        numbered("d", 1, 5),
        numbered("b", 1, 7),
        numbered("a", 1, 7),
        numbered("c", 1, 6),
    ];
    sort(&mut revisions);
    assert_eq!(names(&revisions), ["d", "c", "a", "b", "e"]);
    assert_eq!(next_number(&revisions), 3);
    assert_eq!(next_number(&[]), 1);
    assert_eq!(next_number(&[numbered("a", i64::MAX, 0)]), i64::MAX);
}

#[test]
fn oldest_unused_revisions_are_chosen() {
    let revisions = ["a", "b", "c", "d"].map(|name| numbered(name, 1, 0));
    for (count, used, expected) in [
        (0, &[][..], &[][..]),
        (2, &[], &["a", "b"]),
        (2, &["a", "c"], &["b", "d"]),
        (9, &["d"], &["a", "b", "c"]),
    ] {
        let is_used = |revision: &ControllerRevision| {
            let name = revision.metadata.name.as_deref().unwrap_or_default();
            used.contains(&name)
        };
        let chosen: Vec<_> = oldest_unused(&revisions, count, is_used).cloned().collect();
        assert_eq!(names(&chosen), expected, "{count} {used:?}");
    }
}

#[test]
fn long_owner_names_are_shortened() {
    assert_eq!(revision_name("db", "x5"), "db-x5");
    assert_eq!(
        revision_name(&"a".repeat(253), "x5"),
        format!("{}-x5", "a".repeat(223))
    );
    // No character is cut.
    assert_eq!(
        revision_name(&"é".repeat(112), "x5"),
        format!("{}-x5", "é".repeat(111))
    );
}

#[test]
fn damaged_data_is_an_error_and_absent_data_no_template() {
    let mut revision = ControllerRevision::default();
    assert_eq!(super::template(&revision).unwrap(), None);
    revision.data = Some(RawExtension(json!({"spec": {"template": {"spec": 5}}})));
    assert!(super::template(&revision).is_err());
}

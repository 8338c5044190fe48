use k8s_openapi::api::core::v1::{ConfigMap, Secret};

use super::*;
use crate::Kind as _;

#[test]
fn uid_and_version_of_the_last_answer_are_compared_per_object() {
    let mut answers = LastAnswers::default();
    let (maps, secrets) = (ConfigMap::info(), Secret::info());
    let (a, b) = (
        NamespacedName::namespaced("default", "a"),
        NamespacedName::namespaced("default", "b"),
    );
    for (kind, name, uid, version, is_same) in [
        (&maps, &a, "u", "1", false),
        (&maps, &a, "u", "1", true),
        (&maps, &b, "u", "1", false),
        (&secrets, &a, "u", "1", false),
        (&maps, &a, "u", "2", false),
        (&maps, &a, "other", "2", false),
        (&maps, &a, "other", "2", true),
        (&maps, &b, "u", "1", true),
    ] {
        assert_eq!(
            answers.replace(kind, name, uid, version),
            is_same,
            "{} {name} {uid} {version}",
            kind.kind
        );
    }
}

#[test]
fn memory_is_bounded_and_recent_objects_are_kept() {
    let (mut answers, kind) = (LastAnswers::default(), Secret::info());
    let name = |number: usize| NamespacedName::namespaced("default", format!("s{number}"));
    let count = 5 * OBJECTS_PER_GENERATION;
    for number in 0..count {
        answers.replace(&kind, &name(number), "u", "1");
        assert!(answers.newer.len() + answers.older.len() <= 2 * OBJECTS_PER_GENERATION);
    }
    for number in count - OBJECTS_PER_GENERATION..count {
        assert!(answers.replace(&kind, &name(number), "u", "1"), "{number}");
    }
    assert!(
        !answers.replace(&kind, &name(0), "u", "1"),
        "dropped: counts as a change"
    );
}

//! Tests of the predicates.

use k8s_openapi::api::core::v1::ConfigMap;
use serde_json::{Value, json};

use super::{super::predicates::*, factory};
use crate::cache::{Change, Object};

fn object(metadata: &Value) -> Object<ConfigMap> {
    let mut metadata = metadata.clone();
    metadata["name"] = "a".into();
    metadata["namespace"] = "default".into();
    if metadata["uid"].is_null() {
        metadata["uid"] = "u".into();
    }
    let informer = factory().of::<ConfigMap>();
    informer
        .seed(&json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}))
        .unwrap();
    informer.lister().object(&"default/a".parse().unwrap()).unwrap()
}

fn updated(old: &Value, new: &Value, predicate: impl Fn(&Change<'_>) -> bool) -> bool {
    let (old, new) = (object(old), object(new));
    predicate(&Change::Updated {
        old: old.metadata(),
        new: new.metadata(),
    })
}

/// controller-runtime: "When checking a GenerationChangedPredicate", which has one difference: there, updates of a kind without
/// generation are rejected.
#[tokio::test]
async fn generation_changed_accepts_only_another_generation() {
    let of = |generation: u64, version: &str| json!({"generation": generation, "resourceVersion": version});
    assert!(!updated(&of(1, "1"), &of(1, "2"), generation_changed));
    assert!(updated(&of(1, "1"), &of(2, "2"), generation_changed));
    let without = |version: &str| json!({"resourceVersion": version});
    assert!(updated(&without("1"), &without("2"), generation_changed));
    assert!(!updated(&without("1"), &without("1"), generation_changed));
    let again = json!({"generation": 1, "resourceVersion": "9", "uid": "v"});
    assert!(
        updated(&of(1, "1"), &again, generation_changed),
        "a recreated object"
    );
}

/// controller-runtime: "When checking a LabelChangedPredicate"
#[tokio::test]
async fn labels_changed_accepts_only_other_labels() {
    let of = |labels: Value| json!({"labels": labels});
    for (old, new, passes) in [
        (json!({"a": "1"}), json!({"a": "1"}), false),
        (json!({"a": "1"}), json!({"a": "2"}), true),
        (json!({"a": "1"}), json!({"b": "1"}), true),
        (json!({"a": "1"}), json!({"a": "1", "b": "2"}), true),
        (json!({"a": "1"}), Value::Null, true),
        (Value::Null, json!({}), false),
    ] {
        assert_eq!(
            updated(&of(old.clone()), &of(new.clone()), labels_changed),
            passes,
            "{old} {new}"
        );
    }
}

/// controller-runtime: "When checking a AnnotationChangedPredicate"
#[tokio::test]
async fn only_other_annotations_pass() {
    let of = |annotations: Value| json!({"annotations": annotations, "labels": {"x": "y"}});
    for (old, new, passes) in [
        (json!({"a": "1"}), json!({"a": "1"}), false),
        (json!({"a": "1"}), json!({"a": "2"}), true),
        (json!({"a": "1"}), json!({"a": "1", "b": "2"}), true),
        (json!({"a": "1"}), Value::Null, true),
        (Value::Null, json!({}), false),
    ] {
        assert_eq!(
            updated(&of(old.clone()), &of(new.clone()), annotations_changed),
            passes,
            "{old} {new}"
        );
    }
}

/// controller-runtime: "When checking a ResourceVersionChangedPredicate"
#[tokio::test]
async fn version_changed_rejects_resyncs() {
    let of = |version: &str| json!({"resourceVersion": version});
    assert!(updated(&of("1"), &of("2"), version_changed));
    assert!(!updated(&of("1"), &of("1"), version_changed));
}

/// controller-runtime: "When checking an And/Or/NotPredicate"
#[tokio::test]
async fn predicates_combine() {
    let (yes, no) = (|_: &Change<'_>| true, |_: &Change<'_>| false);
    let empty = json!({});
    let passes = |predicate: &dyn Fn(&Change<'_>) -> bool| updated(&empty, &empty, predicate);
    assert!(passes(&all((yes, yes, yes))) && !passes(&all((yes, no))) && !passes(&all((no,))));
    assert!(passes(&any((no, yes))) && !passes(&any((no, no, no, no))));
    assert!(passes(&not(no)) && !passes(&not(yes)));
}

#[tokio::test]
async fn predicates_accept_additions_and_deletions() {
    let object = object(&json!({"generation": 1}));
    let added = Change::Added {
        new: object.metadata(),
        is_in_initial_list: true,
    };
    let deleted = Change::Deleted {
        old: object.metadata(),
        final_state_known: true,
    };
    for change in [added, deleted] {
        for predicate in [
            generation_changed,
            labels_changed,
            annotations_changed,
            version_changed,
        ] {
            assert!(predicate(&change), "{change:?}");
        }
    }
}

use k8s_openapi::api::{apps::v1::ReplicaSet, core::v1::ReplicationController};
use kubewright::testing::Harness;
use serde_json::{Value, json};

use super::*;
use crate::shared::pod::PodView;

fn harness() -> Harness {
    Harness::new(|setup| {
        setup.informers().of::<ReplicationController>();
        setup.informers().of::<ReplicaSet>();
        Orphans::of(&setup.informers().projected::<PodView>());
        // The index exists by then, as for a second controller.
        Orphans::of(&setup.informers().projected::<PodView>());
    })
}

fn replication_controller(uid: &str, generation: i64, selector: &Value) -> Value {
    named_replication_controller("web", uid, generation, selector)
}

fn named_replication_controller(name: &str, uid: &str, generation: i64, selector: &Value) -> Value {
    json!({
        "apiVersion": "v1", "kind": "ReplicationController",
        "metadata": {"name": name, "namespace": "shop", "uid": uid, "generation": generation},
        "spec": {"selector": selector},
    })
}

#[tokio::test]
async fn orphans_are_objects_of_the_namespace_without_a_controller() {
    let test = harness();
    for (namespace, name, controller) in [
        ("shop", "a", None),
        ("shop", "b", Some(false)),
        ("shop", "c", Some(true)),
        ("other", "d", None),
    ] {
        let reference = controller.map(|controller| {
            json!([{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "1", "controller": controller}])
        });
        let metadata =
            json!({"namespace": namespace, "name": name, "uid": name, "ownerReferences": reference});
        test.seed(&json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata}));
    }
    let orphans = Orphans::of(&test.setup().informers().projected::<PodView>());
    let names = orphans
        .in_namespace("shop")
        .unwrap()
        .map(|pod| pod.name().name().to_owned());
    let mut names: Vec<_> = names.collect();
    names.sort();
    assert_eq!(names, ["a", "b"]);
    assert_eq!(orphans.in_namespace("empty").unwrap().count(), 0);
}

#[tokio::test]
async fn selectors_are_compiled_once_for_a_generation() {
    let test = harness();
    let owners = test.setup().informers().of::<ReplicationController>().lister();
    let invalid = InvalidObjects::default();
    let selectors = Selectors::new(owners.clone(), "rc", &invalid);
    let name = NamespacedName::namespaced("shop", "web");
    let selector = |object: &Value| {
        test.seed(object);
        selectors.of_cached(&owners.object(&name).unwrap())
    };
    let first = selector(&replication_controller("1", 1, &json!({"app": "a"}))).unwrap();
    assert!(first.matches(|_| Some("a")));
    let same = selector(&replication_controller("1", 1, &json!({"app": "a"}))).unwrap();
    assert!(Arc::ptr_eq(&first, &same));
    let second = selector(&replication_controller("1", 2, &json!({"app": "b"}))).unwrap();
    assert!(second.matches(|_| Some("b")));
    let of_another = selector(&replication_controller("2", 2, &json!({"app": "c"}))).unwrap();
    assert!(of_another.matches(|_| Some("c")));
    assert_eq!(selectors.compiled().len(), 2);
    selectors.forget("1");
    assert_eq!(selectors.compiled().len(), 1);
    assert_eq!(selector(&replication_controller("2", 3, &json!({}))), None);
    assert_eq!(selector(&replication_controller("2", 4, &json!(null))), None);
    assert_eq!(invalid.count("rc", "EmptySelector").get(), 2);
}

#[tokio::test]
async fn invalid_selectors_select_nothing() {
    let test = harness();
    let expression = json!({"key": "app", "operator": "Near"});
    test.seed(&json!({
        "apiVersion": "apps/v1", "kind": "ReplicaSet",
        "metadata": {"name": "web", "namespace": "shop", "uid": "1", "generation": 1},
        "spec": {"selector": {"matchExpressions": [expression]}},
    }));
    let owners = test.setup().informers().of::<ReplicaSet>().lister();
    let owner = owners.get(&NamespacedName::namespaced("shop", "web")).unwrap();
    let invalid = InvalidObjects::default();
    let selectors = Selectors::new(owners, "rs", &invalid);
    for _ in 0..2 {
        assert_eq!(selectors.of(&owner), None);
    }
    assert_eq!(invalid.count("rs", "InvalidSelector").get(), 1);
}

#[tokio::test]
async fn owners_that_select_the_same_orphan_are_reported_once_and_all_get_it() {
    let test = harness();
    for (name, app) in [("blue", "web"), ("green", "web"), ("other", "db")] {
        test.seed(&named_replication_controller(name, name, 1, &json!({"app": app})));
    }
    for (name, app) in [("web-1", "web"), ("web-2", "web"), ("db-1", "db")] {
        let metadata = json!({"namespace": "shop", "name": name, "uid": name, "labels": {"app": app}});
        test.seed(&json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata}));
    }
    let owners = test.setup().informers().of::<ReplicationController>().lister();
    let pods = test.setup().informers().projected::<PodView>().lister();
    let invalid = InvalidObjects::default();
    let selectors = Selectors::new(owners, "rc", &invalid);
    let adopters = |pod: &str| {
        let pod = pods.object(&NamespacedName::namespaced("shop", pod)).unwrap();
        let added = Change::Added {
            new: pod.metadata(),
            is_in_initial_list: false,
        };
        let mut names: Vec<_> = selectors
            .adopters(&added)
            .iter()
            .map(|name| name.name().to_owned())
            .collect();
        names.sort();
        names
    };
    let overlapping = || invalid.count("rc", "OverlappingSelector").get();
    assert_eq!(adopters("db-1"), ["other"]);
    assert_eq!(overlapping(), 0);
    for pod in ["web-1", "web-2"] {
        assert_eq!(adopters(pod), ["blue", "green"]);
        assert_eq!(overlapping(), 2);
    }
    test.seed(&named_replication_controller(
        "green",
        "green",
        2,
        &json!({"app": "web"}),
    ));
    assert_eq!(adopters("web-1"), ["blue", "green"]);
    assert_eq!(overlapping(), 3);
}

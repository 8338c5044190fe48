//! Indexes by path.

use k8s_openapi::api::core::v1::Pod;

use super::{support::log::Log, *};

const NODE: IndexSpec = IndexSpec {
    name: "node",
    path: "spec.nodeName",
    value_type: IndexType::String,
};
const PORTS: IndexSpec = IndexSpec {
    name: "ports",
    path: "spec.containers[*].ports[*].containerPort",
    value_type: IndexType::Integer,
};
const HOST: IndexSpec = IndexSpec {
    name: "host",
    path: "spec.hostNetwork",
    value_type: IndexType::Bool,
};
const TEAM: IndexSpec = IndexSpec {
    name: "team",
    path: "metadata.labels['example.com/team']",
    value_type: IndexType::String,
};

fn pods(indexes: &[IndexSpec]) -> SharedInformer<Pod> {
    let factory = server::Server::new().factory();
    factory.indexed(indexes).unwrap()
}

fn pod(name: &str, node: &str, ports: &[i32]) -> Value {
    let containers: Vec<_> = ports
        .iter()
        .map(|port| json!({"name": "c", "ports": [{"containerPort": port}, {"containerPort": 9}]}))
        .collect();
    json!({
        "metadata": {"name": name, "namespace": "default", "labels": {"example.com/team": "blue"}},
        "spec": {"nodeName": node, "containers": containers, "hostNetwork": true},
    })
}

fn found(pods: &SharedInformer<Pod>, index: &str, value: impl Into<IndexKey>) -> Vec<String> {
    let value = value.into();
    let keys = pods.lister().index_keys(index, &value).unwrap();
    let mut listed: Vec<_> = pods
        .lister()
        .by_index(index, value)
        .unwrap()
        .map(|pod| pod.unwrap().metadata.name.clone().unwrap())
        .collect();
    listed.sort();
    assert_eq!(keys.iter().map(NamespacedName::name).collect::<Vec<_>>(), listed);
    listed
}

/// client-go: TestThreadSafeStoreIndexingFunctionsWithMultipleValues.
#[test]
fn object_is_indexed_by_each_value_and_reindexed_when_they_change() {
    let pods = pods(&[NODE, PORTS, HOST, TEAM]);
    pods.seed(&pod("a", "n1", &[80, 443, 80])).unwrap();
    pods.seed(&pod("b", "n1", &[80])).unwrap();
    assert_eq!(found(&pods, "node", "n1"), ["a", "b"]);
    assert_eq!(found(&pods, "ports", 80), ["a", "b"]);
    assert_eq!(found(&pods, "ports", 443), ["a"]);
    assert_eq!(found(&pods, "ports", 9), ["a", "b"]);
    assert_eq!(found(&pods, "host", true), ["a", "b"]);
    assert_eq!(found(&pods, "team", "blue"), ["a", "b"]);
    pods.seed(&pod("a", "n2", &[443, 8080])).unwrap();
    assert_eq!(found(&pods, "node", "n1"), ["b"]);
    assert_eq!(found(&pods, "ports", 80), ["b"]);
    assert_eq!(found(&pods, "ports", 8080), ["a"]);
    assert_eq!(found(&pods, "ports", "80"), [""; 0]);
}

/// client-go: TestCacheTransactionShouldIndexErrors: there the caller gets the error; here the object is stored, but not in that index.
#[test]
fn value_of_another_type_is_left_out_of_the_index_logged_once_and_counted() {
    let log = Log::start();
    let pods = pods(&[NODE, PORTS]);
    for (name, spec, errors) in [
        ("absent", json!({}), 0),
        ("null", json!({"nodeName": null}), 0),
        ("no-containers", json!({"nodeName": "n1", "containers": null}), 0),
        (
            "null-port",
            json!({"containers": [{"ports": null}, {}, {"ports": [{}, {"containerPort": null}]}]}),
            0,
        ),
        ("number", json!({"nodeName": 5}), 1),
        (
            "no-list",
            json!({"nodeName": "n1", "containers": {"ports": []}}),
            2,
        ),
        ("no-object", json!({"nodeName": "n1", "containers": [5]}), 3),
        ("no-spec", json!("text"), 5),
        // Values before the bad one do not count either.
        (
            "mixed",
            json!({"nodeName": "n1", "containers": [{"ports": [{"containerPort": 80}, {"containerPort": "http"}]}]}),
            6,
        ),
    ] {
        pods.seed(&json!({"metadata": {"name": name, "namespace": "default"}, "spec": spec}))
            .unwrap();
        assert_eq!(pods.stats().index_errors, errors, "{name}");
    }
    assert_eq!(pods.lister().list().len(), 9);
    let named = |index, value: IndexKey| pods.lister().index_keys(index, &value).unwrap().len();
    assert_eq!(named("node", "n1".into()), 4);
    assert_eq!(named("ports", 80.into()), 0);
    for (index, first) in [("node", "default/number"), ("ports", "default/no-list")] {
        let lines = log.lines(&format!("index {index} leaves out"));
        assert!(lines.len() == 1 && lines[0].contains(first), "{lines:?}");
    }
    // An indexed object leaves the index when its value becomes bad, and returns when it is corrected.
    for (port, found) in [(json!(80), 1), (json!("x"), 0), (json!(80), 1)] {
        let mut pod = pod("later", "n2", &[]);
        pod["spec"]["containers"] = json!([{"ports": [{"containerPort": port}]}]);
        pods.seed(&pod).unwrap();
        assert_eq!(named("ports", 80.into()), found);
    }
}

/// client-go: TestAddIndexerAfterStart and similar ones.
#[test]
fn index_added_after_the_start_is_filled() {
    let pods = pods(&[NODE]);
    pods.seed(&pod("a", "n1", &[80])).unwrap();
    pods.add_index(&PORTS).unwrap();
    assert_eq!(found(&pods, "ports", 80), ["a"]);
    // An object that is older than the index is removed from its old values.
    pods.seed(&pod("a", "n1", &[81])).unwrap();
    assert_eq!(found(&pods, "ports", 80), [""; 0]);
    assert_eq!(found(&pods, "ports", 81), ["a"]);
}

/// client-go: TestAddIndexers' conflict, and ByIndex's error for an unknown index.
#[test]
fn conflicting_bad_and_unknown_indexes_are_errors_that_name_them() {
    let pods = pods(&[NODE, PORTS]);
    pods.seed(&pod("a", "n1", &[81])).unwrap();
    pods.add_index(&PORTS).unwrap();
    let conflict = IndexSpec {
        name: "ports",
        ..NODE
    };
    let bad = IndexSpec {
        name: "bad",
        path: "spec..x",
        value_type: IndexType::String,
    };
    for (index, problem) in [
        (
            conflict,
            "index ports of Pod was not added: another index has this name",
        ),
        (bad, "index bad of Pod was not added: index path \"spec..x\""),
    ] {
        let error = pods.add_index(&index).unwrap_err().to_string();
        assert!(error.starts_with(problem), "{error}");
    }
    assert_eq!(found(&pods, "ports", 81), ["a"]);
    let lister = pods.lister();
    for error in [
        lister.by_index("bad", "n1").unwrap_err(),
        lister.index_keys("bad", "n1").unwrap_err(),
        lister.index_values("bad").unwrap_err(),
        lister.namespace("default").by_index("bad", "n1").unwrap_err(),
    ] {
        let text = error.to_string();
        assert!(!error.is_not_found(), "{text}");
        assert!(
            text.starts_with("the informer of Pod has no index \"bad\", only [\"node\", \"ports\"]"),
            "{text}"
        );
    }
}

#[test]
fn namespace_lister_reads_an_index_of_its_namespace_only() {
    let pods = pods(&[NODE]);
    for (namespace, name) in [("one", "a"), ("one", "b"), ("two", "a")] {
        let mut pod = pod(name, "n1", &[]);
        pod["metadata"]["namespace"] = namespace.into();
        pods.seed(&pod).unwrap();
    }
    let count = |namespace: &str, node: &str| {
        let found = pods.lister().namespace(namespace).by_index("node", node);
        found.unwrap().len()
    };
    assert_eq!(
        [
            count("one", "n1"),
            count("two", "n1"),
            count("three", "n1"),
            count("one", "n2")
        ],
        [2, 1, 0, 0]
    );
}

#[test]
fn paths_parse_or_fail_with_the_position() {
    use index::PathSegment::{Elements, Field};
    let field = |name: &str| Field(name.into());
    for (path, expected) in [
        ("spec.nodeName", vec![field("spec"), field("nodeName")]),
        (
            "metadata.labels['a.b/c']",
            vec![field("metadata"), field("labels"), field("a.b/c")],
        ),
        (
            "['a b'].c[*][*].d",
            vec![field("a b"), field("c"), Elements, Elements, field("d")],
        ),
    ] {
        assert_eq!(
            path.parse::<index::IndexPath>().unwrap().segments(),
            expected,
            "{path}"
        );
    }
    for (path, at) in [
        ("", 0),
        ("a..b", 2),
        ("a.", 2),
        (".a", 0),
        ("a[0]", 1),
        ("a['b", 1),
        ("[*]", 0),
        ("a[*]b", 4),
        ("a b", 0),
    ] {
        let error = path.parse::<index::IndexPath>().unwrap_err().to_string();
        assert!(error.contains(&format!("at byte {at};")), "{path}: {error}");
    }
}

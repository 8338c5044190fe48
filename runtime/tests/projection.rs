//! Derived projections read whole objects, and objects that were reduced to their paths.
#![allow(clippy::unwrap_used, reason = "helpers of tests are tests")]

use std::{collections::BTreeMap, fmt::Debug};

use k8s_openapi::api::core::v1::Pod;
use kubewright::{
    CustomResource, Kind, Projection,
    cache::SharedInformerFactory,
    client::Connection,
    unstable::{IndexPath, PathSegment},
};
use proptest::{collection::vec, prelude::*};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::{Map, Value, json};

#[derive(Projection, Clone, Debug, PartialEq)]
#[projection(of = Pod)]
struct PodSummary {
    #[projection(path = "spec.nodeName")]
    node: Option<String>,
    #[projection(path = "status.phase")]
    phase: String,
    #[projection(path = "status.containerStatuses[*].restartCount")]
    restarts: Vec<i32>,
    #[projection(path = "status.containerStatuses[*].lastState.terminated.exitCode")]
    exits: Vec<Option<i32>>,
    #[projection(path = "spec.containers[*].ports[*].containerPort")]
    ports: Vec<u16>,
    #[projection(path = "metadata.finalizers[*]")]
    finalizers: Vec<String>,
    #[projection(path = "metadata.labels", default)]
    labels: BTreeMap<String, String>,
    #[projection(path = "metadata.annotations['example.com/team']", default)]
    team: String,
}

fn pod() -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": "web-0", "namespace": "shop", "uid": "u1", "resourceVersion": "7",
            "finalizers": ["a.dev/one", "a.dev/two"],
            "labels": {"app": "web", "tier": "front"},
            "annotations": {"example.com/team": "blue", "example.com/other": "{\"phase\": \"not this one\"}"},
            "managedFields": [{"manager": "kubectl", "fieldsV1": {"f:status": {"f:phase": {}}}}],
        },
        "spec": {
            "nodeName": "worker-1",
            "containers": [
                {"name": "web", "image": "web:1", "ports": [{"containerPort": 80}, {"containerPort": 443, "name": "tls"}]},
                {"name": "side", "image": "side:1"},
                {"name": "log", "image": "log:1", "ports": [{"containerPort": 514}]},
            ],
        },
        "status": {
            "phase": "Running",
            "containerStatuses": [
                {"name": "web", "restartCount": 3, "lastState": {"terminated": {"exitCode": 137, "reason": "OOMKilled"}}},
                {"name": "side", "restartCount": 0, "lastState": {}},
                {"name": "log", "lastState": {"terminated": {"exitCode": 0}}},
            ],
        },
    })
}

/// The object, reduced to the paths of a projection.
fn reduced<P: Projection>(object: &Value) -> Value {
    let paths: Vec<IndexPath> = P::PATHS.iter().map(|path| path.parse().unwrap()).collect();
    let paths: Vec<_> = paths.iter().map(IndexPath::segments).collect();
    pruned(object, &paths)
}

/// What is not of the type that the paths say stays as it is.
fn pruned(value: &Value, paths: &[&[PathSegment]]) -> Value {
    if paths.iter().any(|path| path.is_empty()) {
        return value.clone();
    }
    match value {
        Value::Object(fields) if matches!(paths[0][0], PathSegment::Field(_)) => {
            let mut kept = Map::new();
            for (name, value) in fields {
                let below: Vec<_> = paths
                    .iter()
                    .filter(|path| path[0] == PathSegment::Field(name.clone()))
                    .map(|path| &path[1..])
                    .collect();
                if !below.is_empty() {
                    kept.insert(name.clone(), pruned(value, &below));
                }
            }
            Value::Object(kept)
        }
        Value::Array(elements) if paths[0][0] == PathSegment::Elements => {
            let below: Vec<_> = paths.iter().map(|path| &path[1..]).collect();
            elements.iter().map(|element| pruned(element, &below)).collect()
        }
        other => other.clone(),
    }
}

fn error<P: DeserializeOwned + Debug>(json: &str) -> String {
    serde_json::from_str::<P>(json).unwrap_err().to_string()
}

#[test]
fn projection_reads_the_same_from_whole_and_reduced_objects() {
    let expected = PodSummary {
        node: Some("worker-1".into()),
        phase: "Running".into(),
        restarts: vec![3, 0],
        exits: vec![Some(137), None, Some(0)],
        ports: vec![80, 443, 514],
        finalizers: vec!["a.dev/one".into(), "a.dev/two".into()],
        labels: BTreeMap::from([("app", "web"), ("tier", "front")].map(|(k, v)| (k.into(), v.into()))),
        team: "blue".into(),
    };
    let small = reduced::<PodSummary>(&pod());
    assert!(small["metadata"].get("name").is_none(), "{small}");
    for object in [pod(), small] {
        assert_eq!(
            serde_json::from_str::<PodSummary>(&object.to_string()).unwrap(),
            expected
        );
        assert_eq!(serde_json::from_value::<PodSummary>(object).unwrap(), expected);
    }
}

#[test]
fn projection_has_the_info_of_its_kind() {
    assert_eq!(PodSummary::info(), Pod::info());
    let paths = [
        "spec.nodeName",
        "status.phase",
        "status.containerStatuses[*].restartCount",
        "status.containerStatuses[*].lastState.terminated.exitCode",
        "spec.containers[*].ports[*].containerPort",
        "metadata.finalizers[*]",
        "metadata.labels",
        "metadata.annotations['example.com/team']",
    ];
    assert_eq!(PodSummary::PATHS, paths);
}

#[tokio::test]
async fn listers_read_projections_from_whole_and_projected_stores() {
    let factory = SharedInformerFactory::new(Connection::late());
    let (whole, small) = (factory.of::<PodSummary>(), factory.projected::<PodSummary>());
    factory.of::<Pod>().seed(&pod()).unwrap();
    small.seed(&pod()).unwrap();
    for lister in [whole.lister(), small.lister()] {
        let place = lister.get(&"shop/web-0".parse().unwrap()).unwrap();
        assert_eq!(*place, serde_json::from_value(pod()).unwrap());
    }
}

#[test]
fn missing_values_are_none_empty_default_or_an_error() {
    let place: PodSummary = serde_json::from_str(r#"{"status": {"phase": "Pending"}}"#).unwrap();
    let empty = PodSummary {
        node: None,
        phase: "Pending".into(),
        restarts: vec![],
        exits: vec![],
        ports: vec![],
        finalizers: vec![],
        labels: BTreeMap::new(),
        team: String::new(),
    };
    assert_eq!(place, empty);
    let nulls = r#"{
        "metadata": {"labels": null, "annotations": {"example.com/team": null}, "finalizers": [null]},
        "spec": null,
        "status": {"phase": "Pending", "containerStatuses": null}
    }"#;
    assert_eq!(
        serde_json::from_str::<PodSummary>(nulls).unwrap(),
        empty,
        "null is missing"
    );
    for json in [
        "{}",
        r#"{"status": null}"#,
        r#"{"status": {}}"#,
        r#"{"status": {"phase": null}}"#,
    ] {
        assert_eq!(error::<PodSummary>(json), "status.phase is missing", "{json}");
    }
}

#[test]
fn null_and_missing_elements_are_none_in_a_list_of_options() {
    let json = r#"{"status": {"phase": "", "containerStatuses": [null, {"restartCount": null}, {"restartCount": 1}]}}"#;
    let place: PodSummary = serde_json::from_str(json).unwrap();
    assert_eq!((place.restarts, place.exits), (vec![1], vec![None, None, None]));
}

#[test]
fn values_of_another_type_are_errors_of_serde() {
    for (json, expected) in [
        (
            r#"{"status": {"phase": 7}}"#,
            "invalid type: integer `7`, expected a string at line 1 column 22",
        ),
        (
            r#"{"status": "Running"}"#,
            "invalid type: string \"Running\", expected an object at line 1 column 20",
        ),
        (
            r#"{"status": {"containerStatuses": {}}}"#,
            "invalid type: map, expected a list at line 1 column 33",
        ),
        (
            r#"{"spec": {"containers": [{"ports": [{"containerPort": 65536}]}]}}"#,
            "invalid value: integer `65536`, expected u16 at line 1 column 59",
        ),
        (
            "[]",
            "invalid type: sequence, expected an object at line 1 column 0",
        ),
        (
            "null",
            "invalid type: null, expected an object at line 1 column 4",
        ),
        (r#"{"status": "#, "EOF while parsing a value at line 1 column 11"),
    ] {
        assert_eq!(error::<PodSummary>(json), expected, "{json}");
    }
    let text = serde_json::from_value::<PodSummary>(json!({"spec": {"containers": {}}})).unwrap_err();
    assert_eq!(text.to_string(), "invalid type: map, expected a list");
}

#[test]
fn duplicate_keys_on_a_path_are_errors_and_others_are_ignored() {
    for (json, name) in [
        (
            r#"{"status": {"phase": "a"}, "status": {"phase": "b"}}"#,
            "status",
        ),
        (r#"{"status": {"phase": "a", "phase": "a"}}"#, "phase"),
        (
            r#"{"status": {"containerStatuses": [{"restartCount": 1, "restartCount": 1}]}}"#,
            "restartCount",
        ),
    ] {
        let error = error::<PodSummary>(json);
        assert!(
            error.starts_with(&format!("duplicate field `{name}`")),
            "{json}: {error}"
        );
    }
    let json = r#"{"kind": 1, "kind": 2, "status": {"phase": "a", "reason": 1, "reason": 2}}"#;
    assert_eq!(serde_json::from_str::<PodSummary>(json).unwrap().phase, "a");
}

/// What a Shop should be.
#[derive(CustomResource, Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[kube(group = "demo.dev", version = "v1", kind = "Shop", status = "ShopStatus")]
pub struct ShopSpec {
    /// Its shelves, in rows.
    pub shelves: Vec<Vec<Shelf>>,
}

/// What a Shop is.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
pub struct ShopStatus {
    /// Whether it is open.
    pub open: bool,
}

/// A place for goods.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Shelf {
    /// What lies there.
    pub good_name: String,
}

#[derive(Projection, Debug, PartialEq)]
#[projection(of = Shop)]
struct ShopView {
    #[projection(path = "spec.shelves[*][*]")]
    shelves: Vec<Shelf>,
    #[projection(path = "status.open", default)]
    open: bool,
    #[projection(path = "metadata['annotations']['ä \" \\ / ]']")]
    odd: Option<Value>,
    #[projection(path = "apiVersion")]
    version: String,
}

#[test]
fn custom_kinds_user_types_and_escaped_names() {
    let json = r#"{
        "apiVersion": "demo.dev/v1", "kind": "Shop",
        "metadata": {"name": "first", "annotations": {"\u00e4 \" \\ \/ ]": [1]}},
        "spec": {"shelves": [[{"good\u004eame": "tea"}], [], [{"goodName": "rice"}, null, {"goodName": "salt"}]]},
        "status": {"open": true}
    }"#;
    let shop: ShopView = serde_json::from_str(json).unwrap();
    let names: Vec<_> = shop.shelves.iter().map(|shelf| &*shelf.good_name).collect();
    assert_eq!(names, ["tea", "rice", "salt"]);
    assert_eq!(
        (shop.open, &shop.odd, &*shop.version),
        (true, &Some(json!([1])), "demo.dev/v1")
    );
    assert_eq!(ShopView::info(), Shop::info());
    let small = reduced::<ShopView>(&serde_json::from_str(json).unwrap());
    assert_eq!(serde_json::from_value::<ShopView>(small).unwrap(), shop);
}

/// Every form of a field, for objects of few names.
#[derive(Projection, Debug, PartialEq)]
#[projection(of = Pod)]
struct Anything {
    #[projection(path = "a.b")]
    optional: Option<Value>,
    #[projection(path = "a['c d']")]
    number: Option<u8>,
    #[projection(path = "b[*]")]
    elements: Vec<Value>,
    #[projection(path = "a.a[*].b")]
    present: Vec<Value>,
    #[projection(path = "a.a[*].a.b")]
    places: Vec<Option<Value>>,
    #[projection(path = "a.a[*].c[*].a")]
    inner: Vec<Option<Value>>,
    #[projection(path = "c", default)]
    default: Value,
}

/// What stands at a path, with a place for each element of the innermost list; none when something on the way has another type.
fn found(value: &Value, path: &[PathSegment]) -> Option<Vec<Option<Value>>> {
    let missing = || {
        if path.contains(&PathSegment::Elements) {
            vec![]
        } else {
            vec![None]
        }
    };
    match (path, value) {
        (_, Value::Null) => Some(missing()),
        ([], value) => Some(vec![Some(value.clone())]),
        ([PathSegment::Field(name), rest @ ..], Value::Object(fields)) => {
            found(fields.get(name).unwrap_or(&Value::Null), rest)
        }
        ([PathSegment::Elements, rest @ ..], Value::Array(elements)) => {
            let found: Option<Vec<_>> = elements.iter().map(|element| found(element, rest)).collect();
            Some(found?.concat())
        }
        _ => None,
    }
}

/// What [`Anything`] shows, in plain fields.
fn expected(object: &Value) -> Option<Anything> {
    let at = |number: usize| {
        found(
            object,
            Anything::PATHS[number].parse::<IndexPath>().unwrap().segments(),
        )
    };
    let one = |number| Some(at(number)?.remove(0));
    let number = match one(1)? {
        Some(number) => Some(u8::try_from(number.as_u64()?).ok()?),
        None => None,
    };
    Some(Anything {
        optional: one(0)?,
        number,
        elements: at(2)?.into_iter().flatten().collect(),
        present: at(3)?.into_iter().flatten().collect(),
        places: at(4)?,
        inner: at(5)?,
        default: one(6)?.unwrap_or_default(),
    })
}

/// Mostly of the shape that the paths of [`Anything`] take for granted.
fn objects() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        2 => Just(Value::Null),
        4 => (0..300_u16).prop_map(Value::from),
        2 => "[a-c\"\\\\ä]{0,3}".prop_map(Value::from),
        1 => Just(json!({"a": [1], "b": null})),
    ];
    let object = |fields: Vec<(&'static str, BoxedStrategy<Value>)>| {
        let fields: Vec<_> = fields
            .into_iter()
            .map(|(name, value)| proptest::option::weighted(0.8, value.prop_map(move |value| (name, value))))
            .collect();
        let object = fields.prop_map(|fields| {
            let fields = fields.into_iter().flatten();
            Value::Object(fields.map(|(name, value)| (name.to_owned(), value)).collect())
        });
        prop_oneof![20 => object, 1 => Just(Value::Null), 1 => Just(json!([])), 1 => Just(json!("x"))].boxed()
    };
    let list = |element: BoxedStrategy<Value>| {
        let list = vec(element, 0..4).prop_map(Value::Array);
        prop_oneof![20 => list, 1 => Just(Value::Null), 1 => Just(json!({"a": 1}))].boxed()
    };
    let leaf = leaf.boxed();
    let small = (0..300_u16).prop_map(Value::from).boxed();
    let inner = object(vec![("a", leaf.clone()), ("b", leaf.clone())]);
    let element = object(vec![
        ("a", inner.clone()),
        ("b", leaf.clone()),
        ("c", list(inner)),
        ("d", leaf.clone()),
    ]);
    let a = object(vec![
        ("a", list(element)),
        ("b", leaf.clone()),
        ("c d", small),
        ("d", leaf.clone()),
    ]);
    object(vec![
        ("a", a),
        ("b", list(leaf.clone())),
        ("c", leaf.clone()),
        ("d", leaf),
    ])
}

proptest! {
    #[test]
    fn random_objects_are_projected_to_the_values_at_the_paths(object in objects()) {
        prop_assume!(object.is_object());
        let whole = serde_json::from_value::<Anything>(object.clone()).map_err(|error| error.to_string());
        let small = serde_json::from_value::<Anything>(reduced::<Anything>(&object)).map_err(|error| error.to_string());
        prop_assert_eq!(&whole, &small);
        let shown = expected(&object);
        prop_assert_eq!(whole.as_ref().ok(), shown.as_ref());
        let text = serde_json::from_str::<Anything>(&object.to_string());
        prop_assert_eq!(text.ok(), whole.ok());
    }
}

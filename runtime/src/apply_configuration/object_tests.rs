use kube::CustomResource;
use schemars::JsonSchema;
use serde_json::json;

use super::*;
use crate::{ApplyConfiguration, Informer};

#[derive(CustomResource, Informer, ApplyConfiguration, Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[kube(
    group = "demo.dev",
    version = "v1",
    kind = "Foo",
    namespaced,
    status = "FooStatus"
)]
struct FooSpec {
    size: Option<i32>,
    rule: Option<Rule>,
}

#[derive(Clone, Debug, Deserialize, PartialEq, Serialize, JsonSchema)]
struct Rule {
    from: i32,
    to: i32,
}

#[derive(ApplyConfiguration, Clone, Debug, Deserialize, Serialize, JsonSchema)]
struct FooStatus {
    ready: bool,
}

fn live() -> Foo {
    let entry = |manager: &str, subresource: Option<&str>, fields: Value| json!({"manager": manager, "operation": "Apply", "subresource": subresource, "fieldsV1": fields});
    let metadata = json!({"f:labels": {"f:a": {}}, "f:finalizers": {"v:\"x\"": {}}});
    let live = json!({
        "apiVersion": "demo.dev/v1",
        "kind": "Foo",
        "metadata": {
            "namespace": "default",
            "name": "web",
            "uid": "1",
            "labels": {"a": "1", "b": "2"},
            "finalizers": ["x", "y"],
            "managedFields": [
                entry("op", None, json!({"f:metadata": metadata, "f:spec": {"f:size": {}}})),
                entry("op", Some("status"), json!({"f:status": {"f:ready": {}}})),
                entry("partial", None, json!({"f:spec": {"f:rule": {"f:from": {}}}})),
            ],
        },
        "spec": {"size": 3, "rule": {"from": 1, "to": 2}},
        "status": {"ready": true},
    });
    serde_json::from_value(live).unwrap()
}

#[test]
fn serializes_what_is_set() {
    let live = live();
    let foo = FooApply::namespaced("default", "child")
        .label("a", "1")
        .label("b", "2")
        .annotation("c", "3")
        .owner(&live)
        .finalizer("demo.dev/x")
        .spec(FooSpecApply::new().size(0));
    let owner = json!({
        "apiVersion": "demo.dev/v1",
        "kind": "Foo",
        "name": "web",
        "uid": "1",
        "controller": true,
        "blockOwnerDeletion": true,
    });
    let expected = json!({
        "apiVersion": "demo.dev/v1",
        "kind": "Foo",
        "metadata": {
            "namespace": "default",
            "name": "child",
            "labels": {"a": "1", "b": "2"},
            "annotations": {"c": "3"},
            "ownerReferences": [owner],
            "finalizers": ["demo.dev/x"],
        },
        "spec": {"size": 0},
    });
    assert_eq!(serde_json::to_value(&foo).unwrap(), expected);

    let status = FooApply::of(&live).status(FooStatus { ready: false });
    let expected = json!({
        "apiVersion": "demo.dev/v1",
        "kind": "Foo",
        "metadata": {"namespace": "default", "name": "web"},
        "status": {"ready": false},
    });
    assert_eq!(serde_json::to_value(&status).unwrap(), expected);
    assert_eq!(
        FooApply::of(&live),
        FooApply::named(&NamespacedName::namespaced("default", "web"))
    );
}

#[test]
fn extracts_the_fields_of_the_manager() {
    let live = live();
    let own = FooApply::of(&live)
        .label("a", "1")
        .finalizer("x")
        .spec(FooSpecApply::new().size(3));
    assert_eq!(FooApply::extract(&live, "op").unwrap(), own);
    let status = FooApply::of(&live).status(FooStatusApply::new().ready(true));
    assert_eq!(FooApply::extract_status(&live, "op").unwrap(), status);
    assert_eq!(FooApply::extract(&live, "other").unwrap(), FooApply::of(&live));
}

#[test]
fn objects_from_caches_and_partly_owned_values_are_refused() {
    let mut live = live();
    let error = FooApply::extract(&live, "partial").unwrap_err().to_string();
    assert!(
        error.starts_with("owned fields do not decode: spec.rule"),
        "{error}"
    );
    assert!(error.contains("missing field `to`"), "{error}");
    live.metadata.managed_fields = None;
    let error = FooApply::extract(&live, "op").unwrap_err().to_string();
    assert_eq!(
        error,
        "the object has no metadata.managedFields, which caches drop: read it with a client"
    );
}

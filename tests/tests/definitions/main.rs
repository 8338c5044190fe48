//! The definitions that the derive makes of Rust types: what `generate` refuses, and that both API servers accept the others and keep what
//! objects contain.

#![expect(clippy::unwrap_used, reason = "helpers of tests are tests")]
#![expect(
    dead_code,
    unreachable_pub,
    missing_docs,
    reason = "only the definitions of the types are used"
)]

mod controller_gen;
mod enums;
mod imported;
mod problems;
mod service_monitor;

use std::collections::BTreeMap;

use enums::enums_with_data_accept_what_serde_accepts;
use imported::fields_of_imported_types_are_kept;
use k8s_openapi::{
    api::{
        batch::v1::JobTemplateSpec,
        core::v1::{Affinity, PodSpec, PodTemplateSpec, ResourceRequirements, ServiceSpec, Volume},
        networking::v1::IngressSpec,
    },
    apimachinery::pkg::{
        api::resource::Quantity,
        apis::meta::v1::{Condition, LabelSelector, Time},
        util::intstr::IntOrString,
    },
};
use kubewright::{CustomKind, CustomResource, Informer};
use kubewright_testkit::Cluster;
use kubewright_tests::on_both_servers;
use problems::problems;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use service_monitor::generated_service_monitor_is_valid;

on_both_servers!(
    definitions_are_accepted_and_objects_keep_their_fields,
    generated_service_monitor_is_valid,
    enums_with_data_accept_what_serde_accepts,
    fields_of_imported_types_are_kept,
);

/// Defines a module with a kind that has these fields, and types.
macro_rules! kind {
    ($module:ident, { $($field:tt)* } $($types:item)*) => {
        mod $module {
            use super::*;

            #[derive(CustomResource, Informer, Clone, Debug, Deserialize, Serialize, JsonSchema)]
            #[kube(group = "demo.dev", version = "v1", kind = "Foo", namespaced)]
            pub struct FooSpec { $($field)* }

            $($types)*
        }
    };
}

kind!(any_value, { config: Value });
kind!(kept_value, { #[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))] config: Value });
kind!(any_values, { config: Vec<Value> });
kind!(kept_values, { config: Vec<Any>, more: BTreeMap<String, Vec<Any>> }
    #[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
    #[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
    pub struct Any(Value);
);
kind!(integer_keys, { ports: BTreeMap<u16, String> });
kind!(pattern_keys, { owners: BTreeMap<Name, String> }
    #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize, JsonSchema)]
    #[schemars(extend("pattern" = "^[a-z]+$"))]
    pub struct Name(String);
);
kind!(text_keys, { #[schemars(with = "BTreeMap<String, String>")] ports: BTreeMap<u16, String> });
kind!(tuple, { pair: (String, i32) });
kind!(tuple_struct, { rules: Vec<Pair> }
    #[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
    pub struct Pair(String, i32);
);
kind!(flattened_map, { rule: Rule }
    #[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
    pub struct Rule { name: String, #[serde(flatten)] others: BTreeMap<String, String> }
);
kind!(flattened_values, { rule: Rule }
    #[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
    pub struct Rule { name: String, #[serde(flatten)] others: BTreeMap<String, Value> }
);
kind!(pattern, { #[schemars(regex(pattern = "(?=a)b"))] host: String });
kind!(range, { #[schemars(range(min = 5, max = 2))] size: i32 });
kind!(long_text, { #[schemars(length(min = 5, max = 2))] name: String });
kind!(costly_rule, {
    #[schemars(extend("x-kubernetes-validations" = [{"rule": "self.all(x, self.exists_one(y, x == y))"}]))]
    names: Vec<String>
});
kind!(limited_rule, {
    #[schemars(length(max = 50), inner(length(max = 63)))]
    #[schemars(extend("x-kubernetes-validations" = [{"rule": "self.all(x, self.exists_one(y, x == y))"}]))]
    names: Vec<String>,
    #[schemars(extend("maxProperties" = 50))]
    #[schemars(extend("x-kubernetes-validations" = [{"rule": "self.all(k, self.exists_one(l, self[k] == self[l]))"}]))]
    labels: BTreeMap<String, Label>
}
    #[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
    #[schemars(extend("maxLength" = 63))]
    pub struct Label(String);
);
kind!(unsigned, { bytes: u64 });
kind!(sized, { counts: Option<Vec<usize>> });
kind!(small, { a: u8, b: u16, c: u32, d: i8, e: i64, f: isize, g: f32, h: bool, i: char });
kind!(recursive, { tree: Tree }
    #[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
    pub struct Tree { branches: Vec<Tree> }
);
kind!(kept_recursion, { tree: Tree }
    #[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
    pub struct Tree {
        #[schemars(with = "Value", extend("x-kubernetes-preserve-unknown-fields" = true))]
        branches: Vec<Tree>,
        #[schemars(with = "Option<Value>", extend("x-kubernetes-preserve-unknown-fields" = true))]
        trunk: Option<Box<Tree>>,
    }
);
kind!(misspelt_rule, {
    #[schemars(extend("x-kubernetes-validations" = [{"rule": "self.sice > 1"}]))]
    limits: Limits
}
    #[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
    pub struct Limits { size: i32 }
);
kind!(mixed_enum, { choice: Choice }
    #[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
    pub enum Choice { /// Without data.
        Nothing, /// With.
        Something { size: i32 } }
);
kind!(tagged_enum, { choice: Choice }
    #[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
    pub enum Choice { One { a: i32 }, Other { b: String } }
);

mod column {
    use super::*;

    #[derive(CustomResource, Informer, Clone, Debug, Deserialize, Serialize, JsonSchema)]
    #[kube(group = "demo.dev", version = "v1", kind = "Foo", namespaced)]
    #[kube(printcolumn(name = "Size", type_ = "integer", json_path = ".spec.sice"))]
    pub struct FooSpec {
        size: i32,
    }
}

#[test]
fn definitions_that_the_api_server_would_refuse_are_refused_with_type_and_fix() {
    let cases = [
        (
            problems::<any_value::Foo>(),
            "spec.config of FooSpec: values of any type are not allowed",
        ),
        (
            problems::<any_values::Foo>(),
            "spec.config[] of FooSpec: values of any type are not allowed, as `serde_json::Value` has: write a struct, or use a type of its own, \
             such as `struct Any(serde_json::Value)`, with `#[schemars(extend(\"x-kubernetes-preserve-unknown-fields\" = true))]`",
        ),
        (
            problems::<integer_keys::Foo>(),
            "spec.ports of FooSpec: a map whose keys are integers or have a pattern is not allowed: use a `BTreeMap<String, …>`, or give the \
             field the schema of one with `#[schemars(with = \"BTreeMap<String, …>\")]`",
        ),
        (
            problems::<pattern_keys::Foo>(),
            "spec.owners of FooSpec: a map whose keys are integers or have a pattern is not allowed",
        ),
        (
            problems::<misspelt_rule::Foo>(),
            "spec.limits of Limits: the CEL rule `self.sice > 1` does not compile (1:5: undefined field 'sice'): correct it in \
             `#[schemars(extend(\"x-kubernetes-validations\" = …))]` of the type or the field",
        ),
        (
            problems::<tuple::Foo>(),
            "spec.pair of FooSpec: tuples are not allowed",
        ),
        (
            problems::<tuple_struct::Foo>(),
            "spec.rules[] of FooSpec: tuples are not allowed",
        ),
        (
            problems::<flattened_map::Foo>(),
            "spec.rule of FooSpec: a flattened map beside other fields is not allowed",
        ),
        (
            problems::<pattern::Foo>(),
            "spec.host of FooSpec: the pattern \"(?=a)b\" is not a valid regular expression",
        ),
        (
            problems::<range::Foo>(),
            "spec.size of FooSpec: no value satisfies minimum 5 and maximum 2",
        ),
        (
            problems::<long_text::Foo>(),
            "spec.name of FooSpec: no value satisfies minLength 5 and maxLength 2",
        ),
        (
            problems::<costly_rule::Foo>(),
            "spec.names of FooSpec: the CEL rule `self.all(x, self.exists_one(y, x == y))` may cost more than 100 times what the API server \
             allows: limit spec.names with `#[schemars(length(max = …))]`, spec.names[] with `#[schemars(inner(length(max = …)))]`, or",
        ),
        (
            problems::<unsigned::Foo>(),
            "spec.bytes of FooSpec: Kubernetes has no integers of the size of `u64`",
        ),
        (
            problems::<sized::Foo>(),
            "spec.counts[] of FooSpec: Kubernetes has no integers of the size of `usize`",
        ),
        (
            problems::<column::Foo>(),
            "printer column Size: `.spec.sice`: `.spec` has no field `sice`: did you mean `size`?",
        ),
    ];
    for (problems, expected) in cases {
        assert_eq!(problems.len(), 1, "{expected}: {problems:?}");
        let expected = format!("Foo (demo.dev/v1): {expected}");
        assert!(problems[0].starts_with(&expected), "{expected}\n{}", problems[0]);
    }
}

#[test]
#[should_panic(expected = "spec.tree.branches[]: type Tree contains itself (Tree → Tree)")]
fn type_that_contains_itself_has_no_definition() {
    recursive::Foo::definition();
}

#[test]
#[should_panic(expected = "enum Choice has variants with and without data")]
fn enum_with_and_without_data_has_no_definition() {
    mixed_enum::Foo::definition();
}

/// Everything that embeds a type of Kubernetes.
#[derive(CustomResource, Informer, Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[kube(
    group = "demo.dev",
    version = "v1",
    kind = "Everything",
    namespaced,
    status = "EverythingStatus"
)]
#[serde(rename_all = "camelCase")]
pub struct EverythingSpec {
    template: PodTemplateSpec,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    job: Option<JobTemplateSpec>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    ingress: Option<IngressSpec>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    selector: Option<LabelSelector>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    affinity: Option<Affinity>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    resources: Option<ResourceRequirements>,
    #[serde(default)]
    volumes: Vec<Volume>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    size: Option<Quantity>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    port: Option<IntOrString>,
    written_as_null: Option<String>,
    mode_written_as_null: Option<Mode>,
    runner: Runner,
}

#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
pub enum Mode {
    Fast,
    Slow,
}

/// Types of Kubernetes whose fields are beside those of the operator.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
pub struct Runner {
    replicas: i32,
    #[serde(flatten)]
    pod: PodSpec,
    service: Exposure,
}

#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
pub struct Exposure {
    name: String,
    #[serde(flatten)]
    service: Option<ServiceSpec>,
}

#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
pub struct EverythingStatus {
    #[serde(default)]
    conditions: Vec<Condition>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    since: Option<Time>,
}

fn everything() -> Value {
    json!({
        "apiVersion": "demo.dev/v1", "kind": "Everything", "metadata": {"name": "a", "namespace": "default"},
        "spec": {
            "template": {
                "metadata": {"labels": {"app": "a"}, "annotations": {"b": "c"}},
                "spec": {
                    "containers": [{
                        "name": "main", "image": "nginx", "ports": [{"containerPort": 80, "protocol": "TCP"}],
                        "env": [{"name": "A", "valueFrom": {"secretKeyRef": {"key": "k", "name": "s"}}}],
                        "resources": {"limits": {"cpu": 1, "memory": "1Gi"}},
                        "livenessProbe": {"httpGet": {"port": "http", "path": "/"}},
                    }],
                    "imagePullSecrets": [{"name": "pull"}],
                    "volumes": [{"name": "config", "configMap": {"name": "c", "items": [{"key": "k", "path": "p"}]}}],
                },
            },
            "job": {"spec": {"backoffLimit": 2, "template": {"spec": {"containers": [{"name": "job"}], "restartPolicy": "Never"}}}},
            "ingress": {"rules": [{"host": "a.b", "http": {"paths": [{"path": "/", "pathType": "Prefix",
                "backend": {"service": {"name": "s", "port": {"number": 80}}}}]}}]},
            "selector": {"matchLabels": {"app": "a"}},
            "volumes": [],
            "size": "1500m",
            "port": 80,
            "writtenAsNull": null,
            "modeWrittenAsNull": null,
            "runner": {
                "replicas": 2,
                "containers": [{"name": "main"}, {"name": "other"}],
                "activeDeadlineSeconds": 30,
                "service": {"name": "s", "ports": [{"port": 80, "protocol": "TCP"}, {"port": 80, "protocol": "UDP"}]},
            },
        },
        "status": {"conditions": [{"type": "Ready", "status": "True", "reason": "Available", "message": "",
            "lastTransitionTime": "2026-01-02T03:04:05Z"}], "since": "2026-01-02T03:04:05Z"},
    })
}

/// Invalid objects are refused.
fn definitions_are_accepted_and_objects_keep_their_fields(cluster: &Cluster) {
    assert_eq!(problems::<Everything>(), [""; 0]);
    for accepted in [
        problems::<small::Foo>(),
        problems::<kept_value::Foo>(),
        problems::<kept_values::Foo>(),
        problems::<kept_recursion::Foo>(),
        problems::<text_keys::Foo>(),
        problems::<flattened_values::Foo>(),
        problems::<tagged_enum::Foo>(),
        problems::<limited_rule::Foo>(),
    ] {
        assert_eq!(accepted, [""; 0]);
    }
    // What the messages advise.
    cluster.install_crd(&kept_values::Foo::definition()).unwrap();
    let object = json!({
        "apiVersion": "demo.dev/v1", "kind": "Foo", "metadata": {"name": "a", "namespace": "default"},
        "spec": {"config": [1, "a", {"b": [true]}], "more": {"c": [2.5]}},
    });
    assert_eq!(cluster.apply(&object).unwrap()["spec"], object["spec"]);
    for definition in [kept_recursion::Foo::definition(), text_keys::Foo::definition()] {
        cluster.apply(&definition).unwrap();
    }
    cluster.install_crd(&Everything::definition()).unwrap();
    let object = everything();
    let created = cluster.apply(&object).unwrap();
    assert_eq!(created["spec"], object["spec"]);
    let object = cluster.patch_status(&object, &object["status"]).unwrap();
    assert_eq!(object["status"], everything()["status"]);

    let mut twice = everything();
    let ready = twice["status"]["conditions"][0].clone();
    twice["status"]["conditions"].as_array_mut().unwrap().push(ready);
    let mut wrong_reason = everything();
    wrong_reason["status"]["conditions"][0]["reason"] = json!("not a reason");
    for (object, expected) in [(twice, "Duplicate value"), (wrong_reason, "should match")] {
        let error = cluster
            .patch_status(&object, &object["status"])
            .unwrap_err()
            .to_string();
        assert!(error.contains(expected), "{error}");
    }
    let mut without_name = everything();
    without_name["spec"]["template"]["spec"]["containers"][0]["name"].take();
    let error = cluster.apply(&without_name).unwrap_err().to_string();
    assert!(error.contains("containers"), "{error}");

    // Lists of flattened types are maps, too.
    for (list, at) in [("containers", "/spec/runner"), ("ports", "/spec/runner/service")] {
        let mut duplicate = everything();
        let items = duplicate.pointer_mut(at).unwrap()[list].as_array_mut().unwrap();
        items.push(items[0].clone());
        let error = cluster.apply(&duplicate).unwrap_err().to_string();
        assert!(error.contains("duplicate"), "{error}");
    }
}

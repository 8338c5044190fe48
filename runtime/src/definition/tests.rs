use std::{collections::BTreeSet, panic::catch_unwind};

use k8s_openapi::{
    api::{
        batch::v1::JobTemplateSpec,
        core::v1::{PodSpec, PodTemplateSpec, ResourceRequirements, ServiceSpec},
        resource::v1beta1::DeviceClaim,
    },
    apiextensions_apiserver::pkg::apis::apiextensions::v1::JSON,
    apimachinery::pkg::{
        api::resource::Quantity,
        apis::meta::v1::{Condition, LabelSelector, Time},
        util::intstr::IntOrString,
    },
};
use kube::{CustomResource, CustomResourceExt};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::*;

/// What to run.
#[derive(CustomResource, Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[kube(
    group = "demo.dev",
    version = "v1",
    kind = "Runner",
    namespaced,
    status = "RunnerStatus"
)]
#[serde(rename_all = "camelCase")]
struct RunnerSpec {
    /// The pods.
    template: PodTemplateSpec,
    #[serde(skip_serializing_if = "Option::is_none")]
    job: Option<JobTemplateSpec>,
    #[serde(skip_serializing_if = "Option::is_none")]
    resources: Option<ResourceRequirements>,
    #[serde(skip_serializing_if = "Option::is_none")]
    selector: Option<LabelSelector>,
    #[serde(skip_serializing_if = "Option::is_none")]
    at: Option<Time>,
    #[serde(skip_serializing_if = "Option::is_none")]
    size: Option<Quantity>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_surge: Option<IntOrString>,
    #[serde(skip_serializing_if = "Option::is_none")]
    strategy: Option<Strategy>,
    rules: Vec<Rule>,
    by_name: BTreeMap<String, Rule>,
    #[serde(skip_serializing_if = "Option::is_none")]
    texts: Option<Vec<Option<String>>>,
    #[schemars(extend("nullable" = true))]
    marked: Option<String>,
    bytes: u8,
    count: u32,
    offset: isize,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    limit: Option<i32>,
    written: Option<i32>,
    #[serde(default)]
    rule: Option<Rule>,
    #[serde(default)]
    names: Vec<String>,
}

/// How to replace.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
enum Strategy {
    Recreate,
    Rolling,
}

#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
struct Rule {
    title: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 5))]
    weight: Option<u8>,
}

#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
struct RunnerStatus {
    #[serde(default)]
    conditions: Vec<Condition>,
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    history: Option<Vec<Condition>>,
}

fn runner() -> Value {
    let crd = definition::<Runner>(Runner::crd);
    serde_json::to_value(crd).unwrap()["spec"]["versions"][0]["schema"]["openAPIV3Schema"].take()
}

fn spec() -> Value {
    runner()["properties"]["spec"]["properties"].take()
}

#[test]
fn types_of_kubernetes_have_their_published_schema() {
    let spec = spec();
    assert_eq!(spec["template"]["description"], "The pods.");
    let pod = &spec["template"]["properties"]["spec"]["properties"];
    assert_eq!(pod["containers"]["x-kubernetes-list-map-keys"], json!(["name"]));
    let job = &spec["job"]["properties"]["spec"]["properties"];
    assert_eq!(job["backoffLimit"]["format"], "int32");
    assert_eq!(spec["selector"]["x-kubernetes-map-type"], "atomic");
    assert_eq!(spec["at"]["format"], "date-time");
    assert_eq!(spec["maxSurge"]["x-kubernetes-int-or-string"], true);
    assert!(spec["size"]["pattern"].is_string());
    assert_eq!(
        spec["resources"]["properties"]["claims"]["x-kubernetes-list-type"],
        "map"
    );
}

/// Fields of the operator beside those of types of Kubernetes.
#[derive(CustomResource, Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[kube(group = "demo.dev", version = "v1", kind = "Flat", namespaced)]
struct FlatSpec {
    /// How many.
    replicas: u8,
    #[serde(flatten)]
    pod: PodSpec,
    exposure: Exposure,
}

#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
struct Exposure {
    title: String,
    #[serde(flatten)]
    service: Option<ServiceSpec>,
}

#[test]
fn flattened_types_of_kubernetes_have_their_published_schema() {
    let crd = serde_json::to_value(definition::<Flat>(Flat::crd)).unwrap();
    let spec = &crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"];
    let published = kubewright_api_types::custom_resource_schema("core.v1.PodSpec").unwrap();
    let fields = &spec["properties"];
    let published = published["properties"].as_object().unwrap();
    // k8s-openapi may have another version of Kubernetes.
    let same = published
        .iter()
        .filter(|(name, schema)| fields[*name] == **schema);
    assert!(same.count() > 35, "{fields:#}");
    assert_eq!(
        fields["containers"]["x-kubernetes-list-map-keys"],
        json!(["name"])
    );
    assert_eq!(fields["replicas"]["maximum"], 255.0);
    assert_eq!(spec["required"], json!(["containers", "exposure", "replicas"]));
    let exposure = &fields["exposure"];
    assert_eq!(exposure["required"], json!(["title"]));
    let ports = &exposure["properties"]["ports"];
    assert_eq!(ports["x-kubernetes-list-map-keys"], json!(["port", "protocol"]));
    assert_eq!(ports["items"]["properties"]["protocol"]["default"], "TCP");
    assert_eq!(exposure["properties"]["title"], json!({"type": "string"}));
}

/// Types that the table of published schemas does not have.
#[derive(CustomResource, Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[kube(group = "demo.dev", version = "v1", kind = "Unusual", namespaced)]
struct UnusualSpec {
    config: JSON,
    claim: DeviceClaim,
}

#[test]
fn types_of_kubernetes_without_a_published_schema_have_that_of_k8s_openapi() {
    let definition = json!(definition::<Unusual>(Unusual::crd));
    let schema = &definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"];
    let fields = &schema["properties"];
    // Any value, not only objects.
    let config = &fields["config"];
    assert_eq!(config["x-kubernetes-preserve-unknown-fields"], true, "{config}");
    assert!(config["type"].is_null(), "{config}");
    let claim = &fields["claim"]["properties"];
    assert_eq!(
        claim["requests"]["items"]["properties"]["name"]["type"], "string",
        "{claim}"
    );
    assert!(
        !schema.to_string().contains("$ref") && !schema.to_string().contains("io.k8s"),
        "{schema}"
    );
}

#[test]
fn conditions_are_maps_by_type_unless_the_field_says_otherwise() {
    let status = runner()["properties"]["status"]["properties"].take();
    assert_eq!(status["conditions"]["x-kubernetes-list-type"], "map");
    assert_eq!(
        status["conditions"]["x-kubernetes-list-map-keys"],
        json!(["type"])
    );
    assert_eq!(status["conditions"]["default"], json!([]));
    assert_eq!(status["history"]["x-kubernetes-list-type"], "atomic");
    assert_eq!(status["history"]["x-kubernetes-list-map-keys"], Value::Null);
}

#[test]
fn only_items_and_fields_that_may_be_written_as_null_are_nullable() {
    fn nullable(schema: &Value, path: &str, found: &mut Vec<String>) {
        if schema["nullable"] == true {
            found.push(path.to_owned());
        }
        for (key, value) in schema.as_object().into_iter().flatten() {
            nullable(value, &format!("{path}/{key}"), found);
        }
    }
    let mut found = Vec::new();
    nullable(&runner()["properties"], "", &mut found);
    let found: Vec<_> = found
        .iter()
        .filter_map(|path| path.strip_prefix("/spec/properties"))
        .collect();
    assert_eq!(found, ["/marked", "/rule", "/texts/items", "/written"]);
    assert_eq!(spec()["limit"], json!({ "type": "integer", "format": "int32" }));
}

#[test]
fn enumerations_and_structs_of_the_operator_are_inline() {
    let spec = spec();
    assert_eq!(
        spec["strategy"],
        json!({ "type": "string", "enum": ["Recreate", "Rolling"], "description": "How to replace." })
    );
    let rule = json!({
        "type": "object", "required": ["title"],
        "properties": {
            "title": { "type": "string" },
            "weight": { "type": "integer", "format": "int32", "minimum": 1.0, "maximum": 5.0 },
        },
    });
    assert_eq!(spec["rules"], json!({ "type": "array", "items": rule }));
    assert_eq!(
        spec["byName"],
        json!({ "type": "object", "additionalProperties": rule })
    );
}

#[test]
fn integers_have_known_formats_and_limits() {
    let spec = spec();
    assert_eq!(
        spec["bytes"],
        json!({ "type": "integer", "format": "int32", "minimum": 0.0, "maximum": 255.0 })
    );
    assert_eq!(
        spec["count"],
        json!({ "type": "integer", "format": "int64", "minimum": 0.0, "maximum": 4_294_967_295.0 })
    );
    assert_eq!(spec["offset"], json!({ "type": "integer", "format": "int64" }));
}

#[test]
fn there_are_no_titles_and_no_marks() {
    let text = runner().to_string();
    assert!(!text.contains("x-kubewright"), "{text}");
    assert_eq!(
        text.matches("\"title\":").count(),
        3,
        "the fields of that name, and no others"
    );
    assert_eq!(runner()["title"], Value::Null);
}

#[test]
fn rust_types_have_their_paths() {
    let types = rust_types::<Runner>();
    let of = |path: &str| types.get(path).map(String::as_str);
    assert_eq!(of("spec"), Some("RunnerSpec"));
    assert_eq!(of("status"), Some("RunnerStatus"));
    assert_eq!(of("spec.rules[]"), Some("Rule"));
    assert_eq!(of("spec.byName[]"), Some("Rule"));
    assert_eq!(of("spec.strategy"), Some("Strategy"));
    assert_eq!(of("spec.template"), None);
}

#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
struct Tree {
    branches: Vec<Branch>,
}

#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
struct Branch {
    tree: Option<Box<Tree>>,
}

#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
struct Forest {
    tree: Tree,
}

#[test]
fn type_that_contains_itself_is_an_error_with_its_field() {
    let error = catch_unwind(schema::<Forest>).unwrap_err();
    assert_eq!(
        error.downcast_ref::<String>().unwrap(),
        "tree.branches[].tree: type Tree contains itself (Tree → Branch → Tree), and schemas of custom resources cannot: accept any value in \
         this field with `#[schemars(with = \"serde_json::Value\", extend(\"x-kubernetes-preserve-unknown-fields\" = true))]` \
         (`Option<serde_json::Value>` for an `Option`), or limit the depth with types of their own"
    );
}

#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
enum Choice {
    Nothing,
    Something { size: i32 },
}

#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
struct Chosen {
    choice: Option<Choice>,
}

#[test]
#[should_panic(expected = "enum Choice has variants with and without data")]
fn enum_with_and_without_data_is_an_error_with_its_name() {
    schema::<Chosen>();
}

/// What to label.
#[derive(CustomResource, Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[kube(group = "demo.dev", version = "v1", kind = "Tagged", namespaced)]
struct TaggedSpec {
    tags: BTreeSet<String>,
    sizes: BTreeSet<i32>,
    lists: BTreeSet<Vec<String>>,
    #[schemars(extend("uniqueItems" = true, "x-kubernetes-list-type" = "atomic"))]
    atomic: Vec<String>,
    optional: BTreeSet<Option<String>>,
}

#[test]
fn sets_of_scalars_are_lists_without_duplicates() {
    let definition = json!(definition::<Tagged>(Tagged::crd));
    let schema = &definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"];
    let list_type = |field: &str| schema["properties"][field]["x-kubernetes-list-type"].clone();
    assert_eq!(
        (list_type("tags"), list_type("sizes")),
        (json!("set"), json!("set"))
    );
    assert_eq!(list_type("lists"), Value::Null);
    assert_eq!(list_type("atomic"), "atomic");
    assert_eq!(list_type("optional"), Value::Null);
    assert!(!schema.to_string().contains("uniqueItems"), "{schema}");
}

#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
struct Misspelt {
    #[schemars(extend("x-kubernetes-list-typ" = "set"))]
    hosts: Vec<String>,
    rules: BTreeMap<String, MisspeltRule>,
    /// schemars' own keywords, and extensions of other programs.
    #[schemars(example = &"a", extend("x-enum-names" = ["a"], "deprecated" = true))]
    known: String,
    #[schemars(extend("x-kubernetes-map-typ" = "atomic"))]
    template: PodTemplateSpec,
}

#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
struct MisspeltRule {
    #[schemars(extend("minimun" = 1, "default" = {"minimun": 1}))]
    size: Option<i32>,
    #[schemars(extend("widget" = "text"))]
    text: String,
    #[schemars(extend("x-kubernetes-validations" = [{"rule": "true", "mesage": "no"}]))]
    checked: String,
    #[schemars(extend("x-kubernets-int-or-string" = true))]
    port: Option<Choices>,
}

#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(tag = "kind")]
enum Choices {
    One {
        #[schemars(extend("maxLenght" = 1))]
        name: String,
    },
}

#[test]
fn unknown_keywords_are_errors_with_their_fields_and_the_most_similar_ones() {
    let error = catch_unwind(schema::<Misspelt>).unwrap_err();
    let expected = [
        "hosts of Misspelt has the unknown keyword `x-kubernetes-list-typ`: did you mean `x-kubernetes-list-type`?",
        "rules[].checked of MisspeltRule has the unknown field of x-kubernetes-validations `mesage`: did you mean `message`?",
        "rules[].port of MisspeltRule has the unknown keyword `x-kubernets-int-or-string`: did you mean `x-kubernetes-int-or-string`?",
        "rules[].port.name of Choices has the unknown keyword `maxLenght`: did you mean `maxLength`?",
        "rules[].size of MisspeltRule has the unknown keyword `minimun`: did you mean `minimum`?",
        "rules[].text of MisspeltRule has the unknown keyword `widget`: remove it",
        "template of Misspelt has the unknown keyword `x-kubernetes-map-typ`: did you mean `x-kubernetes-map-type`?",
    ];
    assert_eq!(crate::panics::message(&*error), expected.join("; "));
}

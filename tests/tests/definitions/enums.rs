//! Enums with data in a custom resource: both API servers accept and refuse the objects that serde does.

use kubewright::{CustomKind, CustomResource, Informer, unstable::Random};
use kubewright_cli::samples::minimal_value;
use kubewright_testkit::Cluster;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::problems::problems;

/// Random objects that are applied.
const CASES: u64 = 40;

#[derive(CustomResource, Informer, Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[kube(group = "demo.dev", version = "v1", kind = "Backup", namespaced)]
pub struct BackupSpec {
    source: Source,
    sizes: Vec<Size>,
    target: Target,
    port: Port,
    choice: Choice,
    schedule: Schedule,
}

/// Internally tagged.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum Source {
    /// A repository.
    Git {
        url: String,
        branch: Option<String>,
    },
    Bucket(Bucket),
    Empty,
}

#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
pub struct Bucket {
    url: String,
    #[serde(default)]
    size: i32,
}

/// Adjacently tagged.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(tag = "type", content = "data")]
pub enum Size {
    Small { count: u8 },
    Large { count: i32, zone: String },
    Unknown,
}

/// Untagged.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Target {
    Named { name: String },
    Counted { count: i32 },
}

#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Port {
    Number(u16),
    Name(String),
}

/// Externally tagged.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
pub enum Choice {
    Number(i32),
    Named { name: String },
}

/// Flattens an enum.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
pub struct Schedule {
    zone: String,
    #[serde(flatten)]
    when: When,
}

#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(tag = "kind", deny_unknown_fields)]
pub enum When {
    Daily { hour: i32 },
    Hourly,
}

fn backup(name: &str, spec: &Value) -> Value {
    json!({"apiVersion": "demo.dev/v1", "kind": "Backup", "metadata": {"name": name, "namespace": "default"}, "spec": spec})
}

/// A valid spec with another value of a field.
fn spec_with(field: &str, value: &Value) -> Value {
    let mut spec = json!({
        "source": {"type": "empty"}, "sizes": [], "target": {"name": "a"}, "port": 80, "choice": {"Number": 1},
        "schedule": {"zone": "a", "kind": "Hourly"},
    });
    spec[field] = value.clone();
    spec
}

pub(crate) fn enums_with_data_accept_what_serde_accepts(cluster: &Cluster) {
    assert_eq!(problems::<Backup>(), [""; 0]);
    let definition = Backup::definition();
    cluster.install_crd(&definition).unwrap();
    let cases = [
        (
            "source",
            json!({"type": "git", "url": "u", "branch": "main"}),
            true,
        ),
        ("source", json!({"type": "git", "url": "u", "branch": null}), true),
        ("source", json!({"type": "git", "branch": "main"}), false),
        ("source", json!({"type": "bucket", "url": "u", "size": 1}), true),
        ("source", json!({"type": "bucket", "url": "u"}), true),
        ("source", json!({"type": "bucket", "size": 1}), false),
        ("source", json!({"type": "empty"}), true),
        ("source", json!({"type": "other"}), false),
        ("source", json!({"url": "u"}), false),
        (
            "sizes",
            json!([{"type": "Small", "data": {"count": 255}}, {"type": "Unknown"}]),
            true,
        ),
        ("sizes", json!([{"type": "Small", "data": {"count": 256}}]), false),
        (
            "sizes",
            json!([{"type": "Large", "data": {"count": 256, "zone": "a"}}]),
            true,
        ),
        ("sizes", json!([{"type": "Large", "data": {"count": 256}}]), false),
        ("sizes", json!([{"type": "Large"}]), false),
        ("target", json!({"count": 1}), true),
        ("target", json!({}), false),
        ("port", json!("http"), true),
        ("port", json!(65536), false),
        ("port", json!(true), false),
        ("choice", json!({"Named": {"name": "a"}}), true),
        ("choice", json!({"Named": {"name": "a"}, "Number": 1}), false),
        ("choice", json!({}), false),
        ("schedule", json!({"zone": "a", "kind": "Daily", "hour": 3}), true),
        ("schedule", json!({"zone": "a", "kind": "Daily"}), false),
        ("schedule", json!({"zone": "a"}), false),
    ];
    for (at, (field, value, is_valid)) in cases.into_iter().enumerate() {
        let object = backup(&format!("case-{at}"), &spec_with(field, &value));
        let decoded = serde_json::from_value::<Backup>(object.clone());
        assert_eq!(decoded.is_ok(), is_valid, "{value}: {decoded:?}");
        match cluster.apply(&object) {
            Ok(created) => assert!(is_valid && created["spec"] == object["spec"], "{created:#}"),
            Err(error) => assert!(!is_valid && error.to_string().contains(field), "{value}: {error}"),
        }
    }
    let schema = serde_json::to_value(&definition.spec.versions[0].schema).unwrap();
    let spec = &schema["openAPIV3Schema"]["properties"]["spec"];
    let mut random = Random::new(1);
    let mut specs: Vec<Value> = (0..CASES).map(|_| random.value(spec)).collect();
    specs.push(minimal_value(spec));
    for (at, spec) in specs.iter().enumerate() {
        let object = backup(&format!("random-{at}"), spec);
        serde_json::from_value::<Backup>(object.clone()).unwrap_or_else(|error| panic!("{error}: {spec:#}"));
        let created = cluster
            .apply(&object)
            .unwrap_or_else(|error| panic!("{error}: {spec:#}"));
        assert_eq!(created["spec"], *spec);
    }
}

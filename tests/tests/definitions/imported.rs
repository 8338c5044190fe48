//! The structs that `kubewright import` makes decode and encode what their definitions accept, without loss.

use std::{path::Path, sync::LazyLock};

use kubewright::{CustomKind, CustomResource, Informer, Kind, unstable::Random};
use kubewright_testkit::Cluster;
use kubewright_tests::read_manifests;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

// It is formatted as in a project.
#[rustfmt::skip]
#[path = "../../golden/imported/mod.rs"]
mod kinds;

use kinds::{
    apiextensions_crossplane_io::{composition::Composition, environment_config::EnvironmentConfig},
    cert_manager_io::certificate::{Certificate, CertificateSpec},
    gateway_networking_k8s_io::gateway::Gateway,
    kueue_x_k8s_io::{cluster_queue::ClusterQueue, resource_flavor::ResourceFlavor},
    monitoring_coreos_com::service_monitor::ServiceMonitor,
};

/// A kind of one's own with a field of an imported type. The field has the attribute that docs/src/importing.md recommends.
#[derive(CustomResource, Informer, Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[kube(group = "demo.dev", version = "v1", kind = "Issuance", namespaced)]
pub struct IssuanceSpec {
    // In one line, as in the book.
    #[rustfmt::skip]
    #[schemars(with = "serde_json::Value", extend("x-kubernetes-preserve-unknown-fields" = true))]
    certificate: CertificateSpec,
}

pub(crate) fn fields_of_imported_types_are_kept(cluster: &Cluster) {
    let book = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/src/importing.md"));
    let (_, attribute) = book.split_once("`#[schemars(").expect("the attribute");
    let attribute = attribute.split('`').next().expect("its text");
    let of_field = format!("    #[schemars({attribute}\n    certificate: ");
    assert!(include_str!("imported.rs").contains(&of_field), "{of_field}");

    cluster.install_crd(&Issuance::definition()).unwrap();
    let mut samples = documents(false).into_iter();
    let sample = samples.find(|sample| sample["kind"] == "Certificate").unwrap();
    let object = json!({
        "apiVersion": "demo.dev/v1", "kind": "Issuance", "metadata": {"name": "imported", "namespace": "default"},
        "spec": {"certificate": sample["spec"]},
    });
    let stored = cluster.apply(&object).unwrap();
    assert_eq!(stored["spec"], object["spec"]);
    let decoded: Issuance = serde_json::from_value(stored).unwrap();
    assert_eq!(serde_json::to_value(decoded.spec).unwrap(), object["spec"]);
}

/// Random objects of each kind.
const CASES: u64 = 60;

/// The definitions and the samples in `tests/imported`.
static DOCUMENTS: LazyLock<Vec<Value>> =
    LazyLock::new(|| read_manifests(&Path::new(env!("CARGO_MANIFEST_DIR")).join("imported")));

/// Returns the definitions, or the samples.
pub(crate) fn documents(are_definitions: bool) -> Vec<&'static Value> {
    let mut documents: Vec<_> = DOCUMENTS.iter().collect();
    documents.retain(|document| (document["kind"] == "CustomResourceDefinition") == are_definitions);
    documents
}

/// Decodes and encodes an object, and compares them.
fn round_trip<K: Kind + Serialize>(object: &Value) {
    let decoded: K =
        serde_json::from_value(object.clone()).unwrap_or_else(|error| panic!("{error}: {object:#}"));
    assert_eq!(serde_json::to_value(&decoded).unwrap(), *object);
}

/// Calls a function with each imported kind.
macro_rules! for_each_kind {
    ($function:ident) => {
        [
            $function::<Certificate>(),
            $function::<ClusterQueue>(),
            $function::<Composition>(),
            $function::<EnvironmentConfig>(),
            $function::<Gateway>(),
            $function::<ResourceFlavor>(),
            $function::<ServiceMonitor>(),
        ]
    };
}

fn round_trip_samples<K: Kind + Serialize>() -> usize {
    let info = K::info();
    let mut samples = documents(false);
    samples.retain(|sample| sample["apiVersion"] == info.api_version() && sample["kind"] == *info.kind);
    for sample in &samples {
        round_trip::<K>(sample);
    }
    samples.len()
}

#[test]
fn samples_are_kept() {
    let counts = for_each_kind!(round_trip_samples);
    assert!(counts.iter().all(|count| *count > 0), "{counts:?}");
    assert_eq!(counts.iter().sum::<usize>(), documents(false).len());
}

/// Returns the number of objects that differ from all before.
fn round_trip_random<K: Kind + Serialize>() -> usize {
    let info = K::info();
    let definitions = documents(true);
    let mut definition = definitions.into_iter();
    let definition = definition
        .find(|crd| crd["metadata"]["name"] == info.group_resource())
        .expect("its definition");
    let schema = &definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
    let mut objects = std::collections::BTreeSet::new();
    for seed in 0..CASES {
        let mut object = Random::new(seed).value(schema);
        object["apiVersion"] = json!(info.api_version());
        object["kind"] = json!(info.kind);
        object["metadata"] = json!({"name": "random", "labels": {"a": "b"}});
        round_trip::<K>(&object);
        objects.insert(object.to_string());
    }
    objects.len()
}

#[test]
fn random_objects_are_kept() {
    let counts = for_each_kind!(round_trip_random);
    assert!(counts.iter().all(|count| *count > 10), "{counts:?}");
}

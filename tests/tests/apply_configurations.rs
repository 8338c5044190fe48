//! Typed apply: the extracted fields of a manager equal its last intent, beside other managers, on both API servers.

#![expect(clippy::unwrap_used, reason = "helpers of tests are tests")]

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::ResourceExt as _;
use kubewright::{
    ApplyConfiguration, CustomKind, CustomResource, Informer, NamespacedName,
    client::{Apply, ApplyStatus, Connection, Get},
    controller::conditions::condition,
};
use kubewright_testkit::Cluster;
use kubewright_tests::on_both_servers;
use rand::{RngExt as _, SeedableRng as _, rngs::StdRng};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

const STEPS: usize = 40;

on_both_servers!(last_intent_of_each_manager_is_extracted);

#[derive(CustomResource, Informer, ApplyConfiguration, Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[kube(
    group = "apply.dev",
    version = "v1",
    kind = "Foo",
    namespaced,
    status = "FooStatus"
)]
#[serde(rename_all = "camelCase")]
struct FooSpec {
    max_replicas: Option<i32>,
    #[serde(default)]
    labels: BTreeMap<String, String>,
    #[serde(default)]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["name"]))]
    #[apply(nested)]
    ports: Vec<Port>,
    #[serde(default)]
    #[schemars(extend("x-kubernetes-list-type" = "set"))]
    zones: Vec<String>,
    #[serde(default)]
    arguments: Vec<String>,
    #[apply(nested)]
    nested: Option<Box<Nested>>,
}

#[derive(ApplyConfiguration, Clone, Debug, Deserialize, Serialize, JsonSchema)]
struct Port {
    name: String,
    number: Option<u16>,
    comment: Option<String>,
}

#[derive(ApplyConfiguration, Clone, Debug, Deserialize, Serialize, JsonSchema)]
struct Nested {
    a: Option<bool>,
    b: Option<f64>,
}

#[derive(ApplyConfiguration, Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct FooStatus {
    ready_replicas: Option<i32>,
    #[serde(default)]
    conditions: Vec<Condition>,
}

type Client = FooClient<(Apply, ApplyStatus, Get)>;

/// A random intent. Values follow from the fields' names, so that two managers never disagree. No list or map is empty: the owner of an empty
/// one loses it to the first that adds to it.
fn intent(name: &NamespacedName, rng: &mut StdRng) -> FooApply {
    let some = |rng: &mut StdRng, all: [&'static str; 3]| -> Option<Vec<&str>> {
        let some: Vec<_> = all.into_iter().filter(|_| rng.random_range(0..3) == 0).collect();
        (!some.is_empty()).then_some(some)
    };
    let mut intent = FooApply::named(name);
    for label in some(rng, ["a", "b", "c"]).into_iter().flatten() {
        intent = intent.label(label, "same");
    }
    if rng.random() {
        intent = intent
            .annotation("apply.dev/note", "same")
            .finalizer("apply.dev/hold");
    }
    let mut spec = FooSpecApply::new().max_replicas(3);
    if let Some(keys) = some(rng, ["a", "b", "c"]) {
        spec = spec.labels(keys.into_iter().map(|key| (key, "same")));
    }
    if let Some(names) = some(rng, ["http", "dns", "ssh"]) {
        let ports = names.into_iter().map(|name| {
            let port = PortApply::new().name(name);
            if rng.random() { port.number(80) } else { port }
        });
        spec = spec.ports(ports.collect::<Vec<_>>());
    }
    if let Some(zones) = some(rng, ["x", "y", "z"]) {
        spec = spec.zones(zones);
    }
    if rng.random() {
        spec = spec.arguments(["--all"]);
    }
    if rng.random() {
        let nested = NestedApply::new().a(true);
        spec = spec.nested(if rng.random() { nested.b(0.5) } else { nested });
    }
    intent.spec(spec)
}

/// Sorts the lists whose elements the API server merges: it keeps the order that they had.
fn sorted(mut intent: FooApply) -> FooApply {
    if let Some(spec) = &mut intent.spec {
        spec.zones.iter_mut().for_each(|zones| zones.sort());
        let ports = spec.ports.iter_mut();
        ports.for_each(|ports| ports.sort_by_key(|port| port.name.clone()));
    }
    intent
}

fn last_intent_of_each_manager_is_extracted(cluster: &Cluster) {
    cluster.install_crd(&Foo::definition()).unwrap();
    cluster.create_namespace("typed-apply").unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let mut clients = Vec::new();
        for manager in ["one", "two", "three"] {
            let config = cluster.admin().config().await.unwrap();
            let connection = Connection::connect(config, manager).unwrap();
            clients.push((manager, Client::new(connection.with_field_manager(manager))));
        }
        check_random_intents(&clients).await;
        check_taken_fields(&clients).await;
        check_status(&clients).await;
    });
}

async fn check_random_intents(clients: &[(&str, Client)]) {
    let name = NamespacedName::namespaced("typed-apply", "random");
    let mut rng = StdRng::seed_from_u64(23);
    let mut last: BTreeMap<&str, FooApply> = BTreeMap::new();
    for step in 0..STEPS {
        let (manager, client) = &clients[rng.random_range(0..clients.len())];
        let intent = intent(&name, &mut rng);
        client.apply(&intent).await.unwrap();
        last.insert(manager, sorted(intent));
        let live = client.get(&name).await.unwrap();
        for (manager, last) in &last {
            let extracted = sorted(FooApply::extract(&live, manager).unwrap());
            assert_eq!(extracted, *last, "step {step}, manager {manager}\n{live:?}");
        }
    }
    let live = clients[0].1.get(&name).await.unwrap();
    // Applying what was extracted changes nothing.
    let extracted = FooApply::extract(&live, "one").unwrap();
    let applied = clients[0].1.apply(&extracted).await.unwrap();
    assert_eq!(applied.resource_version(), live.resource_version());
    assert_eq!(FooApply::extract(&live, "nobody").unwrap(), FooApply::of(&live));
}

/// A manager that takes over a field with force is its only owner.
async fn check_taken_fields(clients: &[(&str, Client)]) {
    let foo = || FooApply::namespaced("typed-apply", "taken");
    let intent = foo().spec(FooSpecApply::new().max_replicas(1).arguments(["a"]));
    clients[0].1.apply(&intent).await.unwrap();
    let other = foo().spec(FooSpecApply::new().max_replicas(2));
    let live = clients[1].1.apply(&other).await.unwrap();
    let left = foo().spec(FooSpecApply::new().arguments(["a"]));
    assert_eq!(FooApply::extract(&live, "one").unwrap(), left);
    assert_eq!(FooApply::extract(&live, "two").unwrap(), other);
}

async fn check_status(clients: &[(&str, Client)]) {
    let spec = FooSpecApply::new().max_replicas(1);
    let intent = FooApply::namespaced("typed-apply", "status").spec(spec);
    let client = &clients[0].1;
    let live = client.apply(&intent).await.unwrap();
    let ready = condition(&live, "Ready", true, "Available", "");
    let status = FooApply::of(&live).status(FooStatusApply::new().ready_replicas(1).conditions([ready]));
    let live = client.apply_status(&status).await.unwrap();
    assert_eq!(live.status.as_ref().unwrap().ready_replicas, Some(1));
    assert_eq!(FooApply::extract(&live, "one").unwrap(), intent);
    // The API server keeps times without fractions of a second.
    let stored = FooApply::of(&live).status(live.status.clone().unwrap());
    assert_eq!(FooApply::extract_status(&live, "one").unwrap(), stored);
}

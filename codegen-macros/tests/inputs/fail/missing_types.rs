use kubewright::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
enum Phase {
    Running,
}

#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
struct Port {
    name: String,
}

#[derive(CustomResource, Informer, Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[kube(group = "demo.dev", version = "v1", kind = "Foo", namespaced, status = "Port")]
#[informer(index(a = "spec.port.name", b = "spec.ports[*].name", c = "metadata.labels['a']", d = "status.name", e = "spec"))]
#[informer(index(f = "spec.phase", g = "spec.maybePhase", h = "spec.wide", i = "spec.tags", j = "spec.phase[*]", k = "spec.tags[*][*]"))]
#[informer(index(l = "spec.hidden", m = "spec.converted", n = "spec.float", o = "spec.text"))]
#[serde(rename_all = "camelCase")]
struct FooSpec {
    port: Port,
    ports: Vec<Port>,
    phase: Phase,
    maybe_phase: Option<Phase>,
    wide: Option<u64>,
    tags: Vec<String>,
    #[serde(skip)]
    hidden: String,
    #[serde(default, deserialize_with = "converted")]
    converted: String,
    float: f64,
    text: Box<str>,
}

fn converted<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    String::deserialize(deserializer)
}

fn main() {}

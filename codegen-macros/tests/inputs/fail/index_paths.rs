use kubewright::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(CustomResource, Informer, Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[kube(group = "demo.dev", version = "v1", kind = "Foo", namespaced)]
#[informer(index(a = "", b = ".spec.name", c = "$.spec.name", d = "spec.", e = "spec..name", f = "spec.tags[0]"))]
#[informer(index(g = "spec.tags[", h = "metadata.labels['a", i = "metadata.labels[\"a\"]", j = "spec.na me", k = "spec name"))]
#[informer(index(l = "name", m: String = "deployment.name", n: String = "status.phase", o: String = "metadata.managedFields[*].manager"))]
struct FooSpec {
    name: String,
    tags: Vec<String>,
}

#[derive(CustomResource, Informer, Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[kube(group = "demo.dev", version = "v1", kind = "Bar", namespaced, no_spec)]
#[informer(index(by_name = "spec.name"))]
struct BarSpec {
    name: String,
}

fn main() {}

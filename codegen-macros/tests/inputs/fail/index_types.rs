use kubewright::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(CustomResource, Informer, Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[kube(group = "demo.dev", version = "v1", kind = "Foo", namespaced)]
#[informer(index(a: f64 = "spec.x", b: u64 = "spec.x", c: usize = "spec.x", d: i128 = "spec.x"))]
#[informer(index(e: Option<String> = "spec.x", f: Vec<String> = "spec.x", g: &'static str = "spec.x", h: str = "spec.x"))]
#[informer(index(i: (String, String) = "spec.x", j: [u8; 2] = "spec.x", k: Box<str> = "spec.x", l: Vec = "spec.x"))]
#[informer(index(m: char = "spec.x", n: impl AsRef<str> = "spec.x", o: module::Generic<u8>::Inner = "spec.x"))]
struct FooSpec {
    x: String,
}

fn main() {}

use std::collections::BTreeSet;

use kubewright::{k8s_openapi::api::core::v1::Pod, prelude::*};

#[derive(Projection)]
#[projection(of = Pod)]
struct Paths {
    node_name: Option<String>,
    #[projection(default)]
    r#type: String,
    #[projection(path = "$.spec.a")]
    dollar: String,
    #[projection(path = "spec.a[0]")]
    number: String,
    #[projection(path = "")]
    empty: String,
    #[projection(path = "metadata.managedFields[*].manager")]
    managers: Vec<String>,
}

#[derive(Projection)]
#[projection(of = Pod)]
struct Attributes {
    #[projection(path = "spec.a", path = "spec.b")]
    twice: String,
    #[projection(path = "spec.c")]
    #[projection(path = "spec.d")]
    again: String,
    #[projection(pth = "spec.e")]
    misspelt: String,
    #[projection(path = spec.f)]
    bare: String,
    #[projection("spec.g")]
    alone: String,
    #[projection(path = "spec.h", default = "1")]
    value: i32,
}

type Restarts = Vec<i32>;

#[derive(Projection)]
#[projection(of = Pod)]
struct Lists {
    #[projection(path = "spec.a[*].b")]
    one: String,
    #[projection(path = "spec.c[*]")]
    option: Option<Vec<String>>,
    #[projection(path = "spec.d[*].e[*]")]
    set: BTreeSet<String>,
    #[projection(path = "spec.f[*]")]
    alias: Restarts,
    #[projection(path = "spec.g[*]")]
    array: [u8; 2],
}

#[derive(Projection)]
#[projection(of = Pod)]
struct Conflicts {
    #[projection(path = "metadata.labels['a']")]
    a: Option<String>,
    #[projection(path = "metadata.labels.a")]
    same: Option<String>,
    #[projection(path = "metadata")]
    around: Option<String>,
    #[projection(path = "metadata.labels.a.b")]
    within: Option<String>,
    #[projection(path = "metadata.labels[*].a")]
    r#list: Vec<String>,
}

fn main() {}

use kubewright::{k8s_openapi::api::core::v1::Pod, prelude::*};

#[derive(Projection)]
struct NoAttribute {
    #[projection(path = "spec.nodeName")]
    node: Option<String>,
}

#[derive(Projection)]
#[projection(crate = "kubewright")]
struct NoKind {
    #[projection(path = "spec.nodeName")]
    node: Option<String>,
}

#[derive(Projection)]
#[projection(of = Pod, off = Pod)]
struct Misspelt {
    #[projection(path = "spec.nodeName")]
    node: Option<String>,
}

#[derive(Projection)]
#[projection(of = 1)]
struct Number {
    #[projection(path = "spec.nodeName")]
    node: Option<String>,
}

#[derive(Projection)]
#[projection(of = Pod)]
enum Enum {
    Node(String),
}

#[derive(Projection)]
#[projection(of = Pod)]
union Union {
    a: u8,
}

#[derive(Projection)]
#[projection(of = Pod)]
struct Tuple(#[projection(path = "spec.nodeName")] String);

#[derive(Projection)]
#[projection(of = Pod)]
struct Unit;

#[derive(Projection)]
#[projection(of = Pod)]
struct Empty {}

#[derive(Projection)]
#[projection(of = Pod)]
struct Generic<T> {
    #[projection(path = "spec.nodeName")]
    node: T,
}

#[derive(Projection)]
#[projection(of = Pod)]
struct Borrowed<'a> {
    #[projection(path = "spec.nodeName")]
    node: &'a str,
}

// Code that uses an invalid projection has no follow-up errors.
fn is_projection<P: Projection>() {}

fn main() {
    is_projection::<NoAttribute>();
    is_projection::<Number>();
    is_projection::<Tuple>();
}

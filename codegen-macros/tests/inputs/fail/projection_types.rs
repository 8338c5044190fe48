use kubewright::{k8s_openapi::api::core::v1::Pod, prelude::*};

struct Opaque;

#[derive(Projection)]
#[projection(of = Pod)]
struct NotRead {
    #[projection(path = "spec.nodeName")]
    node: Opaque,
    #[projection(path = "spec.containers[*].image")]
    images: Vec<Opaque>,
}

#[derive(Projection)]
#[projection(of = Pod)]
struct NoDefault {
    #[projection(path = "spec.nodeName", default)]
    node: std::net::Ipv4Addr,
}

#[derive(Projection)]
#[projection(of = Opaque)]
struct NoKind {
    #[projection(path = "spec.nodeName")]
    node: String,
}

fn main() {}

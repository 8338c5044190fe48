use k8s_openapi::api::core::v1::ConfigMap;
use kubewright::{client::Connection, prelude::*};

fn main() {
    let connect = || -> Connection { unreachable!() };
    let _ = TypedClient::<ConfigMap, Get>::new(connect());
    let _ = TypedClient::<ConfigMap, (Get, String)>::new(connect());
}

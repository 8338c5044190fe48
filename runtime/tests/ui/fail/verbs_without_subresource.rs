use k8s_openapi::api::core::v1::ConfigMap;
use kubewright::{client::Connection, prelude::*};

fn status(connection: Connection) {
    let _ = TypedClient::<ConfigMap, (UpdateStatus,)>::new(connection);
}

async fn status_of_all(connection: Connection, map: ConfigMap) {
    let _ = TypedClient::<ConfigMap, All>::new(connection).update_status(&map).await;
}

fn scale(connection: Connection) {
    let _ = TypedClient::<ConfigMap, (Get, GetScale)>::new(connection);
}

fn main() {}

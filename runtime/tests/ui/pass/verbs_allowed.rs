use k8s_openapi::api::{apps::v1::Deployment, core::v1::ConfigMap};
use kubewright::{
    NamespacedName,
    client::{All, Connection, DeleteParams},
    prelude::*,
};

async fn calls(connection: Connection, name: NamespacedName) -> Result<(), Box<dyn std::error::Error>> {
    let tuple = TypedClient::<Deployment, (Get, UpdateStatus, Delete)>::new(connection.clone());
    let deployment = tuple.get(&name).await?;
    tuple.update_status(&deployment).await?;
    tuple.delete(&name, &DeleteParams::default()).await?;
    let all = TypedClient::<ConfigMap, All>::new(connection);
    let map = all.get(&name).await?;
    all.update(&map).await?;
    Ok(())
}

fn is_send<T: Send>(_: fn(Connection, NamespacedName) -> T) {}

fn main() {
    is_send(calls);
}

use k8s_openapi::api::apps::v1::Deployment;
use kubewright::{
    NamespacedName,
    client::{DeleteParams, PatchBody},
    prelude::*,
};
use serde_json::{Value, json};

async fn read_write(client: TypedClient<Deployment, (Get, UpdateStatus)>, name: NamespacedName, object: Deployment) {
    let _ = client.delete(&name, &DeleteParams::default()).await;
    let _ = client.create(&object).await;
    let _ = client.update(&object).await;
    let _ = client.list(None, &Default::default()).await;
    let _ = client.apply(&object).await;
    let _ = client.patch(&name, &PatchBody::Merge(json!({}))).await;
}

async fn subresources(client: TypedClient<Deployment, (Apply,)>, name: NamespacedName, object: Deployment) {
    let _ = client.get(&name).await;
    let _ = client.update_status(&object).await;
    let _ = client.patch_status(&name, &PatchBody::<Value>::Merge(json!({}))).await;
    let _ = client.apply_status(&object).await;
    let _ = client.scale(&name).await;
    let _ = client.scale_to(&name, 3).await;
}

fn main() {}

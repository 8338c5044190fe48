//! Applies to objects that clients of a removed version have written: the API servers refuse them, and the library's client drops `managedFields` and applies again.

#![expect(clippy::unwrap_used, reason = "helpers of tests are tests")]
#![expect(missing_docs, reason = "the types of the kind")]

use std::time::Duration;

use http::Method;
use kubewright::{
    CustomResource, Informer,
    client::{ApplyStatus, Connection, TypedClient},
    kube::{
        Client, Config,
        config::{KubeConfigOptions, Kubeconfig},
    },
};
use kubewright_testkit::{Cluster, eventually};
use kubewright_tests::on_both_servers;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

const APPLY_PATCH: &str = "application/apply-patch+yaml";

on_both_servers!(status_is_applied_to_an_object_of_a_removed_version);

#[derive(CustomResource, Informer, Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[kube(
    group = "removed.dev",
    version = "v1",
    kind = "Part",
    namespaced,
    status = "PartStatus"
)]
pub struct PartSpec {
    pub size: i32,
}

#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
pub struct PartStatus {
    pub ready: bool,
}

fn status_is_applied_to_an_object_of_a_removed_version(cluster: &Cluster) {
    let mut definition = serde_json::to_value(<Part as kubewright::CustomKind>::definition()).unwrap();
    let mut old = definition["spec"]["versions"][0].clone();
    old["name"] = json!("v1alpha1");
    old["storage"] = json!(false);
    definition["spec"]["versions"].as_array_mut().unwrap().push(old);
    cluster.install_crd(&definition).unwrap();
    cluster.create_namespace("removed").unwrap();
    let object = |version: &str, body: Value| {
        let mut object = json!({
            "apiVersion": format!("removed.dev/{version}"), "kind": "Part", "metadata": { "name": "a", "namespace": "removed" },
        });
        object
            .as_object_mut()
            .unwrap()
            .extend(body.as_object().unwrap().clone());
        object
    };
    let apply = |version: &str, subresource: &str, body: Value| {
        let path =
            format!("/apis/removed.dev/{version}/namespaces/removed/parts/a{subresource}?fieldManager=other");
        cluster.request(Method::PATCH, &path, APPLY_PATCH, Some(&object(version, body)))
    };
    eventually("v1alpha1 is served", Duration::from_secs(30), || {
        apply("v1alpha1", "", json!({ "spec": { "size": 1 } })).map_err(|error| error.to_string())
    });
    let remove = json!([{ "op": "remove", "path": "/spec/versions/1" }]);
    let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/parts.removed.dev";
    cluster
        .request(Method::PATCH, path, "application/json-patch+json", Some(&remove))
        .unwrap();
    let status = json!({ "status": { "ready": true } });
    eventually(
        "the API server refuses applies",
        Duration::from_secs(30),
        || match apply("v1", "/status", status.clone()) {
            Err(error) if error.to_string().contains("invalid group/version") => Ok(()),
            other => Err(format!("{other:?}")),
        },
    );

    let runtime = tokio::runtime::Runtime::new().unwrap();
    let applied = runtime.block_on(async {
        let kubeconfig = Kubeconfig::read_from(cluster.admin().kubeconfig()).unwrap();
        let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await;
        let client: TypedClient<Part, (ApplyStatus,)> =
            TypedClient::new(Connection::new(Client::try_from(config.unwrap()).unwrap()));
        client.apply_status(&object("v1", status.clone())).await.unwrap()
    });
    assert!(applied.status.unwrap().ready);
    assert_eq!(applied.spec.size, 1);
    let managers = applied.metadata.managed_fields.unwrap_or_default();
    assert!(
        managers
            .iter()
            .all(|entry| entry.api_version.as_deref() == Some("removed.dev/v1")),
        "{managers:?}"
    );
}

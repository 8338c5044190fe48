//! Server-side apply, as `kubectl apply --server-side --force-conflicts` does it.

use std::{collections::HashMap, time::Duration};

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::{
    Api, Client,
    api::{DeleteParams, DynamicObject, Patch, PatchParams},
    core::GroupVersionKind,
    discovery::{self, ApiResource, Scope},
};
use serde_json::{Value, json};

use super::cluster::ClusterError;

/// The field manager of applied objects.
pub(super) const FIELD_MANAGER: &str = "kubewright-dev";
/// Longest wait for a CRD to be established and its kind to be served.
const SERVED_TIMEOUT: Duration = Duration::from_secs(10);
/// Interval between two checks.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// Applies objects, and caches the resources of their kinds.
pub(super) struct Applier {
    client: Client,
    kinds: HashMap<GroupVersionKind, (ApiResource, Scope)>,
}

impl Applier {
    pub(super) fn new(client: Client) -> Self {
        let kinds = HashMap::new();
        Self { client, kinds }
    }

    /// Applies an object. Without a namespace it goes into `default`, as with kubectl.
    pub(super) async fn apply(&mut self, document: &Value) -> Result<(), ClusterError> {
        let name = document["metadata"]["name"].as_str().unwrap_or_default();
        let action = || {
            format!(
                "apply {} {name}",
                document["kind"].as_str().unwrap_or("an object")
            )
        };
        let (resource, scope) = self.resolve_kind(document).await?;
        let namespace = document["metadata"]["namespace"].as_str().unwrap_or("default");
        let api: Api<DynamicObject> = match scope {
            Scope::Cluster => Api::all_with(self.client.clone(), &resource),
            Scope::Namespaced => Api::namespaced_with(self.client.clone(), namespace, &resource),
        };
        let params = PatchParams::apply(FIELD_MANAGER).force();
        let patched = api.patch(name, &params, &Patch::Apply(document)).await;
        patched
            .map(drop)
            .map_err(|source| ClusterError::request(action(), source))
    }

    /// Applies a CRD and waits until it is established.
    pub(super) async fn apply_crd(&mut self, crd: &Value) -> Result<(), ClusterError> {
        self.apply(crd).await?;
        let (resource, _) = self.resolve_kind(crd).await?;
        let name = crd["metadata"]["name"].as_str().unwrap_or_default();
        let api: Api<DynamicObject> = Api::all_with(self.client.clone(), &resource);
        let waiting = async {
            loop {
                let found = api.get(name).await;
                let found = found.map_err(|source| ClusterError::request(format!("read {name}"), source))?;
                if is_established(&found.data) {
                    return Ok(());
                }
                tokio::time::sleep(POLL_INTERVAL).await;
            }
        };
        tokio::time::timeout(SERVED_TIMEOUT, waiting).await.unwrap_or_else(|_| {
            let message = format!(
                "{name} was not established within {SERVED_TIMEOUT:?}: run `kubectl describe crd {name}` for its conditions"
            );
            Err(ClusterError::UnexpectedState(message))
        })
    }

    /// Deletes a CRD, and with it all objects of its kind. A missing CRD is not an error.
    pub(super) async fn delete_crd(&mut self, name: &str) -> Result<(), ClusterError> {
        let api: Api<CustomResourceDefinition> = Api::all(self.client.clone());
        match api.delete(name, &DeleteParams::default()).await {
            Err(kube::Error::Api(status)) if status.code == 404 => {}
            Err(source) => {
                return Err(ClusterError::request(format!("delete the CRD {name}"), source));
            }
            Ok(_) => {}
        }
        self.kinds.clear();
        Ok(())
    }

    /// Creates a namespace if it does not exist.
    pub(super) async fn apply_namespace(&mut self, name: &str) -> Result<(), ClusterError> {
        let namespace = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": name } });
        self.apply(&namespace).await
    }

    /// Resolves the object's kind to its resource. Retries, since discovery may lag behind a new CRD.
    async fn resolve_kind(&mut self, document: &Value) -> Result<(ApiResource, Scope), ClusterError> {
        let text = |key: &str| document[key].as_str().unwrap_or_default();
        let (group, version) = text("apiVersion")
            .rsplit_once('/')
            .unwrap_or(("", text("apiVersion")));
        let kind = GroupVersionKind::gvk(group, version, text("kind"));
        if let Some(known) = self.kinds.get(&kind) {
            return Ok(known.clone());
        }
        let start = tokio::time::Instant::now();
        loop {
            match discovery::pinned_kind(&self.client, &kind).await {
                Ok((resource, capabilities)) => {
                    let found = (resource, capabilities.scope);
                    self.kinds.insert(kind, found.clone());
                    return Ok(found);
                }
                Err(source) if start.elapsed() > SERVED_TIMEOUT => {
                    let action = format!("discover the resource of {}/{}", text("apiVersion"), text("kind"));
                    return Err(ClusterError::request(action, source));
                }
                Err(_) => tokio::time::sleep(POLL_INTERVAL).await,
            }
        }
    }
}

fn is_established(crd: &Value) -> bool {
    let conditions = crd["status"]["conditions"].as_array();
    conditions
        .into_iter()
        .flatten()
        .any(|condition| condition["type"] == "Established" && condition["status"] == "True")
}

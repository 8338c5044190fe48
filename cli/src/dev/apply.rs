//! Objects as the API server shall have them: server-side apply, as `kubectl apply --server-side --force-conflicts`.

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

/// As whom fields are owned.
pub(super) const MANAGER: &str = "kubewright-dev";
/// How long a definition may take until its kind is served.
const PATIENCE: Duration = Duration::from_secs(10);
/// The pause between two looks.
const PAUSE: Duration = Duration::from_millis(50);

/// Applies, and remembers where kinds are served.
pub(super) struct Applier {
    client: Client,
    kinds: HashMap<GroupVersionKind, (ApiResource, Scope)>,
}

impl Applier {
    pub(super) fn new(client: Client) -> Self {
        let kinds = HashMap::new();
        Self { client, kinds }
    }

    /// Applies a document. One without a namespace lands in `default`, as with kubectl.
    pub(super) async fn apply(&mut self, document: &Value) -> Result<(), ClusterError> {
        let name = document["metadata"]["name"].as_str().unwrap_or_default();
        let what = || {
            format!(
                "apply {} {name}",
                document["kind"].as_str().unwrap_or("an object")
            )
        };
        let (resource, scope) = self.served(document).await?;
        let namespace = document["metadata"]["namespace"].as_str().unwrap_or("default");
        let api: Api<DynamicObject> = match scope {
            Scope::Cluster => Api::all_with(self.client.clone(), &resource),
            Scope::Namespaced => Api::namespaced_with(self.client.clone(), namespace, &resource),
        };
        let params = PatchParams::apply(MANAGER).force();
        let patched = api.patch(name, &params, &Patch::Apply(document)).await;
        patched
            .map(drop)
            .map_err(|source| ClusterError::request(what(), source))
    }

    /// Applies a definition, and waits until its kind is served.
    pub(super) async fn define(&mut self, crd: &Value) -> Result<(), ClusterError> {
        self.apply(crd).await?;
        let (resource, _) = self.served(crd).await?;
        let name = crd["metadata"]["name"].as_str().unwrap_or_default();
        let api: Api<DynamicObject> = Api::all_with(self.client.clone(), &resource);
        let waiting = async {
            loop {
                let found = api.get(name).await;
                let found = found.map_err(|source| ClusterError::request(format!("read {name}"), source))?;
                if is_established(&found.data) {
                    return Ok(());
                }
                tokio::time::sleep(PAUSE).await;
            }
        };
        tokio::time::timeout(PATIENCE, waiting).await.unwrap_or_else(|_| {
            let why =
                format!("{name} was not established in {PATIENCE:?}: `kubectl describe crd {name}` says why");
            Err(ClusterError::Missing(why))
        })
    }

    /// Deletes a definition, and with it all objects of its kind. Where there is none, nothing happens.
    pub(super) async fn undefine(&mut self, name: &str) -> Result<(), ClusterError> {
        let api: Api<CustomResourceDefinition> = Api::all(self.client.clone());
        match api.delete(name, &DeleteParams::default()).await {
            Err(kube::Error::Api(status)) if status.code == 404 => {}
            Err(source) => {
                return Err(ClusterError::request(
                    format!("delete the definition {name}"),
                    source,
                ));
            }
            Ok(_) => {}
        }
        self.kinds.clear();
        Ok(())
    }

    /// Makes a namespace, where there is none.
    pub(super) async fn namespace(&mut self, name: &str) -> Result<(), ClusterError> {
        let namespace = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": name } });
        self.apply(&namespace).await
    }

    /// Where the document's kind is served; discovery may lag behind a definition.
    async fn served(&mut self, document: &Value) -> Result<(ApiResource, Scope), ClusterError> {
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
                Err(source) if start.elapsed() > PATIENCE => {
                    let what = format!("find out where {}/{} is served", text("apiVersion"), text("kind"));
                    return Err(ClusterError::request(what, source));
                }
                Err(_) => tokio::time::sleep(PAUSE).await,
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

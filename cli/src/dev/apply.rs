//! Server-side apply, as `kubectl apply --server-side --force-conflicts` does it.

use std::{collections::HashMap, time::Duration};

use kube::{
    Api, Client,
    api::{DeleteParams, DynamicObject, Patch, PatchParams},
    core::GroupVersionKind,
    discovery::{self, ApiResource, Scope},
};
use serde_json::{Value, json};

use crate::error::ClusterError;

/// The field manager of applied objects.
pub(super) const FIELD_MANAGER: &str = "kubewright-dev";
/// Longest wait for a CRD to be established and its kind to be served.
const SERVED_TIMEOUT: Duration = Duration::from_secs(10);
/// Interval between two checks.
pub(super) const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// Applies objects, and caches the resources of their kinds.
pub(super) struct Applier {
    client: Client,
    kinds: HashMap<GroupVersionKind, (ApiResource, Scope)>,
    /// Group and kind of the applied CRDs, by name of the CRD: discovery may lag behind them.
    defined: HashMap<String, (String, String)>,
}

impl Applier {
    pub(super) fn new(client: Client) -> Self {
        Self {
            client,
            kinds: HashMap::new(),
            defined: HashMap::new(),
        }
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
        let api = self.api(document).await?;
        let params = PatchParams::apply(FIELD_MANAGER).force();
        let patched = api.patch(name, &params, &Patch::Apply(document)).await;
        patched
            .map(drop)
            .map_err(|source| ClusterError::request(action(), source))
    }

    /// Reads an object; none if it does not exist.
    pub(super) async fn read(&mut self, document: &Value) -> Result<Option<Value>, ClusterError> {
        let name = document["metadata"]["name"].as_str().unwrap_or_default();
        let found = self.api(document).await?.get_opt(name).await;
        let found = found.map_err(|source| ClusterError::request(format!("read {name}"), source))?;
        Ok(found.map(|object| object.data))
    }

    /// Deletes an object. A missing one is not an error.
    pub(super) async fn delete(&mut self, document: &Value) -> Result<(), ClusterError> {
        let name = document["metadata"]["name"].as_str().unwrap_or_default();
        match self
            .api(document)
            .await?
            .delete(name, &DeleteParams::default())
            .await
        {
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
            deleted => deleted
                .map(drop)
                .map_err(|source| ClusterError::request(format!("delete {name}"), source)),
        }
    }

    /// Returns the API of an object's kind, in its namespace.
    async fn api(&mut self, document: &Value) -> Result<Api<DynamicObject>, ClusterError> {
        let (resource, scope) = self.resolve_kind(document).await?;
        let namespace = document["metadata"]["namespace"].as_str().unwrap_or("default");
        Ok(match scope {
            Scope::Cluster => Api::all_with(self.client.clone(), &resource),
            Scope::Namespaced => Api::namespaced_with(self.client.clone(), namespace, &resource),
        })
    }

    /// Applies a CRD and waits until it is established.
    pub(super) async fn apply_crd(&mut self, crd: &Value) -> Result<(), ClusterError> {
        self.remove_conversion(crd).await?;
        self.apply(crd).await?;
        let (resource, _) = self.resolve_kind(crd).await?;
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let name = &text(&crd["metadata"]["name"]);
        let (group, kind) = (text(&crd["spec"]["group"]), text(&crd["spec"]["names"]["kind"]));
        self.defined.insert(name.clone(), (group, kind));
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

    /// Removes the conversion webhook of a CRD that has none any more: an apply leaves the CA bundle that the operator wrote, and the API server
    /// refuses that without a webhook.
    async fn remove_conversion(&mut self, crd: &Value) -> Result<(), ClusterError> {
        let is_converted = |crd: &Value| crd["spec"]["conversion"]["strategy"] == "Webhook";
        if is_converted(crd) || !self.read(crd).await?.is_some_and(|found| is_converted(&found)) {
            return Ok(());
        }
        let name = crd["metadata"]["name"].as_str().unwrap_or_default();
        let patch = json!({"spec": {"conversion": {"strategy": "None", "webhook": null}}});
        let params = PatchParams {
            field_manager: Some(FIELD_MANAGER.to_owned()),
            ..PatchParams::default()
        };
        let patched = self
            .api(crd)
            .await?
            .patch(name, &params, &Patch::Merge(&patch))
            .await;
        patched
            .map(drop)
            .map_err(|source| ClusterError::request(format!("remove the conversion of {name}"), source))
    }

    /// Deletes a CRD, and with it all objects of its kind. A missing CRD is not an error.
    pub(super) async fn delete_crd(&mut self, name: &str) -> Result<(), ClusterError> {
        let definition = json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": name},
        });
        self.delete(&definition).await?;
        self.kinds.clear();
        self.defined.remove(name);
        Ok(())
    }

    /// Creates a namespace if it does not exist.
    pub(super) async fn apply_namespace(&mut self, name: &str) -> Result<(), ClusterError> {
        let namespace = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": name } });
        self.apply(&namespace).await
    }

    /// Resolves the object's kind to its resource. Retries for kinds whose CRD was applied, since discovery may lag behind it.
    async fn resolve_kind(&mut self, document: &Value) -> Result<(ApiResource, Scope), ClusterError> {
        let text = |key: &str| document[key].as_str().unwrap_or_default();
        let (group, version) = text("apiVersion")
            .rsplit_once('/')
            .unwrap_or(("", text("apiVersion")));
        let kind = GroupVersionKind::gvk(group, version, text("kind"));
        if let Some(known) = self.kinds.get(&kind) {
            return Ok(known.clone());
        }
        let is_defined = self
            .defined
            .values()
            .any(|(group, name)| *group == kind.group && *name == kind.kind);
        let start = tokio::time::Instant::now();
        loop {
            match discovery::pinned_kind(&self.client, &kind).await {
                Ok((resource, capabilities)) => {
                    let found = (resource, capabilities.scope);
                    self.kinds.insert(kind, found.clone());
                    return Ok(found);
                }
                Err(source) if !is_defined && is_not_found(&source) => {
                    return Err(ClusterError::UnknownKind {
                        kind: kind.kind,
                        api_version: text("apiVersion").to_owned(),
                    });
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

/// Whether the server has no such group, version or kind.
fn is_not_found(error: &kube::Error) -> bool {
    match error {
        kube::Error::Api(status) => status.code == 404,
        kube::Error::Discovery(_) => true,
        _ => false,
    }
}

fn is_established(crd: &Value) -> bool {
    let conditions = crd["status"]["conditions"].as_array();
    conditions
        .into_iter()
        .flatten()
        .any(|condition| condition["type"] == "Established" && condition["status"] == "True")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dev::cluster::Cluster;

    /// A certificate, as an operator writes it. The API server refuses what is none.
    const CA_BUNDLE: &str = "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCk1JSUJlRENDQVIyZ0F3SUJBZ0lVZkdZeWFzb0pGTWNIbDNmc3l5OUJoV3ZBK21vd0NnWUlLb1pJemowRUF3SXcKRURFT01Bd0dBMVVFQXd3RllTNWtaWFl3SUJjTk1qWXhNVEkyTVRVME16QTRXaGdQTWpFeU5qRXhNREl4TlRRegpNRGhhTUJBeERqQU1CZ05WQkFNTUJXRXVaR1YyTUZrd0V3WUhLb1pJemowQ0FRWUlLb1pJemowREFRY0RRZ0FFCkxhdi9xYVpVbWp3K1pSUHpLOUdITHBBVEFoeXA5UkpEeGhvWGV4bVlWV2F6N3ZrT0tqbFMycXVOKzhBV1d4T2kKaHVodHl3UDVBUnhTNUZpbFRObk9iNk5UTUZFd0hRWURWUjBPQkJZRUZKY3pOK0dpcGlKdGxOT1ptNkdKcm03OAo1c3MvTUI4R0ExVWRJd1FZTUJhQUZKY3pOK0dpcGlKdGxOT1ptNkdKcm03ODVzcy9NQThHQTFVZEV3RUIvd1FGCk1BTUJBZjh3Q2dZSUtvWkl6ajBFQXdJRFNRQXdSZ0loQUtqb25reENTdkQ1dGxIU0VOdlZFZkFYZUw4TEJLaDAKd0d5TGFuMHJwTkFwQWlFQWlnSXNNTkxOd0pOd0R2RjlPang1bytiTGM2Q3pWVEJQNVFWMFdoY2dRNVE9Ci0tLS0tRU5EIENFUlRJRklDQVRFLS0tLS0K";

    #[tokio::test]
    async fn conversion_with_the_bundle_of_the_operator_is_removed() {
        let folder = tempfile::tempdir().unwrap();
        let cluster = Cluster::embedded(folder.path(), false).await.unwrap();
        let mut applier = Applier::new(cluster.client.clone());
        let webhook = json!({"conversionReviewVersions": ["v1"], "clientConfig": {"url": "https://127.0.0.1:1/convert"}});
        let mut crd = json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": "backups.demo.dev"},
            "spec": {
                "group": "demo.dev", "names": {"kind": "Backup", "plural": "backups"}, "scope": "Namespaced",
                "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {"type": "object"}}}],
                "conversion": {"strategy": "Webhook", "webhook": webhook},
            },
        });
        applier.apply_crd(&crd).await.unwrap();
        let bundle = json!({"spec": {"conversion": {"webhook": {"clientConfig": {"caBundle": CA_BUNDLE}}}}});
        let api = applier.api(&crd).await.unwrap();
        let operator = PatchParams {
            field_manager: Some("operator".to_owned()),
            ..PatchParams::default()
        };
        api.patch("backups.demo.dev", &operator, &Patch::Merge(&bundle))
            .await
            .unwrap();
        crd["spec"].as_object_mut().unwrap().remove("conversion");
        let refused = applier.apply(&crd).await.unwrap_err().to_string();
        assert!(
            refused.contains("spec.conversion.strategy: Required value"),
            "{refused}"
        );

        applier.apply_crd(&crd).await.unwrap();
        let found = applier.read(&crd).await.unwrap().unwrap();
        assert_eq!(found["spec"]["conversion"], json!({"strategy": "None"}));
        cluster.stop().await;
    }
}

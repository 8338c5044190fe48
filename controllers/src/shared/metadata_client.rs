//! A client for kinds that are known at run time, which reads metadata only.

use kube::{
    Api,
    api::{DeleteParams, DynamicObject, ListParams, PartialObjectMeta, Patch, PatchParams},
    core::Request,
};
use kubewright::{ApiResource, NamespacedName};
use serde_json::Value;

/// Reads the metadata of objects, patches it, and deletes objects, whatever their kind is.
#[derive(Clone)]
pub(crate) struct MetadataClient(kube::Client);

/// The metadata of an object.
pub(crate) type ObjectMetadata = PartialObjectMeta<DynamicObject>;

/// Whether the object, or its resource, does not exist.
pub(crate) fn is_not_found(error: &kube::Error) -> bool {
    has_code(error, 404)
}

/// Whether the API server answered with this status code.
pub(crate) fn has_code(error: &kube::Error, code: u16) -> bool {
    matches!(error, kube::Error::Api(status) if status.code == code)
}

/// Returns the API server's message of an error, as upstream quotes it in conditions.
pub(crate) fn message(error: &kube::Error) -> String {
    match error {
        kube::Error::Api(status) if !status.message.is_empty() => status.message.clone(),
        _ => error.to_string(),
    }
}

impl MetadataClient {
    pub(crate) fn new(client: kube::Client) -> Self {
        Self(client)
    }

    /// Reads an object; none if it does not exist.
    pub(crate) async fn get(
        &self,
        kind: &ApiResource,
        name: &NamespacedName,
    ) -> Result<Option<ObjectMetadata>, kube::Error> {
        self.api(kind, name.namespace())
            .get_metadata_opt(name.name())
            .await
    }

    /// Lists the objects of a namespace, in one page.
    pub(crate) async fn list(
        &self,
        kind: &ApiResource,
        namespace: &str,
    ) -> Result<Vec<ObjectMetadata>, kube::Error> {
        let api = self.api(kind, Some(namespace));
        Ok(api.list_metadata(&ListParams::default()).await?.items)
    }

    /// Sends a merge patch.
    pub(crate) async fn merge_patch(
        &self,
        kind: &ApiResource,
        name: &NamespacedName,
        patch: &Value,
    ) -> Result<ObjectMetadata, kube::Error> {
        let api = self.api(kind, name.namespace());
        api.patch_metadata(name.name(), &PatchParams::default(), &Patch::Merge(patch))
            .await
    }

    /// Sends a strategic merge patch. Custom resources refuse it with 415.
    pub(crate) async fn strategic_patch(
        &self,
        kind: &ApiResource,
        name: &NamespacedName,
        patch: &Value,
    ) -> Result<ObjectMetadata, kube::Error> {
        let api = self.api(kind, name.namespace());
        api.patch_metadata(name.name(), &PatchParams::default(), &Patch::Strategic(patch))
            .await
    }

    pub(crate) async fn delete(
        &self,
        kind: &ApiResource,
        name: &NamespacedName,
        params: &DeleteParams,
    ) -> Result<(), kube::Error> {
        let path = self.api(kind, name.namespace()).resource_url().to_owned();
        let request = Request::new(path).delete(name.name(), params);
        // The response is the object, or a status: neither is read.
        let request = request.map_err(kube::Error::BuildRequest)?;
        self.0.request_text(request).await.map(drop)
    }

    /// Deletes all objects of a namespace.
    pub(crate) async fn delete_collection(
        &self,
        kind: &ApiResource,
        namespace: &str,
        params: &DeleteParams,
    ) -> Result<(), kube::Error> {
        let api = self.api(kind, Some(namespace));
        api.delete_collection(params, &ListParams::default())
            .await
            .map(drop)
    }

    fn api(&self, kind: &ApiResource, namespace: Option<&str>) -> Api<DynamicObject> {
        let resource = kube::core::ApiResource {
            group: kind.group.to_string(),
            version: kind.version.to_string(),
            api_version: kind.api_version(),
            kind: kind.kind.to_string(),
            plural: kind.plural.to_string(),
        };
        match namespace {
            Some(namespace) => Api::namespaced_with(self.0.clone(), namespace, &resource),
            None => Api::all_with(self.0.clone(), &resource),
        }
    }
}

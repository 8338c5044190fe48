//! Keeps `caBundle` in the operator's webhook configurations and definitions.
//!
//! A JSON patch with the resource version that was read, so that it changes nothing but the bundle, and fails if the object changed since.
//! Applying the manifests again leaves the bundle alone: it is not in them, and neither a server-side apply nor kubectl's own patch removes
//! fields that another manager set. With a server-side apply of ours a webhook could not be removed from the manifests any more: our field
//! would keep its list entry, without the required fields.

use k8s_openapi::{
    ByteString,
    api::admissionregistration::v1::{MutatingWebhookConfiguration, ValidatingWebhookConfiguration},
    apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
};
use kube::core::params::{GetParams, PatchParams};
use serde_json::{Value, json};
use tokio::time::timeout;

use super::secret_watch::REQUEST_TIMEOUT;
use crate::{
    ApiResource, Kind, NamespacedName,
    client::{ApiRequest, ClientError, Connection, PatchBody},
};

/// An object whose CA bundles the operator keeps: all webhooks of a configuration, or the conversion of a definition.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum BundleTarget {
    /// A ValidatingWebhookConfiguration of this name.
    Validating(String),
    /// A MutatingWebhookConfiguration of this name.
    Mutating(String),
    /// A CustomResourceDefinition of this name.
    Definition(String),
}

impl BundleTarget {
    /// The name of the object.
    pub fn name(&self) -> &str {
        match self {
            Self::Validating(name) | Self::Mutating(name) | Self::Definition(name) => name,
        }
    }

    /// The kind of the object.
    pub fn info(&self) -> ApiResource {
        match self {
            Self::Validating(_) => ValidatingWebhookConfiguration::info(),
            Self::Mutating(_) => MutatingWebhookConfiguration::info(),
            Self::Definition(_) => CustomResourceDefinition::info(),
        }
    }

    /// The files to apply if the object is missing.
    pub(super) fn manifests(&self) -> &'static str {
        match self {
            Self::Validating(_) | Self::Mutating(_) => "manifests/webhooks",
            Self::Definition(_) => "manifests/crds",
        }
    }

    /// Reads the object.
    pub(in crate::webhooks) async fn get(&self, connection: &Connection) -> Result<Value, RequestFailure> {
        let request = self.request("get")?;
        let http_request = request.builder().get(self.name(), &GetParams::default());
        let response = request.prepare(http_request)?.fetch(connection);
        timeout(REQUEST_TIMEOUT, response)
            .await
            .map_err(|_| RequestFailure::TimedOut)?
            .map_err(Into::into)
    }

    /// Patches the object.
    pub(in crate::webhooks) async fn patch(
        &self,
        connection: &Connection,
        operations: Vec<Value>,
    ) -> Result<(), RequestFailure> {
        let patch = PatchBody::Json(operations);
        let (request, body) = self.request("patch")?.body(patch.value())?;
        let params = PatchParams {
            field_manager: Some(connection.field_manager().to_owned()),
            ..PatchParams::default()
        };
        let http_request = request.patch(&params, patch.content_type(), body);
        let response = request.prepare(http_request)?.fetch::<Value>(connection);
        timeout(REQUEST_TIMEOUT, response)
            .await
            .map_err(|_| RequestFailure::TimedOut)??;
        Ok(())
    }

    fn request(&self, action: &'static str) -> Result<ApiRequest, ClientError> {
        let name = NamespacedName::in_scope(None, self.name());
        ApiRequest::object(self.info(), action, &name)
    }
}

impl std::fmt::Display for BundleTarget {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.info().kind, self.name())
    }
}

/// Why a request for an object failed.
#[derive(Debug, thiserror::Error)]
pub(in crate::webhooks) enum RequestFailure {
    #[error(transparent)]
    Client(#[from] ClientError),
    #[error("no response of the API server for {REQUEST_TIMEOUT:?}")]
    TimedOut,
}

/// What an object needs to have the bundle.
#[derive(Debug, PartialEq)]
pub(super) enum BundlePatch {
    /// It has the bundle, or nothing that needs one.
    UpToDate,
    /// The operations of a JSON patch.
    Operations {
        operations: Vec<Value>,
        /// Whether a bundle is replaced, not only added.
        replaces: bool,
    },
}

/// Compares an object's bundles with `bundle`, in PEM.
pub(super) fn bundle_patch(object: &Value, bundle: &str) -> BundlePatch {
    let bundle = json!(ByteString(bundle.as_bytes().to_vec()));
    let mut operations = Vec::new();
    let mut replaces = false;
    for path in client_configs(object) {
        let current = object
            .pointer(&path)
            .and_then(|config| config.get("caBundle"))
            .filter(|current| current.as_str().is_some_and(|text| !text.is_empty()));
        if current != Some(&bundle) {
            replaces |= current.is_some();
            // "add" also replaces a value.
            operations.push(json!({"op": "add", "path": format!("{path}/caBundle"), "value": bundle}));
        }
    }
    if operations.is_empty() {
        return BundlePatch::UpToDate;
    }
    // A conflict if it is not the newest version: what follows is for the object that was read.
    let version = &object["metadata"]["resourceVersion"];
    operations.insert(
        0,
        json!({"op": "replace", "path": "/metadata/resourceVersion", "value": version}),
    );
    BundlePatch::Operations { operations, replaces }
}

/// Whether the API server converts the objects of a definition by a webhook.
pub(super) fn calls_conversion(definition: &Value) -> bool {
    definition["spec"]["conversion"]["strategy"] == "Webhook"
}

/// The JSON pointers of the client configurations of an object.
fn client_configs(object: &Value) -> Vec<String> {
    let webhooks = object["webhooks"].as_array().map_or(0, Vec::len);
    let mut paths: Vec<String> = (0..webhooks)
        .map(|index| format!("/webhooks/{index}/clientConfig"))
        .collect();
    if calls_conversion(object) {
        paths.push("/spec/conversion/webhook/clientConfig".to_owned());
    }
    paths.retain(|path| object.pointer(path).is_some_and(Value::is_object));
    paths
}

#[cfg(test)]
#[path = "bundles_tests.rs"]
mod tests;

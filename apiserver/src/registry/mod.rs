//! The registry: the verbs on objects (create, get, list, update, patch, delete), independent of transport and authentication.
//!
//! Reading order: `decode` (what the body of a request must be), `write` (the way of every object into the store) with `quota_charges`, then
//! the verbs: `create`, `read`, `update`, `patch`, `apply`, `delete` with `pod_removal`, and what is answered without being stored: `reviews`
//! with `review_selectors`. Everything here is synchronous, and short unless a write calls webhooks, but for two waits: for a default account,
//! and before a pod is removed. No lock is held across a call.

mod apply;
mod claim_access;
mod conversion;
mod create;
mod decode;
mod default_account;
mod delete;
mod eviction;
mod grace_period;
mod managed_fields;
mod metadata;
mod object_size;
mod param_access;
mod patch;
mod pod_removal;
mod pods;
mod prepare;
mod quota_charges;
mod rbac_escalation;
mod read;
mod retry;
mod review_selectors;
mod reviews;
mod scale;
mod service_addresses;
#[cfg(test)]
mod test_registry;
mod token_use;
mod unchanged;
mod update;
mod validate;
mod webhooks;
mod write;

pub use delete::DeleteResult;
pub(crate) use delete::{Deletion, FOREGROUND_FINALIZER, ORPHAN_FINALIZER};
pub(crate) use eviction::Eviction;
pub(crate) use patch::check_media_type;
pub use read::Listing;
pub(crate) use read::too_large_resource_version;
pub(crate) use reviews::answer_review;
pub(crate) use update::check_target;
pub use write::WriteContext;

use crate::admission::AdmissionPlugin;
use crate::auth::Authorizer;
use crate::kinds::{Catalog, Kind};
use crate::status::ApiError;
use crate::storage::{Object, Store};
use crate::strategy::ServiceNetwork;
use crate::webhook_client::{NoCaller, WebhookCaller};
use parking_lot::Mutex;
use serde_json::Value;
use std::sync::Arc;
use tokio::sync::watch;

/// The object or the collection that an operation addresses.
#[derive(Clone, Debug)]
pub struct Target {
    /// The resource, in the version of the request.
    pub kind: Arc<Kind>,
    /// The namespace; empty for all namespaces and for cluster-scoped resources.
    pub namespace: String,
    /// The name; empty for a collection.
    pub name: String,
}

/// The table of APIServices.
pub(crate) const API_SERVICES: &str = "apiservices.apiregistration.k8s.io";

/// The table of the definitions of custom resources.
const DEFINITIONS: &str = "customresourcedefinitions.apiextensions.k8s.io";

impl Target {
    /// Addresses one object.
    pub fn new(kind: &Arc<Kind>, namespace: &str, name: &str) -> Self {
        Self {
            kind: kind.clone(),
            namespace: namespace.to_owned(),
            name: name.to_owned(),
        }
    }

    fn key(&self) -> String {
        Store::key(&self.namespace, &self.name)
    }
}

/// The result of a write.
#[derive(Debug)]
pub struct WriteResult {
    /// The object, in its storage version.
    pub object: Arc<Object>,
    /// True if the write created the object.
    pub created: bool,
    /// Warnings for the client.
    pub warnings: Vec<String>,
}

impl WriteResult {
    /// Puts the warnings from decoding the request in front of the result's own.
    fn with_decode_warnings(written: Result<Self, ApiError>, warnings: &[String]) -> Result<Self, ApiError> {
        match written {
            Ok(mut written) => {
                written.warnings.splice(..0, warnings.iter().cloned());
                Ok(written)
            }
            Err(error) => Err(error.with_warnings(warnings)),
        }
    }
}

/// The stored objects and the catalog of served kinds.
#[derive(Debug)]
pub struct Registry {
    /// The stored objects.
    pub store: Store,
    /// Decides which user may do what.
    pub authorizer: Authorizer,
    /// The admission plugins that are on, in their order.
    admission: Vec<AdmissionPlugin>,
    service_network: ServiceNetwork,
    /// The Services that are being written: their addresses and ports are allocated, but not stored yet.
    reserved_services: Mutex<Vec<Value>>,
    /// Calls the webhooks that convert custom resources.
    caller: Arc<dyn WebhookCaller>,
    /// Held while a write is checked against resource quotas and charged to them.
    quota_charging: Mutex<()>,
    catalog: watch::Sender<Arc<Catalog>>,
}

impl Registry {
    /// Creates a registry with the given kinds and an empty store.
    pub fn new(
        catalog: Catalog,
        authorizer: Authorizer,
        mut admission: Vec<AdmissionPlugin>,
        service_network: ServiceNetwork,
    ) -> Self {
        admission.sort();
        admission.dedup();
        Self {
            store: Store::default(),
            authorizer,
            admission,
            service_network,
            reserved_services: Mutex::default(),
            caller: Arc::new(NoCaller),
            quota_charging: Mutex::new(()),
            catalog: watch::Sender::new(Arc::new(catalog)),
        }
    }

    /// Sets how webhooks are called; without it, each call fails.
    pub(crate) fn with_webhook_caller(self, caller: Arc<dyn WebhookCaller>) -> Self {
        Self { caller, ..self }
    }

    /// Calls webhooks.
    pub(crate) fn webhook_caller(&self) -> &dyn WebhookCaller {
        self.caller.as_ref()
    }

    /// Returns the kinds that are served now.
    pub fn catalog(&self) -> Arc<Catalog> {
        self.catalog.borrow().clone()
    }

    /// Replaces the catalog of served kinds.
    pub fn replace_catalog(&self, catalog: Catalog) {
        self.catalog.send_replace(Arc::new(catalog));
    }

    /// Returns the catalogs from now on.
    pub(crate) fn subscribe_catalog(&self) -> watch::Receiver<Arc<Catalog>> {
        self.catalog.subscribe()
    }

    /// Returns the resource of a group in any served version; the empty group is the core group.
    ///
    /// # Errors
    ///
    /// 404 if the group serves no such resource.
    pub fn resource(&self, group: &str, plural: &str) -> Result<Arc<Kind>, ApiError> {
        let catalog = self.catalog();
        catalog
            .any_version(group, plural)
            .cloned()
            .ok_or_else(ApiError::no_such_resource)
    }
}

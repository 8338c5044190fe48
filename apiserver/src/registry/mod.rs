//! The registry: the verbs on objects (create, get, list, update, patch, delete), independent of transport and authentication.
//!
//! Reading order: `decode` (what the body of a request must be), `prepare` (what the server changes per kind), then the verbs: `create`,
//! `read`, `update`, `delete`. Everything here is synchronous and short; no lock is held across a call.

mod apply;
mod autoscaler_versions;
mod continue_token;
mod convert;
mod create;
mod decode;
mod default_class;
mod delete;
mod limit_ranges;
mod managed_fields;
mod object_size;
mod options;
mod owner_references;
mod patch;
mod pods;
mod prepare;
mod rbac_escalation;
mod read;
mod retry;
mod runtime_classes;
mod scale;
mod service_addresses;
mod signers;
mod update;
mod validate;

pub(crate) use convert::needs_conversion;
pub use convert::to_request_version;
pub use create::WriteContext;
pub use delete::DeleteResult;
pub use options::{DeleteOptions, FieldValidation, ListOptions, ResourceVersionMatch, WriteOptions};
pub(crate) use options::{parse_revision, unparsable_version_error};
pub(crate) use patch::check_media_type;
pub use read::Listing;
pub(crate) use read::too_large_resource_version;
pub use scale::ScalePaths;
pub(crate) use update::check_target;

use crate::auth::Authorizer;
use crate::kinds::{Catalog, Kind};
use crate::status::ApiError;
use crate::store::{Object, Store};
use crate::watch::SharedFeeds;
use parking_lot::{Mutex, RwLock};
use std::sync::Arc;

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
    /// Event feeds that are shared by identical watches.
    pub(crate) feeds: SharedFeeds,
    /// Held from the allocation of a Service's addresses and ports until it is stored, so that none is allocated twice.
    service_allocation: Mutex<()>,
    catalog: RwLock<Arc<Catalog>>,
}

impl Registry {
    /// Creates a registry with the given kinds and an empty store.
    pub fn new(catalog: Catalog, authorizer: Authorizer) -> Self {
        Self {
            store: Store::default(),
            authorizer,
            feeds: SharedFeeds::default(),
            service_allocation: Mutex::new(()),
            catalog: RwLock::new(Arc::new(catalog)),
        }
    }

    /// Returns the kinds that are served now.
    pub fn catalog(&self) -> Arc<Catalog> {
        self.catalog.read().clone()
    }

    /// Replaces the catalog of served kinds.
    pub fn replace_catalog(&self, catalog: Catalog) {
        *self.catalog.write() = Arc::new(catalog);
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

//! What can be done with objects, whoever asks and by whatever transport.
//!
//! Read decode (what a request's object must be), strategy (what kinds do of their own), then the verbs: create, read, update, delete.
//! Everything here is synchronous and short; nothing is locked across a call.

mod apply;
mod classes;
mod convert;
mod create;
mod decode;
mod delete;
mod grants;
mod limits;
mod managed;
mod options;
mod owners;
mod page;
mod patch;
mod pods;
mod read;
mod scale;
mod size;
mod strategy;
mod update;
mod validate;

pub(crate) use convert::is_presented;
pub use convert::present;
pub use create::Bodied;
pub use delete::Deletion;
pub use options::{DeleteOptions, FieldValidation, ListOptions, VersionMatch, WriteOptions};
pub(crate) use options::{revision, unparsable};
pub(crate) use patch::check_media_type;
pub use read::Listing;
pub(crate) use read::too_large;
pub use scale::ScalePaths;
pub(crate) use update::check_target;

use crate::auth::Authorizer;
use crate::kinds::{Catalog, Kind};
use crate::status::ApiError;
use crate::store::{Object, Store};
use crate::watch::Feeds;
use parking_lot::RwLock;
use std::sync::Arc;

/// What an operation is about.
#[derive(Clone, Debug)]
pub struct Target {
    /// The resource, in the version of the request.
    pub kind: Arc<Kind>,
    /// The namespace; empty for all and for none.
    pub namespace: String,
    /// The name; empty for all.
    pub name: String,
}

impl Target {
    /// One object.
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

/// What a write made.
#[derive(Debug)]
pub struct Written {
    /// The object, in the version in which it is stored.
    pub object: Arc<Object>,
    /// Whether there was none before.
    pub created: bool,
    /// What the client should be warned of.
    pub warnings: Vec<String>,
}

impl Written {
    /// What came of a write whose object was read with these warnings.
    fn warned(written: Result<Self, ApiError>, warnings: &[String]) -> Result<Self, ApiError> {
        match written {
            Ok(mut written) => {
                written.warnings.splice(..0, warnings.iter().cloned());
                Ok(written)
            }
            Err(error) => Err(error.with_warnings(warnings)),
        }
    }
}

/// The objects, and what is served.
#[derive(Debug)]
pub struct Registry {
    /// The objects.
    pub store: Store,
    /// Who may do what.
    pub authorizer: Authorizer,
    /// What watches share.
    pub(crate) feeds: Feeds,
    catalog: RwLock<Arc<Catalog>>,
}

impl Registry {
    /// With the built-in kinds, and nothing stored.
    pub fn new(catalog: Catalog, authorizer: Authorizer) -> Self {
        Self {
            store: Store::default(),
            authorizer,
            feeds: Feeds::default(),
            catalog: RwLock::new(Arc::new(catalog)),
        }
    }

    /// What is served now.
    pub fn catalog(&self) -> Arc<Catalog> {
        self.catalog.read().clone()
    }

    /// Serves something else from now on.
    pub fn replace_catalog(&self, catalog: Catalog) {
        *self.catalog.write() = Arc::new(catalog);
    }

    /// The built-in resource in the core group, or another.
    ///
    /// # Errors
    ///
    /// 404 when nothing of that name is served.
    pub fn resource(&self, group: &str, plural: &str) -> Result<Arc<Kind>, ApiError> {
        let catalog = self.catalog();
        catalog
            .any_version(group, plural)
            .cloned()
            .ok_or_else(ApiError::no_such_resource)
    }
}

//! The registry of unit tests: the built-in kinds, without authorization.

use super::{Registry, Target, WriteContext};
use crate::ServiceNetwork;
use crate::admission::AdmissionPlugin;
use crate::auth::{AuthorizationMode, Authorizer, User};
use crate::kinds::Catalog;
use crate::request::WriteOptions;
use serde_json::Value;
use std::sync::Arc;

impl Registry {
    /// Returns an empty registry with these plugins.
    pub(crate) fn for_tests(plugins: Vec<AdmissionPlugin>) -> Arc<Self> {
        let authorizer = Authorizer::new(&[AuthorizationMode::AlwaysAllow]);
        let (catalog, network) = (Catalog::built_in().unwrap(), ServiceNetwork::default());
        Arc::new(Self::new(catalog, authorizer, plugins, network))
    }

    /// Creates an object as the server.
    pub(crate) fn create_for_tests(&self, collection: &Target, object: Value) {
        let (user, options) = (User::system(), WriteOptions::default());
        let context = WriteContext::new(&user, &options);
        self.create(collection, object, context).unwrap();
    }
}

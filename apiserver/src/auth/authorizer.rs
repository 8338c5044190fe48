//! Authorization of requests.

use super::{User, rbac};
use crate::request::RequestInfo;
use crate::status::{ApiError, details};
use crate::storage::Store;

/// Authorization modes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AuthorizationMode {
    /// Allows every request.
    AlwaysAllow,
    /// Allows what roles and bindings grant.
    Rbac,
}

/// The attributes of a request to a resource that authorization decides on.
#[derive(Clone, Copy, Debug)]
pub struct ResourceAttributes<'a> {
    /// The verb, such as `get`.
    pub verb: &'a str,
    /// The API group.
    pub group: &'a str,
    /// The resource.
    pub resource: &'a str,
    /// The subresource; may be empty.
    pub subresource: &'a str,
    /// The namespace; empty for all namespaces and for cluster-scoped resources.
    pub namespace: &'a str,
    /// The name; empty for a collection.
    pub name: &'a str,
}

impl ResourceAttributes<'_> {
    /// The 403 for a user without this permission.
    pub(crate) fn forbidden(&self, user: &User) -> ApiError {
        let ResourceAttributes {
            verb,
            group,
            resource,
            subresource,
            namespace,
            name,
        } = self;
        let qualified = if group.is_empty() {
            (*resource).to_owned()
        } else {
            format!("{resource}.{group}")
        };
        let what = if name.is_empty() {
            qualified
        } else {
            format!("{qualified} {name:?}")
        };
        let part = if subresource.is_empty() {
            (*resource).to_owned()
        } else {
            format!("{resource}/{subresource}")
        };
        let scope = if namespace.is_empty() {
            "at the cluster scope".to_owned()
        } else {
            format!("in the namespace {namespace:?}")
        };
        let message = format!(
            "{what} is forbidden: User {:?} cannot {verb} resource {part:?} in API group {group:?} {scope}",
            user.name
        );
        ApiError::with_details(403, "Forbidden", message, details(name, group, resource))
    }
}

/// Authorizes requests; allows what any of its modes allows.
#[derive(Clone, Debug)]
pub struct Authorizer {
    modes: Vec<AuthorizationMode>,
}

impl Authorizer {
    /// Creates an authorizer with the given modes.
    pub fn new(modes: &[AuthorizationMode]) -> Self {
        Self {
            modes: modes.to_vec(),
        }
    }

    /// True if the user may access the resource.
    pub fn allows(&self, store: &Store, user: &User, access: &ResourceAttributes<'_>) -> bool {
        self.allow_reason(store, user, access).is_some()
    }

    /// Returns why the user may access the resource: None if denied, empty if there is nothing to explain.
    pub(crate) fn allow_reason(
        &self,
        store: &Store,
        user: &User,
        access: &ResourceAttributes<'_>,
    ) -> Option<String> {
        self.first_reason(user, || rbac::allows(store, user, access))
    }

    /// Returns why the user may access the non-resource path.
    pub(crate) fn allow_reason_for_path(
        &self,
        store: &Store,
        user: &User,
        verb: &str,
        path: &str,
    ) -> Option<String> {
        self.first_reason(user, || rbac::allows_path(store, user, verb, path))
    }

    /// True if the user may access the non-resource path.
    pub fn allows_path(&self, store: &Store, user: &User, verb: &str, path: &str) -> bool {
        self.allow_reason_for_path(store, user, verb, path).is_some()
    }

    fn first_reason(&self, user: &User, by_roles: impl Fn() -> Option<String>) -> Option<String> {
        if user.is_in("system:masters") {
            return Some(String::new());
        }
        self.modes.iter().find_map(|mode| match mode {
            AuthorizationMode::AlwaysAllow => Some(String::new()),
            AuthorizationMode::Rbac => by_roles(),
        })
    }

    /// Authorizes a request; 403 if it is denied.
    pub(crate) fn authorize(&self, store: &Store, user: &User, info: &RequestInfo) -> Result<(), ApiError> {
        if !info.is_resource {
            if self.allows_path(store, user, &info.verb, &info.path) {
                return Ok(());
            }
            let message = format!(
                "forbidden: User {:?} cannot {} path {:?}",
                user.name, info.verb, info.path
            );
            return Err(ApiError::generic(403, "Forbidden", message));
        }
        let access = ResourceAttributes {
            verb: &info.verb,
            group: &info.group,
            resource: &info.resource,
            subresource: &info.subresource,
            namespace: &info.namespace,
            name: &info.name,
        };
        self.require(store, user, &access)
    }

    /// Returns the 403 if the user may not access the resource.
    pub(crate) fn require(
        &self,
        store: &Store,
        user: &User,
        access: &ResourceAttributes<'_>,
    ) -> Result<(), ApiError> {
        if self.allows(store, user, access) {
            return Ok(());
        }
        Err(access.forbidden(user))
    }
}

//! Whether a user may do something.

use super::{User, rbac};
use crate::http::RequestInfo;
use crate::status::{ApiError, details};
use crate::store::Store;

/// How it is decided who may do what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Everybody may do everything.
    AlwaysAllow,
    /// Roles and bindings say it.
    Rbac,
}

/// What somebody wants to do with a resource.
#[derive(Clone, Copy, Debug)]
pub struct Access<'a> {
    /// As `get`.
    pub verb: &'a str,
    /// The API group.
    pub group: &'a str,
    /// The resource.
    pub resource: &'a str,
    /// The subresource; may be empty.
    pub subresource: &'a str,
    /// The namespace; empty for all and for none.
    pub namespace: &'a str,
    /// The name; empty for all.
    pub name: &'a str,
}

impl Access<'_> {
    /// What a user is told who may not do this.
    pub(crate) fn forbidden(&self, user: &User) -> ApiError {
        let Access {
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
        let place = if namespace.is_empty() {
            "at the cluster scope".to_owned()
        } else {
            format!("in the namespace {namespace:?}")
        };
        let message = format!(
            "{what} is forbidden: User {:?} cannot {verb} resource {part:?} in API group {group:?} {place}",
            user.name
        );
        let mut error = ApiError::new(403, "Forbidden", message);
        error.details = Some(details(name, group, resource));
        error
    }
}

/// Decides; if several modes are on, any of them is enough.
#[derive(Clone, Debug)]
pub struct Authorizer {
    modes: Vec<Mode>,
}

impl Authorizer {
    /// With these modes.
    pub fn new(modes: &[Mode]) -> Self {
        Self {
            modes: modes.to_vec(),
        }
    }

    /// Whether the user may do this with a resource.
    pub fn allows(&self, store: &Store, user: &User, access: &Access<'_>) -> bool {
        self.reason(store, user, access).is_some()
    }

    /// Why the user may do this with a resource; None when the user may not, empty when it goes without saying.
    pub(crate) fn reason(&self, store: &Store, user: &User, access: &Access<'_>) -> Option<String> {
        self.any(user, || rbac::allows(store, user, access))
    }

    /// Why the user may do this with a path.
    pub(crate) fn reason_for_path(
        &self,
        store: &Store,
        user: &User,
        verb: &str,
        path: &str,
    ) -> Option<String> {
        self.any(user, || rbac::allows_path(store, user, verb, path))
    }

    /// Whether the user may do this with a path that is no resource's.
    pub fn allows_path(&self, store: &Store, user: &User, verb: &str, path: &str) -> bool {
        self.reason_for_path(store, user, verb, path).is_some()
    }

    fn any(&self, user: &User, by_roles: impl Fn() -> Option<String>) -> Option<String> {
        if user.is_in("system:masters") {
            return Some(String::new());
        }
        self.modes.iter().find_map(|mode| match mode {
            Mode::AlwaysAllow => Some(String::new()),
            Mode::Rbac => by_roles(),
        })
    }

    /// Whether the user may do what a request asks.
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
        let access = Access {
            verb: &info.verb,
            group: &info.group,
            resource: &info.resource,
            subresource: &info.subresource,
            namespace: &info.namespace,
            name: &info.name,
        };
        self.require(store, user, &access)
    }

    /// Refuses what the user may not do with a resource.
    pub(crate) fn require(&self, store: &Store, user: &User, access: &Access<'_>) -> Result<(), ApiError> {
        if self.allows(store, user, access) {
            return Ok(());
        }
        Err(access.forbidden(user))
    }
}

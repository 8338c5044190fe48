//! Impersonation modes. The constrained ones also check the permission for the impersonated action; the legacy mode does not.

use super::RequestedUser;
use crate::auth::NODE_NAME_EXTRA;
use crate::auth::{Authorizer, ResourceAttributes, User};
use crate::meta::names;
use crate::request::RequestInfo;
use crate::status::{ApiError, Cause};
use crate::storage::Store;

/// The API group of the permissions of the constrained modes.
const AUTHENTICATION_GROUP: &str = "authentication.k8s.io";

/// From this number of values on, a wildcard permission is checked first.
const WILDCARD_CHECK_MIN_VALUES: usize = 4;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ImpersonationMode {
    /// A service account impersonates the node on which its pod runs.
    AssociatedNode,
    ArbitraryNode,
    ServiceAccount,
    UserInfo,
    /// By the verb `impersonate`, for any action.
    Legacy,
}

impl ImpersonationMode {
    /// All modes, in the order in which they are tried.
    pub(super) const ALL: [Self; 5] = [
        Self::AssociatedNode,
        Self::ArbitraryNode,
        Self::ServiceAccount,
        Self::UserInfo,
        Self::Legacy,
    ];

    /// True if the mode can be used by this user for this impersonation.
    pub(super) fn applies_to(self, requested: &RequestedUser, user: &User) -> bool {
        let (node, account) = (node(&requested.name), account(&requested.name));
        match self {
            Self::AssociatedNode => {
                let on = user.extra.get(NODE_NAME_EXTRA).map(Vec::as_slice);
                let is_on = node.is_some_and(|node| matches!(on, Some([on]) if on == node));
                requested.has_only_name() && is_on && self::account(&user.name).is_some()
            }
            Self::ArbitraryNode => requested.has_only_name() && node.is_some(),
            Self::ServiceAccount => requested.has_only_name() && account.is_some(),
            Self::UserInfo => node.is_none() && account.is_none(),
            Self::Legacy => true,
        }
    }

    /// The name of the mode in verbs; None for the legacy mode.
    fn name(self) -> Option<&'static str> {
        match self {
            Self::AssociatedNode => Some("associated-node"),
            Self::ArbitraryNode => Some("arbitrary-node"),
            Self::ServiceAccount => Some("serviceaccount"),
            Self::UserInfo => Some("user-info"),
            Self::Legacy => None,
        }
    }

    fn verb(self) -> String {
        self.name()
            .map_or_else(|| "impersonate".to_owned(), |name| format!("impersonate:{name}"))
    }
}

/// An impersonation in one mode.
pub(super) struct ImpersonationCheck<'a> {
    pub(super) mode: ImpersonationMode,
    pub(super) authorizer: &'a Authorizer,
    pub(super) store: &'a Store,
    pub(super) user: &'a User,
    pub(super) requested: &'a RequestedUser,
}

impl ImpersonationCheck<'_> {
    /// Checks the permissions and returns the impersonated user.
    pub(super) fn run(&self, info: &RequestInfo) -> Result<User, ApiError> {
        if let Some(mode) = self.mode.name() {
            let constrained = RequestInfo {
                verb: format!("impersonate-on:{mode}:{}", info.verb),
                ..info.clone()
            };
            self.authorizer.authorize(self.store, self.user, &constrained)?;
        }
        let mut impersonated = self.base_user()?;
        if !self.requested.uid.is_empty() {
            self.require(&extra_attributes("uids", "", &self.requested.uid))?;
            impersonated.uid.clone_from(&self.requested.uid);
        }
        if !self.requested.groups.is_empty() {
            self.require_groups()?;
            impersonated.groups.clone_from(&self.requested.groups);
        }
        self.require_extras()?;
        impersonated.extra.clone_from(&self.requested.extras);
        let anonymous = "system:unauthenticated";
        let group = if impersonated.name == "system:anonymous" {
            anonymous
        } else {
            "system:authenticated"
        };
        if ![group, anonymous].iter().any(|group| impersonated.is_in(group)) {
            impersonated.groups.push(group.to_owned());
        }
        Ok(impersonated)
    }

    fn base_user(&self) -> Result<User, ApiError> {
        let requested = &*self.requested.name;
        if let Some(node) = node(requested).filter(|_| self.mode != ImpersonationMode::Legacy) {
            // kube-apiserver may reuse a cached decision for another node, so the permission must cover all nodes.
            let name = if self.mode == ImpersonationMode::AssociatedNode {
                "*"
            } else {
                node
            };
            self.require(&self.user_attributes("nodes", "", name))?;
            return Ok(User::new(requested, &["system:nodes"]));
        }
        if let Some((namespace, name)) = account(requested) {
            self.require(&self.user_attributes("serviceaccounts", namespace, name))?;
            return Ok(User::service_account(namespace, name));
        }
        self.require(&self.user_attributes("users", "", requested))?;
        Ok(User::new(requested, &[]))
    }

    fn require_groups(&self) -> Result<(), ApiError> {
        let groups = &self.requested.groups;
        if self.mode != ImpersonationMode::Legacy {
            for (group, group_text) in [("", "the empty string"), ("system:masters", "the system:masters")] {
                if groups.iter().any(|requested| *requested == group) {
                    let why = format!("impersonating {group_text} group is not allowed");
                    return Err(self.forbidden(&self.user_attributes("groups", "", group), &why));
                }
            }
            if groups.len() >= WILDCARD_CHECK_MIN_VALUES
                && self.require(&self.user_attributes("groups", "", "*")).is_ok()
            {
                return Ok(());
            }
        }
        groups
            .iter()
            .try_for_each(|group| self.require(&self.user_attributes("groups", "", group)))
    }

    fn require_extras(&self) -> Result<(), ApiError> {
        let extras = &self.requested.extras;
        if self.mode != ImpersonationMode::Legacy {
            if let Some(why) = extras.iter().find_map(|(key, values)| invalid_extra(key, values)) {
                return Err(self.forbidden(&extra_attributes("userextras", "", ""), &why));
            }
            let values = extras.values().map(Vec::len).sum::<usize>();
            if values >= WILDCARD_CHECK_MIN_VALUES
                && self.require(&extra_attributes("userextras", "*", "*")).is_ok()
            {
                return Ok(());
            }
        }
        for (key, values) in extras {
            for value in values {
                self.require(&extra_attributes("userextras", key, value))?;
            }
        }
        Ok(())
    }

    /// The attributes of the permission to impersonate a user, group or account. Their API group depends on the mode.
    fn user_attributes<'t>(
        &self,
        resource: &'t str,
        namespace: &'t str,
        name: &'t str,
    ) -> ResourceAttributes<'t> {
        let group = if self.mode == ImpersonationMode::Legacy {
            ""
        } else {
            AUTHENTICATION_GROUP
        };
        ResourceAttributes {
            group,
            namespace,
            ..extra_attributes(resource, "", name)
        }
    }

    fn require(&self, access: &ResourceAttributes<'_>) -> Result<(), ApiError> {
        let verb = &self.mode.verb();
        let access = ResourceAttributes { verb, ..*access };
        self.authorizer.require(self.store, self.user, &access)
    }

    fn forbidden(&self, access: &ResourceAttributes<'_>, why: &str) -> ApiError {
        let verb = &self.mode.verb();
        let mut error = ResourceAttributes { verb, ..*access }.forbidden(self.user);
        error.message = format!("{}: {why}", error.message);
        error
    }
}

/// The attributes of the permission for uid or extras; the verb is set later.
fn extra_attributes<'t>(resource: &'t str, subresource: &'t str, name: &'t str) -> ResourceAttributes<'t> {
    ResourceAttributes {
        verb: "",
        group: AUTHENTICATION_GROUP,
        resource,
        subresource,
        namespace: "",
        name,
    }
}

fn node(user: &str) -> Option<&str> {
    let name = user.strip_prefix("system:node:")?;
    names::is_subdomain(name).then_some(name)
}

fn account(user: &str) -> Option<(&str, &str)> {
    let account = user.strip_prefix("system:serviceaccount:")?;
    let (namespace, name) = account.split_once(':')?;
    let is_one = names::is_label(namespace) && names::is_subdomain(name);
    is_one.then_some((namespace, name))
}

/// Validates an extra field and returns the error. Only the constrained modes check this.
fn invalid_extra(key: &str, values: &[String]) -> Option<String> {
    if key.is_empty() {
        return Some("impersonating the empty string key in extra is not allowed".to_owned());
    }
    let causes: Vec<Cause> = prefixed_path(key)
        .into_iter()
        .map(|(part, why)| Cause::invalid("extra.key", &part.into(), why))
        .collect();
    if !causes.is_empty() {
        let causes = Cause::join(&causes);
        return Some(format!(
            "impersonating an invalid key in extra is not allowed: {causes}"
        ));
    }
    if key.chars().any(char::is_uppercase) {
        return Some(format!(
            "impersonating a non-lowercase key in extra is not allowed: {key:?}"
        ));
    }
    let is_empty = values.iter().any(String::is_empty);
    is_empty.then(|| "impersonating the empty string value in extra is not allowed".to_owned())
}

/// Validates a domain-prefixed path; returns the invalid parts and the reasons.
fn prefixed_path(path: &str) -> Vec<(&str, &'static str)> {
    let parts = path.split_once('/');
    let Some((host, rest)) = parts.filter(|(host, rest)| !host.is_empty() && !rest.is_empty()) else {
        let why = r#"must be a domain-prefixed path (such as "acme.io/foo")"#;
        return vec![(path, why)];
    };
    let mut wrong: Vec<_> = names::subdomain_errors(host)
        .into_iter()
        .map(|why| (host, why))
        .collect();
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || "/-._~%!$&'()*+,;=:".contains(c);
    if !rest.chars().all(is_allowed) {
        let why = r"Invalid path (regex used for validation is '[A-Za-z0-9/\-._~%!$&'()*+,;=:]+')";
        wrong.push((rest, why));
    }
    wrong
}

//! The ways to be allowed to act as another. All but the oldest ask also what is done so.

use super::Wanted;
use crate::auth::tokens::NODE_NAME;
use crate::auth::{Access, Authorizer, User};
use crate::http::RequestInfo;
use crate::meta::names;
use crate::status::{ApiError, Cause};
use crate::store::Store;

/// The group of what the constrained ways ask about.
const AUTHENTICATION: &str = "authentication.k8s.io";

/// From so many values on it is asked first whether all are allowed.
const MANY: usize = 4;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    /// A service account as the node on which its pod runs.
    AssociatedNode,
    ArbitraryNode,
    ServiceAccount,
    UserInfo,
    /// By the verb `impersonate`, whatever is done so.
    Legacy,
}

impl Mode {
    /// In the order in which they are tried.
    pub(super) const ALL: [Self; 5] = [
        Self::AssociatedNode,
        Self::ArbitraryNode,
        Self::ServiceAccount,
        Self::UserInfo,
        Self::Legacy,
    ];

    /// Whether it is a way to act as this one, for this user.
    pub(super) fn is_for(self, wanted: &Wanted, user: &User) -> bool {
        let (node, account) = (node(&wanted.name), account(&wanted.name));
        match self {
            Self::AssociatedNode => {
                let on = user.extra.get(NODE_NAME).map(Vec::as_slice);
                let is_on = node.is_some_and(|node| matches!(on, Some([on]) if on == node));
                wanted.is_only_a_name() && is_on && self::account(&user.name).is_some()
            }
            Self::ArbitraryNode => wanted.is_only_a_name() && node.is_some(),
            Self::ServiceAccount => wanted.is_only_a_name() && account.is_some(),
            Self::UserInfo => node.is_none() && account.is_none(),
            Self::Legacy => true,
        }
    }

    /// As it stands in verbs; None of the oldest.
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

/// Somebody tries to act as somebody else in one of the ways.
pub(super) struct Attempt<'a> {
    pub(super) mode: Mode,
    pub(super) authorizer: &'a Authorizer,
    pub(super) store: &'a Store,
    pub(super) user: &'a User,
    pub(super) wanted: &'a Wanted,
}

impl Attempt<'_> {
    /// Who acts then.
    pub(super) fn make(&self, info: &RequestInfo) -> Result<User, ApiError> {
        if let Some(mode) = self.mode.name() {
            let asked = RequestInfo {
                verb: format!("impersonate-on:{mode}:{}", info.verb),
                ..info.clone()
            };
            self.authorizer.authorize(self.store, self.user, &asked)?;
        }
        let mut acting = self.named()?;
        if !self.wanted.uid.is_empty() {
            self.require(&extra("uids", "", &self.wanted.uid))?;
            acting.uid.clone_from(&self.wanted.uid);
        }
        if !self.wanted.groups.is_empty() {
            self.require_groups()?;
            acting.groups.clone_from(&self.wanted.groups);
        }
        self.require_extras()?;
        acting.extra.clone_from(&self.wanted.extras);
        let anonymous = "system:unauthenticated";
        let group = if acting.name == "system:anonymous" {
            anonymous
        } else {
            "system:authenticated"
        };
        if ![group, anonymous].iter().any(|group| acting.is_in(group)) {
            acting.groups.push(group.to_owned());
        }
        Ok(acting)
    }

    fn named(&self) -> Result<User, ApiError> {
        let wanted = &*self.wanted.name;
        if let Some(node) = node(wanted).filter(|_| self.mode != Mode::Legacy) {
            // The real server may answer from what it knows of another node: so all are asked for.
            let name = if self.mode == Mode::AssociatedNode {
                "*"
            } else {
                node
            };
            self.require(&self.core("nodes", "", name))?;
            return Ok(User::new(wanted, &["system:nodes"]));
        }
        if let Some((namespace, name)) = account(wanted) {
            self.require(&self.core("serviceaccounts", namespace, name))?;
            return Ok(User::service_account(namespace, name));
        }
        self.require(&self.core("users", "", wanted))?;
        Ok(User::new(wanted, &[]))
    }

    fn require_groups(&self) -> Result<(), ApiError> {
        let groups = &self.wanted.groups;
        if self.mode != Mode::Legacy {
            for (group, called) in [("", "the empty string"), ("system:masters", "the system:masters")] {
                if groups.iter().any(|wanted| *wanted == group) {
                    let why = format!("impersonating {called} group is not allowed");
                    return Err(self.forbidden(&self.core("groups", "", group), &why));
                }
            }
            if groups.len() >= MANY && self.require(&self.core("groups", "", "*")).is_ok() {
                return Ok(());
            }
        }
        groups
            .iter()
            .try_for_each(|group| self.require(&self.core("groups", "", group)))
    }

    fn require_extras(&self) -> Result<(), ApiError> {
        let extras = &self.wanted.extras;
        if self.mode != Mode::Legacy {
            if let Some(why) = extras.iter().find_map(|(key, values)| complaint(key, values)) {
                return Err(self.forbidden(&extra("userextras", "", ""), &why));
            }
            let values = extras.values().map(Vec::len).sum::<usize>();
            if values >= MANY && self.require(&extra("userextras", "*", "*")).is_ok() {
                return Ok(());
            }
        }
        for (key, values) in extras {
            for value in values {
                self.require(&extra("userextras", key, value))?;
            }
        }
        Ok(())
    }

    /// A kind of user, whose group each way has its own opinion of.
    fn core<'t>(&self, resource: &'t str, namespace: &'t str, name: &'t str) -> Access<'t> {
        let group = if self.mode == Mode::Legacy {
            ""
        } else {
            AUTHENTICATION
        };
        Access {
            group,
            namespace,
            ..extra(resource, "", name)
        }
    }

    fn require(&self, access: &Access<'_>) -> Result<(), ApiError> {
        let verb = &self.mode.verb();
        let access = Access { verb, ..*access };
        self.authorizer.require(self.store, self.user, &access)
    }

    fn forbidden(&self, access: &Access<'_>, why: &str) -> ApiError {
        let verb = &self.mode.verb();
        let mut error = Access { verb, ..*access }.forbidden(self.user);
        error.message = format!("{}: {why}", error.message);
        error
    }
}

/// What else is said of a user; the verb is to be filled in.
fn extra<'t>(resource: &'t str, subresource: &'t str, name: &'t str) -> Access<'t> {
    Access {
        verb: "",
        group: AUTHENTICATION,
        resource,
        subresource,
        namespace: "",
        name,
    }
}

fn node(user: &str) -> Option<&str> {
    let name = user.strip_prefix("system:node:")?;
    names::subdomain(name).is_empty().then_some(name)
}

fn account(user: &str) -> Option<(&str, &str)> {
    let account = user.strip_prefix("system:serviceaccount:")?;
    let (namespace, name) = account.split_once(':')?;
    let is_one = names::label(namespace).is_empty() && names::subdomain(name).is_empty();
    is_one.then_some((namespace, name))
}

/// What is wrong with an extra, which the oldest way takes all the same.
fn complaint(key: &str, values: &[String]) -> Option<String> {
    if key.is_empty() {
        return Some("impersonating the empty string key in extra is not allowed".to_owned());
    }
    let causes: Vec<Cause> = prefixed_path(key)
        .into_iter()
        .map(|(part, why)| Cause::invalid("extra.key", &part.into(), why))
        .collect();
    if !causes.is_empty() {
        let causes = Cause::together(&causes);
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

/// What is wrong with a path behind a domain, and with which part of it.
fn prefixed_path(path: &str) -> Vec<(&str, String)> {
    let parts = path.split_once('/');
    let Some((host, rest)) = parts.filter(|(host, rest)| !host.is_empty() && !rest.is_empty()) else {
        let why = r#"must be a domain-prefixed path (such as "acme.io/foo")"#;
        return vec![(path, why.to_owned())];
    };
    let mut wrong: Vec<_> = names::subdomain(host)
        .into_iter()
        .map(|why| (host, why))
        .collect();
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || "/-._~%!$&'()*+,;=:".contains(c);
    if !rest.chars().all(is_allowed) {
        let why = r"Invalid path (regex used for validation is '[A-Za-z0-9/\-._~%!$&'()*+,;=:]+')";
        wrong.push((rest, why.to_owned()));
    }
    wrong
}

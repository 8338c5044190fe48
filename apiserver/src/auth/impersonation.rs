//! Acting as somebody else, for those who may.

use super::{Access, Authorizer, User};
use crate::http::{RequestInfo, decode_path};
use crate::meta::names;
use crate::status::ApiError;
use crate::store::Store;
use http::HeaderMap;
use parking_lot::Mutex;
use std::collections::{BTreeMap, HashSet};

const USER: &str = "impersonate-user";
const GROUP: &str = "impersonate-group";
const UID: &str = "impersonate-uid";
const EXTRA: &str = "impersonate-extra-";
/// The group of what constrained impersonation asks about.
const AUTHENTICATION: &str = "authentication.k8s.io";

/// So many users are remembered.
const REMEMBERED: usize = 10_000;

/// Whose last success was the old way's: it is tried first for them, and a refusal is the first way's.
#[derive(Debug, Default)]
pub(crate) struct Impersonators(Mutex<HashSet<String>>);

impl Impersonators {
    fn prefers_legacy(&self, user: &User) -> bool {
        self.0.lock().contains(&user.name)
    }

    fn note(&self, user: &User, mode: Mode) {
        let mut legacy = self.0.lock();
        if mode != Mode::Legacy {
            legacy.remove(&user.name);
            return;
        }
        if legacy.len() >= REMEMBERED {
            legacy.clear();
        }
        legacy.insert(user.name.clone());
    }
}

/// The user as whom a request acts; None when that is who sent it.
pub(crate) fn impersonate(
    known: &Impersonators,
    authorizer: &Authorizer,
    store: &Store,
    user: &User,
    headers: &HeaderMap,
    info: &RequestInfo,
) -> Result<Option<User>, ApiError> {
    let values = |key: &str| -> Vec<String> {
        let values = headers
            .get_all(key)
            .iter()
            .filter_map(|value| value.to_str().ok());
        values.map(str::to_owned).collect()
    };
    let names = values(USER);
    let groups = values(GROUP);
    let uids = values(UID);
    let extras: Vec<(String, String)> = headers
        .iter()
        .filter_map(|(key, value)| {
            let key = key.as_str().strip_prefix(EXTRA)?;
            Some((decode_path(key), value.to_str().ok()?.to_owned()))
        })
        .collect();
    let Some(name) = names.first().filter(|name| !name.is_empty()) else {
        if groups.is_empty() && uids.is_empty() && extras.is_empty() {
            return Ok(None);
        }
        let uid = uids.first().map_or("", String::as_str);
        let groups = if groups.is_empty() {
            "(nil)".to_owned()
        } else {
            format!("{{{}}}", quoted(&groups))
        };
        let mut by_key: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for (key, value) in extras {
            by_key.entry(key).or_default().push(value);
        }
        let extras: Vec<String> = by_key
            .iter()
            .map(|(key, values)| format!("{key:?}:[]string{{{}}}", quoted(values)))
            .collect();
        let extras = if extras.is_empty() {
            "(nil)".to_owned()
        } else {
            format!("{{{}}}", extras.join(", "))
        };
        return Err(ApiError::bad_request(format!(
            "requested &user.DefaultInfo{{Name:\"\", UID:{uid:?}, Groups:[]string{groups}, Extra:map[string][]string{extras}}} \
            without impersonating a user name"
        )));
    };
    let wanted = Wanted {
        name,
        uid: uids.first().map(String::as_str).filter(|uid| !uid.is_empty()),
        groups: &groups,
        extras: &extras,
    };
    let mut modes = wanted.modes();
    if known.prefers_legacy(user) {
        modes.reverse();
    }
    let mut refusal = None;
    for mode in modes {
        match wanted.by(mode, authorizer, store, user, info) {
            Ok(acting) => {
                known.note(user, mode);
                return Ok(Some(acting));
            }
            Err(error) => {
                refusal.get_or_insert(error);
            }
        }
    }
    Err(refusal.unwrap_or_else(|| ApiError::internal("all impersonation modes failed")))
}

/// Ways to be allowed to act as another: the constrained ones ask also what is done so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Constrained(&'static str),
    Legacy,
}

/// Who a request wants to act as.
struct Wanted<'a> {
    name: &'a str,
    uid: Option<&'a str>,
    groups: &'a [String],
    extras: &'a [(String, String)],
}

impl Wanted<'_> {
    /// The modes that apply, two at most, in the order in which they are tried at first.
    fn modes(&self) -> Vec<Mode> {
        let name_only = self.uid.is_none() && self.groups.is_empty() && self.extras.is_empty();
        let constrained = match (self.node(), self.account()) {
            (Some(_), _) => name_only.then_some("arbitrary-node"),
            (_, Some(_)) => name_only.then_some("serviceaccount"),
            _ => Some("user-info"),
        };
        constrained
            .map(Mode::Constrained)
            .into_iter()
            .chain([Mode::Legacy])
            .collect()
    }

    fn node(&self) -> Option<&str> {
        let name = self.name.strip_prefix("system:node:")?;
        names::subdomain(name).is_empty().then_some(name)
    }

    fn account(&self) -> Option<(&str, &str)> {
        self.name
            .strip_prefix("system:serviceaccount:")
            .and_then(|account| account.split_once(':'))
    }

    /// Who acts, if the user may do so in this mode.
    fn by(
        &self,
        mode: Mode,
        authorizer: &Authorizer,
        store: &Store,
        user: &User,
        info: &RequestInfo,
    ) -> Result<User, ApiError> {
        let (verb, group) = match mode {
            Mode::Legacy => ("impersonate".to_owned(), ""),
            Mode::Constrained(mode) => {
                let asked = RequestInfo {
                    verb: format!("impersonate-on:{mode}:{}", info.verb),
                    ..info.clone()
                };
                authorizer.authorize(store, user, &asked)?;
                (format!("impersonate:{mode}"), AUTHENTICATION)
            }
        };
        let require = |group: &str, resource: &str, subresource: &str, namespace: &str, name: &str| {
            let access = Access {
                verb: &verb,
                group,
                resource,
                subresource,
                namespace,
                name,
            };
            if mode != Mode::Legacy && (resource, name) == ("groups", "system:masters") {
                let mut error = access.forbidden(user);
                error.message += ": impersonating the system:masters group is not allowed";
                return Err(error);
            }
            authorizer.require(store, user, &access)
        };
        let mut acting = User::new(self.name, &[]);
        match (self.node(), self.account()) {
            (Some(node), _) if mode != Mode::Legacy => {
                require(group, "nodes", "", "", node)?;
                acting.groups.push("system:nodes".to_owned());
            }
            (_, Some((namespace, account))) => {
                require(group, "serviceaccounts", "", namespace, account)?;
                acting = User::service_account(namespace, account);
            }
            _ => require(group, "users", "", "", self.name)?,
        }
        if let Some(uid) = self.uid {
            require(AUTHENTICATION, "uids", "", "", uid)?;
            uid.clone_into(&mut acting.uid);
        }
        for name in self.groups {
            require(group, "groups", "", "", name)?;
        }
        for (key, value) in self.extras {
            require(AUTHENTICATION, "userextras", key, "", value)?;
            acting.extra.entry(key.clone()).or_default().push(value.clone());
        }
        if !self.groups.is_empty() {
            acting.groups = self.groups.to_vec();
        }
        let anonymous = "system:unauthenticated";
        let has = |acting: &User, group: &str| acting.groups.iter().any(|known| known == group);
        let group = if acting.name == "system:anonymous" {
            anonymous
        } else {
            "system:authenticated"
        };
        if !has(&acting, group) && !has(&acting, anonymous) {
            acting.groups.push(group.to_owned());
        }
        Ok(acting)
    }
}

/// As Go writes the elements of a slice of strings.
fn quoted(values: &[String]) -> String {
    let values: Vec<String> = values.iter().map(|value| format!("{value:?}")).collect();
    values.join(", ")
}

//! Acting as somebody else, for those who may.

use super::{Access, Authorizer, User};
use crate::status::ApiError;
use crate::store::Store;
use http::HeaderMap;
use std::collections::BTreeMap;

const USER: &str = "impersonate-user";
const GROUP: &str = "impersonate-group";
const UID: &str = "impersonate-uid";
const EXTRA: &str = "impersonate-extra-";

/// The user as whom a request acts; None when that is who sent it.
pub(crate) fn impersonate(
    authorizer: &Authorizer,
    store: &Store,
    user: &User,
    headers: &HeaderMap,
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
            Some((key.to_owned(), value.to_str().ok()?.to_owned()))
        })
        .collect();
    let Some(name) = names.first() else {
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
    let require = |group: &str, resource: &str, subresource: &str, namespace: &str, name: &str| {
        let access = Access {
            verb: "impersonate",
            group,
            resource,
            subresource,
            namespace,
            name,
        };
        authorizer.require(store, user, &access)
    };
    let account = name
        .strip_prefix("system:serviceaccount:")
        .and_then(|account| account.split_once(':'));
    let mut acting = if let Some((namespace, account)) = account {
        require("", "serviceaccounts", "", namespace, account)?;
        User::service_account(namespace, account)
    } else {
        require("", "users", "", "", name)?;
        User::new(name.clone(), &[])
    };
    for group in &groups {
        require("", "groups", "", "", group)?;
    }
    for uid in &uids {
        require("authentication.k8s.io", "uids", "", "", uid)?;
        acting.uid.clone_from(uid);
    }
    for (key, value) in extras {
        require("authentication.k8s.io", "userextras", &key, "", &value)?;
        acting.extra.entry(key).or_default().push(value);
    }
    if !groups.is_empty() {
        acting.groups = groups;
    }
    let group = if acting.name == "system:anonymous" {
        "system:unauthenticated"
    } else {
        "system:authenticated"
    };
    if !acting.groups.iter().any(|known| known == group) {
        acting.groups.push(group.to_owned());
    }
    Ok(Some(acting))
}

/// As Go writes the elements of a slice of strings.
fn quoted(values: &[String]) -> String {
    let values: Vec<String> = values.iter().map(|value| format!("{value:?}")).collect();
    values.join(", ")
}

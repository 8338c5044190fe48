//! Impersonation: acting as another user, if a permission allows it.
//!
//! This file parses the headers and tries the modes in order; `mode` contains the modes.
//!
//! kube-apiserver caches decisions of the constrained modes for ten seconds. Here changes of roles take effect at once.

mod mode;

use super::{Authorizer, User};
use crate::request::{RequestInfo, decode_path};
use crate::status::ApiError;
use crate::storage::Store;
use http::{HeaderMap, HeaderValue};
use mode::{ImpersonationCheck, ImpersonationMode};
use parking_lot::Mutex;
use std::collections::{BTreeMap, HashMap};

const USER_HEADER: &str = "impersonate-user";
const GROUP_HEADER: &str = "impersonate-group";
const UID_HEADER: &str = "impersonate-uid";
const EXTRA_HEADER_PREFIX: &str = "impersonate-extra-";

/// The capacity of the mode cache, in users.
const MAX_CACHED_USERS: usize = 10_000;

/// The mode that allowed each user's last impersonation. It is tried first, and if all modes fail its error is returned.
#[derive(Debug, Default)]
pub(crate) struct ImpersonationModeCache(Mutex<HashMap<String, ImpersonationMode>>);

impl ImpersonationModeCache {
    fn get(&self, user: &User) -> Option<ImpersonationMode> {
        self.0.lock().get(&user.name).copied()
    }

    fn insert(&self, user: &User, mode: ImpersonationMode) {
        let mut modes = self.0.lock();
        if modes.len() >= MAX_CACHED_USERS {
            modes.clear();
        }
        modes.insert(user.name.clone(), mode);
    }
}

/// Returns the user that the request acts as; None without impersonation headers.
pub(crate) fn impersonate(
    modes: &ImpersonationModeCache,
    authorizer: &Authorizer,
    store: &Store,
    user: &User,
    headers: &HeaderMap,
    info: &RequestInfo,
) -> Result<Option<User>, ApiError> {
    let Some(requested) = RequestedUser::from_headers(headers)? else {
        return Ok(None);
    };
    let last = modes.get(user);
    let others = ImpersonationMode::ALL
        .into_iter()
        .filter(|mode| Some(*mode) != last);
    let mut first_error = None;
    for mode in last.into_iter().chain(others) {
        if !mode.applies_to(&requested, user) {
            continue;
        }
        let check = ImpersonationCheck {
            mode,
            authorizer,
            store,
            user,
            requested: &requested,
        };
        match check.run(info) {
            Ok(impersonated) => {
                modes.insert(user, mode);
                return Ok(Some(impersonated));
            }
            Err(error) => {
                first_error.get_or_insert(error);
            }
        }
    }
    Err(first_error.unwrap_or_else(|| ApiError::internal("all impersonation modes failed")))
}

/// Returns the value of a header. If one were ignored because it is not ASCII, the request would run as the user who sent it.
fn text_of(value: &HeaderValue) -> String {
    String::from_utf8_lossy(value.as_bytes()).into_owned()
}

/// The user that a request asks to impersonate.
#[derive(Debug, Default)]
struct RequestedUser {
    name: String,
    /// Empty if not requested.
    uid: String,
    groups: Vec<String>,
    extras: BTreeMap<String, Vec<String>>,
}

impl RequestedUser {
    /// Parses the impersonation headers; None if there are none.
    fn from_headers(headers: &HeaderMap) -> Result<Option<Self>, ApiError> {
        let values = |key: &str| -> Vec<String> {
            let values = headers.get_all(key).iter();
            values.map(text_of).collect()
        };
        let first = |key: &str| values(key).into_iter().next().unwrap_or_default();
        let mut requested = Self {
            name: first(USER_HEADER),
            uid: first(UID_HEADER),
            groups: values(GROUP_HEADER),
            extras: BTreeMap::new(),
        };
        for (key, value) in headers {
            let key = key.as_str().strip_prefix(EXTRA_HEADER_PREFIX).map(decode_path);
            if let Some(key) = key {
                requested.extras.entry(key).or_default().push(text_of(value));
            }
        }
        match (requested.name.is_empty(), requested.has_only_name()) {
            (true, true) => Ok(None),
            (true, false) => Err(ApiError::bad_request(format!(
                "requested {} without impersonating a user name",
                requested.to_go_string()
            ))),
            (false, _) => Ok(Some(requested)),
        }
    }

    fn has_only_name(&self) -> bool {
        self.uid.is_empty() && self.groups.is_empty() && self.extras.is_empty()
    }

    fn to_go_string(&self) -> String {
        let slice = |values: &[String]| {
            let values: Vec<String> = values.iter().map(|value| format!("{value:?}")).collect();
            format!("{{{}}}", values.join(", "))
        };
        let or_nil = |is_empty: bool, text: String| if is_empty { "(nil)".to_owned() } else { text };
        let groups = or_nil(self.groups.is_empty(), slice(&self.groups));
        let extras = self.extras.iter();
        let extras: Vec<String> = extras
            .map(|(key, values)| format!("{key:?}:[]string{}", slice(values)))
            .collect();
        let extras = or_nil(extras.is_empty(), format!("{{{}}}", extras.join(", ")));
        format!(
            "&user.DefaultInfo{{Name:{:?}, UID:{:?}, Groups:[]string{groups}, Extra:map[string][]string{extras}}}",
            self.name, self.uid
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_that_are_not_ascii_name_a_user() {
        let mut headers = HeaderMap::new();
        headers.insert(
            USER_HEADER,
            HeaderValue::from_bytes("b\u{f6}".as_bytes()).unwrap(),
        );
        headers.insert(GROUP_HEADER, HeaderValue::from_bytes(b"g\xff").unwrap());
        let requested = RequestedUser::from_headers(&headers).unwrap().unwrap();
        assert_eq!(requested.name, "b\u{f6}");
        assert_eq!(requested.groups, ["g\u{fffd}"]);
    }
}

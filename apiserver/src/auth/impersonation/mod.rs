//! Acting as somebody else, for those who may.
//!
//! Here: who a request wants to act as, and in which order the ways to be allowed are tried. `mode` has the ways.
//!
//! The real server remembers for ten seconds whom somebody was allowed to be in one of the constrained ways; here roles count at once, as
//! they do everywhere else.

mod mode;

use super::{Authorizer, User};
use crate::http::{RequestInfo, decode_path};
use crate::status::ApiError;
use crate::store::Store;
use http::HeaderMap;
use mode::{Attempt, Mode};
use parking_lot::Mutex;
use std::collections::{BTreeMap, HashMap};

const USER: &str = "impersonate-user";
const GROUP: &str = "impersonate-group";
const UID: &str = "impersonate-uid";
const EXTRA: &str = "impersonate-extra-";

/// So many users are remembered.
const REMEMBERED: usize = 10_000;

/// The way in which each user was allowed last: it is tried first for them, and a refusal is the first way's.
#[derive(Debug, Default)]
pub(crate) struct Impersonators(Mutex<HashMap<String, Mode>>);

impl Impersonators {
    fn last(&self, user: &User) -> Option<Mode> {
        self.0.lock().get(&user.name).copied()
    }

    fn note(&self, user: &User, mode: Mode) {
        let mut last = self.0.lock();
        if last.len() >= REMEMBERED {
            last.clear();
        }
        last.insert(user.name.clone(), mode);
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
    let Some(wanted) = Wanted::of(headers)? else {
        return Ok(None);
    };
    let last = known.last(user);
    let others = Mode::ALL.into_iter().filter(|mode| Some(*mode) != last);
    let mut refusal = None;
    for mode in last.into_iter().chain(others) {
        if !mode.is_for(&wanted, user) {
            continue;
        }
        let attempt = Attempt {
            mode,
            authorizer,
            store,
            user,
            wanted: &wanted,
        };
        match attempt.make(info) {
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

/// Who a request wants to act as.
#[derive(Debug, Default)]
struct Wanted {
    name: String,
    /// Empty where none is wanted.
    uid: String,
    groups: Vec<String>,
    extras: BTreeMap<String, Vec<String>>,
}

impl Wanted {
    /// What the headers say; None where they say nothing of it.
    fn of(headers: &HeaderMap) -> Result<Option<Self>, ApiError> {
        let values = |key: &str| -> Vec<String> {
            let values = headers.get_all(key).iter();
            values
                .filter_map(|value| value.to_str().ok())
                .map(str::to_owned)
                .collect()
        };
        let first = |key: &str| values(key).into_iter().next().unwrap_or_default();
        let mut wanted = Self {
            name: first(USER),
            uid: first(UID),
            groups: values(GROUP),
            extras: BTreeMap::new(),
        };
        for (key, value) in headers {
            let key = key.as_str().strip_prefix(EXTRA).map(decode_path);
            if let (Some(key), Ok(value)) = (key, value.to_str()) {
                wanted.extras.entry(key).or_default().push(value.to_owned());
            }
        }
        match (wanted.name.is_empty(), wanted.is_only_a_name()) {
            (true, true) => Ok(None),
            (true, false) => Err(ApiError::bad_request(format!(
                "requested {} without impersonating a user name",
                wanted.as_go_prints()
            ))),
            (false, _) => Ok(Some(wanted)),
        }
    }

    fn is_only_a_name(&self) -> bool {
        self.uid.is_empty() && self.groups.is_empty() && self.extras.is_empty()
    }

    fn as_go_prints(&self) -> String {
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

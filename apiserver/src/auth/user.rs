//! Users.

use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// The identity of a client.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct User {
    /// The name.
    pub name: String,
    /// The uid; may be empty.
    pub uid: String,
    /// The groups.
    pub groups: Vec<String>,
    /// Additional attributes.
    pub extra: BTreeMap<String, Vec<String>>,
}

impl User {
    /// Creates a user with a name and groups.
    pub fn new(name: impl Into<String>, groups: &[&str]) -> Self {
        Self {
            name: name.into(),
            groups: groups.iter().map(|&group| group.to_owned()).collect(),
            ..Self::default()
        }
    }

    /// The user of requests without credentials.
    pub fn anonymous() -> Self {
        Self::new("system:anonymous", &["system:unauthenticated"])
    }

    /// The server itself.
    pub fn system() -> Self {
        Self::new("system:apiserver", &["system:masters", "system:authenticated"])
    }

    /// The user of a service account that has authenticated itself.
    pub fn service_account(namespace: &str, name: &str) -> Self {
        let mut user = Self::unauthenticated_service_account(namespace, name);
        user.groups.push("system:authenticated".to_owned());
        user
    }

    /// A service account that only an expression names: it lacks the group that authentication adds.
    pub(crate) fn unauthenticated_service_account(namespace: &str, name: &str) -> Self {
        let groups = [
            "system:serviceaccounts".to_owned(),
            format!("system:serviceaccounts:{namespace}"),
        ];
        Self {
            name: format!("system:serviceaccount:{namespace}:{name}"),
            groups: groups.into(),
            ..Self::default()
        }
    }

    /// True if the user is in the group.
    pub fn is_in(&self, group: &str) -> bool {
        self.groups.iter().any(|known| known == group)
    }

    /// Returns the user as the `UserInfo` of a review.
    pub fn to_json(&self) -> Value {
        let mut info = Map::new();
        info.insert("username".into(), json!(self.name));
        if !self.uid.is_empty() {
            info.insert("uid".into(), json!(self.uid));
        }
        if !self.groups.is_empty() {
            info.insert("groups".into(), json!(self.groups));
        }
        if !self.extra.is_empty() {
            info.insert("extra".into(), json!(self.extra));
        }
        Value::Object(info)
    }
}

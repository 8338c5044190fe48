//! Flow control: nothing is limited here, but responses name the flow schema that a request matches, and its priority level.

use crate::auth::User;
use crate::meta;
use crate::request::RequestInfo;
use crate::storage::Store;
use http::{HeaderMap, HeaderName, HeaderValue};
use parking_lot::RwLock;
use serde::Deserialize;
use serde_json::Value;
use std::sync::Arc;

const SCHEMAS: &str = "flowschemas.flowcontrol.apiserver.k8s.io";
const LEVELS: &str = "prioritylevelconfigurations.flowcontrol.apiserver.k8s.io";
const SCHEMA_UID: HeaderName = HeaderName::from_static("x-kubernetes-pf-flowschema-uid");
const LEVEL_UID: HeaderName = HeaderName::from_static("x-kubernetes-pf-prioritylevel-uid");

/// The flow schemas, until an object of flow control changes.
#[derive(Debug, Default)]
pub(crate) struct FlowSchemas(RwLock<([u64; 2], Arc<[FlowSchema]>)>);

impl FlowSchemas {
    /// Adds the headers of a request by a user.
    pub(super) fn add_headers(
        &self,
        store: &Store,
        user: &User,
        info: &RequestInfo,
        headers: &mut HeaderMap,
    ) {
        let schemas = self.current(store);
        if let Some(schema) = schemas.iter().find(|schema| schema.matches(user, info)) {
            headers.insert(LEVEL_UID, schema.level_uid.clone());
            headers.insert(SCHEMA_UID, schema.uid.clone());
        }
    }

    fn current(&self, store: &Store) -> Arc<[FlowSchema]> {
        let changes = [SCHEMAS, LEVELS].map(|table| store.newest_change(table));
        let (at, schemas) = self.0.read().clone();
        if at == changes {
            return schemas;
        }
        let mut found: Vec<FlowSchema> = store
            .objects(SCHEMAS, "")
            .iter()
            .filter_map(|schema| FlowSchema::parse(store, schema.value()))
            .collect();
        // The store sorts by name.
        found.sort_by_key(|schema| schema.precedence);
        let schemas: Arc<[FlowSchema]> = found.into();
        *self.0.write() = (changes, schemas.clone());
        schemas
    }
}

/// A flow schema whose priority level exists.
#[derive(Debug)]
struct FlowSchema {
    precedence: i64,
    uid: HeaderValue,
    level_uid: HeaderValue,
    rules: Vec<Rule>,
}

impl FlowSchema {
    fn parse(store: &Store, schema: &Value) -> Option<Self> {
        let spec = &schema["spec"];
        let level = store.get(LEVELS, spec["priorityLevelConfiguration"]["name"].as_str()?)?;
        Some(Self {
            precedence: spec["matchingPrecedence"].as_i64().unwrap_or_default(),
            uid: meta::uid(schema).parse().ok()?,
            level_uid: meta::uid(level.value()).parse().ok()?,
            rules: Vec::deserialize(&spec["rules"]).unwrap_or_default(),
        })
    }

    fn matches(&self, user: &User, info: &RequestInfo) -> bool {
        self.rules.iter().any(|rule| rule.matches(user, info))
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Rule {
    subjects: Vec<Subject>,
    resource_rules: Vec<ResourceRule>,
    non_resource_rules: Vec<PathRule>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Subject {
    user: Option<Named>,
    group: Option<Named>,
    service_account: Option<Named>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Named {
    namespace: String,
    name: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct ResourceRule {
    verbs: Vec<String>,
    api_groups: Vec<String>,
    resources: Vec<String>,
    cluster_scope: bool,
    namespaces: Vec<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct PathRule {
    verbs: Vec<String>,
    #[serde(rename = "nonResourceURLs")]
    paths: Vec<String>,
}

impl Rule {
    fn matches(&self, user: &User, info: &RequestInfo) -> bool {
        self.subjects.iter().any(|subject| subject.matches(user))
            && if info.is_resource {
                self.resource_rules.iter().any(|rule| rule.matches(info))
            } else {
                self.non_resource_rules.iter().any(|rule| rule.matches(info))
            }
    }
}

impl Subject {
    fn matches(&self, user: &User) -> bool {
        let is_named = |named: &Option<Named>, is_it: &dyn Fn(&str) -> bool| {
            let name = named.as_ref().map(|named| named.name.as_str());
            name.is_some_and(|name| name == "*" || is_it(name))
        };
        let is_account = |account: &Named| {
            let rest = user.name.strip_prefix("system:serviceaccount:");
            let named = rest.and_then(|rest| rest.split_once(':'));
            named.is_some_and(|(namespace, name)| {
                account.namespace == namespace && (account.name == "*" || account.name == name)
            })
        };
        is_named(&self.user, &|name| user.name == name)
            || is_named(&self.group, &|name| user.is_in(name))
            || self.service_account.as_ref().is_some_and(is_account)
    }
}

impl ResourceRule {
    fn matches(&self, info: &RequestInfo) -> bool {
        let resource = match info.subresource.as_str() {
            "" => info.resource.clone(),
            subresource => format!("{}/{subresource}", info.resource),
        };
        let in_scope = if info.namespace.is_empty() {
            self.cluster_scope
        } else {
            contains(&self.namespaces, &info.namespace)
        };
        in_scope
            && contains(&self.verbs, &info.verb)
            && contains(&self.resources, &resource)
            && contains(&self.api_groups, &info.group)
    }
}

impl PathRule {
    fn matches(&self, info: &RequestInfo) -> bool {
        let is_path = |pattern: &String| {
            let prefix = pattern.strip_suffix('*').unwrap_or(pattern);
            let is_below = |prefix: &str| {
                info.path
                    .strip_prefix(prefix)
                    .is_some_and(|rest| rest.starts_with('/'))
            };
            pattern == "*" || *pattern == info.path || is_below(prefix.trim_end_matches('/'))
        };
        contains(&self.verbs, &info.verb) && self.paths.iter().any(is_path)
    }
}

/// Whether a list contains an item, or only the asterisk.
fn contains(list: &[String], item: &str) -> bool {
    list.iter().any(|known| known == item) || matches!(list, [all] if all == "*")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::Query;
    use http::Method;
    use serde_json::json;

    #[test]
    fn requests_match_by_subject_and_by_resource_or_path() {
        let rule = |subject: Value| {
            let rule = json!({
                "subjects": [subject],
                "resourceRules": [{
                    "verbs": ["get"], "apiGroups": [""], "resources": ["pods", "pods/status"], "namespaces": ["n"],
                }],
                "nonResourceRules": [{ "verbs": ["*"], "nonResourceURLs": ["/healthz", "/openapi/*"] }],
            });
            Rule::deserialize(&rule).unwrap()
        };
        let group = rule(json!({ "kind": "Group", "group": { "name": "devs" } }));
        let account =
            rule(json!({ "kind": "ServiceAccount", "serviceAccount": { "namespace": "n", "name": "*" } }));
        let matches = |rule: &Rule, user: &User, path: &str| {
            rule.matches(user, &RequestInfo::new(&Method::GET, path, &Query::default()))
        };
        let alice = User::new("alice", &["devs"]);
        for (path, expected) in [
            ("/api/v1/namespaces/n/pods/p", true),
            ("/api/v1/namespaces/n/pods/p/status", true),
            ("/api/v1/namespaces/n/pods/p/log", false),
            ("/api/v1/namespaces/m/pods/p", false),
            ("/api/v1/namespaces/n/pods", false),
            ("/healthz", true),
            ("/healthz/ping", true),
            ("/healthzz", false),
            ("/openapi/v3", true),
            ("/openapi", false),
        ] {
            assert_eq!(matches(&group, &alice, path), expected, "{path}");
        }
        assert!(!matches(&group, &User::new("bob", &[]), "/healthz"));
        assert!(matches(&account, &User::service_account("n", "a"), "/healthz"));
        assert!(!matches(&account, &User::service_account("m", "a"), "/healthz"));
    }
}

//! Permissions of the operator, from which its roles are generated.

use std::collections::BTreeSet;

use k8s_openapi::api::rbac::v1::PolicyRule;
use serde::Serialize;

use crate::{ApiResource, Scope, client::VerbRule, events::EventsApi};

/// Where a permission is granted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum PermissionScope {
    /// In the watched namespaces: a ClusterRole, or a Role in each when the operator's scope is namespaced.
    Watched,
    /// In the operator's own namespace: a Role.
    Operator,
    /// For cluster-scoped kinds and paths: always a ClusterRole.
    Cluster,
    /// In the namespace `default`: a Role there, if the operator's scope is namespaced.
    #[serde(rename = "default")]
    DefaultNamespace,
}

/// A permission unit: the rules of one informer, verb, owner or recorder. It counts as used if any of its requests was audited.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Permission {
    /// The unit's name: its origin in the code, and the kind.
    pub unit: String,
    /// Where it is granted; `place` in the manifests.
    pub scope: PermissionScope,
    /// The API groups; empty text for the core group.
    pub api_groups: Vec<String>,
    /// The resources, with `/subresource` for a subresource.
    pub resources: Vec<String>,
    /// The verbs.
    pub verbs: Vec<String>,
    /// Its origin, for comments in the roles.
    pub why: String,
    /// The names of the objects; empty for all.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub resource_names: Vec<String>,
    /// Non-resource URLs.
    #[serde(rename = "nonResourceURLs", skip_serializing_if = "Vec::is_empty")]
    pub non_resource_urls: Vec<String>,
    /// The component that needs it; none: the operator itself, which also reads for the informers of components and writes their events.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub component: Option<String>,
}

impl Permission {
    /// Returns verbs on a kind or one of its subresources. The permission scope follows from the kind's scope.
    pub fn on(kind: &ApiResource, subresource: Option<&str>, verbs: &[&str], unit: &str, why: &str) -> Self {
        let resource = match subresource {
            Some(subresource) => format!("{}/{subresource}", kind.plural),
            None => kind.plural.to_string(),
        };
        Self {
            unit: unit.to_owned(),
            scope: match kind.scope {
                Scope::Namespaced => PermissionScope::Watched,
                Scope::Cluster => PermissionScope::Cluster,
            },
            api_groups: vec![kind.group.to_string()],
            resources: vec![resource],
            verbs: verbs.iter().map(|&verb| verb.to_owned()).collect(),
            why: why.to_owned(),
            resource_names: Vec::new(),
            non_resource_urls: Vec::new(),
            component: None,
        }
    }

    /// Returns the same permission as that of a component.
    pub(super) fn of_component(self, component: Option<&str>) -> Self {
        Self {
            component: component.map(str::to_owned),
            ..self
        }
    }

    /// Returns the permission of an informer.
    pub(super) fn informer(kind: &ApiResource) -> Self {
        Self::on(
            kind,
            None,
            &["list", "watch"],
            &format!("informer {}", kind.kind),
            "informer",
        )
    }

    /// Returns the permission of one verb of a client.
    pub(super) fn client(kind: &ApiResource, rule: &VerbRule) -> Self {
        let unit = format!("client {} {}", kind.kind, rule.unit);
        Self::on(kind, rule.subresource, rule.verbs, &unit, "client")
    }

    /// Returns the permission to set owner references with `blockOwnerDeletion` to objects of the kind.
    pub(super) fn owner(kind: &ApiResource) -> Self {
        Self::on(
            kind,
            Some("finalizers"),
            &["update"],
            &format!("owner {}", kind.kind),
            "owner references",
        )
    }

    /// Returns the permission to change owner references of objects of the kind: API servers with the admission plugin
    /// OwnerReferencesPermissionEnforcement ask for it. No request uses it.
    pub(super) fn owned(kind: &ApiResource) -> Self {
        Self::on(
            kind,
            None,
            &["delete"],
            &format!("owned {}", kind.kind),
            "owner references",
        )
    }

    /// Returns the permission of the event recorder.
    pub(super) fn events(api: EventsApi) -> Self {
        Self {
            unit: "events".to_owned(),
            scope: PermissionScope::Watched,
            api_groups: vec![api.group().to_owned()],
            resources: vec!["events".to_owned()],
            verbs: vec!["create".to_owned(), "patch".to_owned()],
            why: "recorder".to_owned(),
            resource_names: Vec::new(),
            non_resource_urls: Vec::new(),
            component: None,
        }
    }

    /// Returns the permission for events about cluster-scoped objects, which API servers accept in `default` only.
    pub(super) fn events_of_the_cluster(api: EventsApi) -> Self {
        Self {
            unit: "events about cluster-scoped objects".to_owned(),
            scope: PermissionScope::DefaultNamespace,
            ..Self::events(api)
        }
    }

    /// Returns a rule of the user.
    pub(super) fn raw(rule: PolicyRule, scope: PermissionScope) -> Self {
        let resources = rule.resources.unwrap_or_default();
        let non_resource_urls = rule.non_resource_urls.unwrap_or_default();
        let what = if resources.is_empty() {
            &non_resource_urls
        } else {
            &resources
        };
        Self {
            unit: format!("needs {} {}", rule.verbs.join(","), what.join(",")),
            scope: if non_resource_urls.is_empty() {
                scope
            } else {
                PermissionScope::Cluster
            },
            api_groups: rule.api_groups.unwrap_or_default(),
            verbs: rule.verbs,
            why: "needs".to_owned(),
            resource_names: rule.resource_names.unwrap_or_default(),
            resources,
            non_resource_urls,
            component: None,
        }
    }
}

/// Sorts and deduplicates permissions.
pub(super) fn distinct(permissions: impl IntoIterator<Item = Permission>) -> Vec<Permission> {
    permissions
        .into_iter()
        .collect::<BTreeSet<_>>()
        .into_iter()
        .collect()
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::{apps::v1::Deployment, core::v1::Node};

    use super::*;
    use crate::Kind;

    #[test]
    fn permission_scope_follows_from_the_kind() {
        assert_eq!(
            Permission::informer(&Deployment::info()).scope,
            PermissionScope::Watched
        );
        assert_eq!(
            Permission::informer(&Node::info()).scope,
            PermissionScope::Cluster
        );
    }

    #[test]
    fn permission_serialises_as_the_cli_reads_it() {
        let rule = VerbRule {
            unit: "UpdateStatus",
            subresource: Some("status"),
            verbs: &["update"],
        };
        assert_eq!(
            serde_json::to_value(Permission::client(&Deployment::info(), &rule)).unwrap(),
            serde_json::json!({
                "unit": "client Deployment UpdateStatus", "scope": "watched", "apiGroups": ["apps"],
                "resources": ["deployments/status"], "verbs": ["update"], "why": "client",
            })
        );
    }

    #[test]
    fn rules_on_non_resource_urls_have_cluster_scope() {
        let permission = Permission::raw(
            PolicyRule {
                non_resource_urls: Some(vec!["/metrics".to_owned()]),
                verbs: vec!["get".to_owned()],
                ..PolicyRule::default()
            },
            PermissionScope::Watched,
        );
        assert_eq!(permission.scope, PermissionScope::Cluster);
        assert_eq!(permission.unit, "needs get /metrics");
    }

    #[test]
    fn equal_permissions_are_deduplicated() {
        let node = Permission::informer(&Node::info());
        assert_eq!(distinct([node.clone(), node.clone()]), [node]);
    }
}

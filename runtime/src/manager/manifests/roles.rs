//! The permissions as roles, for people. The command `kubewright` writes the roles to apply, with bindings, by the project's scope.

use std::collections::BTreeSet;

use k8s_openapi::api::rbac::v1::{ClusterRole, PolicyRule, Role};
use kube::api::ObjectMeta;
use serde_json::{Value, json};

use crate::controller::{Permission, PermissionScope};

/// Returns a ClusterRole for the watched namespaces and the cluster, and a Role for the operator's own namespace; then a ClusterRole
/// `OPERATOR:COMPONENT` for each component.
pub(super) fn of(operator: &str, permissions: &[Permission]) -> Vec<Value> {
    let metadata = |name: &str| ObjectMeta {
        name: Some(name.to_owned()),
        ..ObjectMeta::default()
    };
    let rules = |own: bool, component: Option<&str>| {
        // All namespaces are watched here, so `default` needs no rule of its own.
        let selected = permissions
            .iter()
            .filter(|permission| permission.component.as_deref() == component)
            .filter(|permission| permission.scope != PermissionScope::DefaultNamespace)
            .filter(|permission| (permission.scope == PermissionScope::Operator) == own);
        Some(selected.map(rule).collect::<Vec<_>>()).filter(|rules| !rules.is_empty())
    };
    let cluster_role = |name: &str, component: Option<&str>| {
        json!(ClusterRole {
            metadata: metadata(name),
            rules: rules(false, component),
            ..ClusterRole::default()
        })
    };
    let role = Role {
        metadata: metadata(operator),
        rules: rules(true, None),
    };
    let components: BTreeSet<&str> = permissions
        .iter()
        .filter_map(|permission| permission.component.as_deref())
        .collect();
    let of_components = components
        .into_iter()
        .map(|component| cluster_role(&format!("{operator}:{component}"), Some(component)));
    [cluster_role(operator, None), json!(role)]
        .into_iter()
        .chain(of_components)
        .collect()
}

fn rule(permission: &Permission) -> PolicyRule {
    let some = |texts: &[String]| Some(texts.to_vec()).filter(|texts| !texts.is_empty());
    PolicyRule {
        api_groups: some(&permission.api_groups),
        resources: some(&permission.resources),
        resource_names: some(&permission.resource_names),
        non_resource_urls: some(&permission.non_resource_urls),
        verbs: permission.verbs.clone(),
    }
}

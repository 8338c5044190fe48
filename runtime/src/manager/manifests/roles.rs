//! The permissions as roles, for people. The command `kubewright` writes the roles to apply, with bindings, by the project's scope.

use k8s_openapi::api::rbac::v1::{ClusterRole, PolicyRule, Role};
use kube::api::ObjectMeta;
use serde_json::{Value, json};

use crate::controller::{Permission, PermissionScope};

/// Returns a ClusterRole for the watched namespaces and the cluster, and a Role for the operator's own namespace.
pub(super) fn of(operator: &str, permissions: &[Permission]) -> Vec<Value> {
    let metadata = || ObjectMeta {
        name: Some(operator.to_owned()),
        ..ObjectMeta::default()
    };
    let rules = |own: bool| {
        // All namespaces are watched here, so `default` needs no rule of its own.
        let selected = permissions
            .iter()
            .filter(|permission| permission.scope != PermissionScope::DefaultNamespace)
            .filter(|permission| (permission.scope == PermissionScope::Operator) == own);
        Some(selected.map(rule).collect::<Vec<_>>()).filter(|rules| !rules.is_empty())
    };
    let cluster_role = ClusterRole {
        metadata: metadata(),
        rules: rules(false),
        ..ClusterRole::default()
    };
    let role = Role {
        metadata: metadata(),
        rules: rules(true),
    };
    vec![json!(cluster_role), json!(role)]
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

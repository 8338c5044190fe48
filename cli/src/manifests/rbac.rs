//! Generates roles and bindings from the operator's permissions.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
};

use serde_json::{Value, json};

use super::{Manifests, Permission, PermissionScope};
use crate::{yaml, yaml::YamlError};

/// Directory of the RBAC files.
pub const FOLDER: &str = "manifests/rbac";

/// The namespace of events about cluster-scoped objects.
const DEFAULT_NAMESPACE: &str = "default";

const RBAC_GROUP: &str = "rbac.authorization.k8s.io";

/// Returns the RBAC files with their texts. Files without objects are left out.
///
/// `namespace` is the operator's own; `watched` are the watched namespaces, empty for all.
pub fn files(
    manifests: &Manifests,
    namespace: &str,
    watched: &[String],
) -> Result<Vec<(PathBuf, String)>, YamlError> {
    let operator = manifests.operator.as_str();
    let of_webhooks = merge_rules(webhook_permissions(manifests, watched));
    let rules_for = |scopes: &[PermissionScope]| {
        merge_rules(manifests.permissions.iter().filter(|permission| {
            let is_elsewhere = is_of_webhooks(permission, watched) || permission.is_for_metrics();
            scopes.contains(&permission.scope) && !is_elsewhere
        }))
    };
    let everywhere = if watched.is_empty() {
        rules_for(&[PermissionScope::Cluster, PermissionScope::Watched])
    } else {
        rules_for(&[PermissionScope::Cluster])
    };
    let in_watched = rules_for(&[PermissionScope::Watched]);
    let own = rules_for(&[PermissionScope::Operator]);

    let mut roles = Vec::new();
    let mut bindings = Vec::new();
    if !everywhere.is_empty() {
        roles.push(role("ClusterRole", operator, None, &everywhere));
        bindings.push(binding(
            "ClusterRoleBinding",
            operator,
            None,
            "ClusterRole",
            (operator, namespace),
        ));
    }
    let in_default = rules_for(&[PermissionScope::DefaultNamespace]);
    let watches_default = watched.iter().any(|name| name == DEFAULT_NAMESPACE);
    // An operator that watches `default` has these permissions there already, by the watched scope.
    let also_default = (!watched.is_empty() && !watches_default).then_some((DEFAULT_NAMESPACE, &in_default));
    let watched = watched.iter().map(|name| (name.as_str(), &in_watched));
    for (namespaced, rules) in watched.chain(also_default).filter(|(_, rules)| !rules.is_empty()) {
        roles.push(role("Role", operator, Some(namespaced), rules));
        bindings.push(binding(
            "RoleBinding",
            operator,
            Some(namespaced),
            "Role",
            (operator, namespace),
        ));
    }
    let leader = format!("{operator}-leader-election");
    let leases = if own.is_empty() {
        Vec::new()
    } else {
        vec![
            role("Role", &leader, Some(namespace), &own),
            binding(
                "RoleBinding",
                &leader,
                Some(namespace),
                "Role",
                (operator, namespace),
            ),
        ]
    };
    let webhooks = format!("{operator}-webhooks");
    let of_webhooks = if of_webhooks.is_empty() {
        Vec::new()
    } else {
        let account = (operator, namespace);
        vec![
            role("ClusterRole", &webhooks, None, &of_webhooks),
            binding("ClusterRoleBinding", &webhooks, None, "ClusterRole", account),
        ]
    };
    let of_metrics = merge_rules(
        manifests
            .permissions
            .iter()
            .filter(|permission| permission.is_for_metrics()),
    );
    let account = json!({
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": {"name": operator, "namespace": namespace},
    });
    let files = [
        ("leader_election", leases),
        ("metrics", metrics_roles(operator, namespace, &of_metrics)),
        ("role", roles),
        ("role_binding", bindings),
        ("service_account", vec![account]),
        ("webhooks", of_webhooks),
    ];
    files
        .into_iter()
        .filter(|(_, documents)| !documents.is_empty())
        .map(|(name, documents)| {
            Ok((
                format!("{FOLDER}/{name}.yaml").into(),
                yaml::write_all(&documents)?,
            ))
        })
        .collect()
}

/// Returns the role with which the operator authenticates clients of its metrics, and the one that such a client needs; none if metrics are
/// plain. They are outside of namespaces, and in a file of their own, whatever the scope.
fn metrics_roles(operator: &str, namespace: &str, rules: &[Value]) -> Vec<Value> {
    if rules.is_empty() {
        return Vec::new();
    }
    let reviews = format!("{operator}-metrics-auth");
    let read = json!({"nonResourceURLs": ["/metrics"], "verbs": ["get"]});
    let account = (operator, namespace);
    vec![
        role("ClusterRole", &reviews, None, rules),
        binding("ClusterRoleBinding", &reviews, None, "ClusterRole", account),
        role(
            "ClusterRole",
            &format!("{operator}-metrics-reader"),
            None,
            &[read],
        ),
    ]
}

/// Returns what a namespaced operator cannot do without its cluster-wide permissions for webhooks, which are in a file of their own.
pub fn webhook_warning(manifests: &Manifests, watched: &[String]) -> Option<String> {
    let of_permission = |permission: &Permission| {
        let names = permission.resource_names.iter();
        let resource = permission.resources.join(", ");
        names.map(|name| format!("{resource}/{name}")).collect::<Vec<_>>()
    };
    let objects: Vec<String> = webhook_permissions(manifests, watched)
        .flat_map(of_permission)
        .collect();
    (!objects.is_empty()).then(|| {
        format!(
            "{FOLDER}/webhooks.yaml has permissions outside of the watched namespaces: without them the operator cannot write its CA bundle \
             into {}, and the API server does not call it; apply the file, or set `certificates = \"cert-manager\"` in kubewright.toml",
            objects.join(", ")
        )
    })
}

fn webhook_permissions<'a>(
    manifests: &'a Manifests,
    watched: &'a [String],
) -> impl Iterator<Item = &'a Permission> {
    let permissions = manifests.permissions.iter();
    permissions.filter(|permission| is_of_webhooks(permission, watched))
}

/// Whether the permission is in a file of its own: one outside of namespaces with which a namespaced operator serves webhooks.
fn is_of_webhooks(permission: &Permission, watched: &[String]) -> bool {
    let is_cluster_wide = permission.scope == PermissionScope::Cluster;
    !watched.is_empty() && is_cluster_wide && permission.is_for_webhook_certificate()
}

fn role(kind: &str, name: &str, namespace: Option<&str>, rules: &[Value]) -> Value {
    json!({"apiVersion": format!("{RBAC_GROUP}/v1"), "kind": kind, "metadata": metadata(name, namespace), "rules": rules})
}

fn binding(kind: &str, name: &str, namespace: Option<&str>, role: &str, account: (&str, &str)) -> Value {
    json!({
        "apiVersion": format!("{RBAC_GROUP}/v1"),
        "kind": kind,
        "metadata": metadata(name, namespace),
        "roleRef": {"apiGroup": RBAC_GROUP, "kind": role, "name": name},
        "subjects": [{"kind": "ServiceAccount", "name": account.0, "namespace": account.1}],
    })
}

fn metadata(name: &str, namespace: Option<&str>) -> Value {
    namespace.map_or_else(
        || json!({"name": name}),
        |namespace| json!({"name": name, "namespace": namespace}),
    )
}

/// Merges permissions into the fewest rules, in an order independent of the code's.
fn merge_rules<'a>(permissions: impl Iterator<Item = &'a Permission>) -> Vec<Value> {
    type Texts = BTreeSet<String>;
    let texts = |texts: &[String]| texts.iter().cloned().collect::<Texts>();
    // First the verbs of each resource, then the resources that share the same verbs.
    let mut verbs: BTreeMap<(String, Texts, String), Texts> = BTreeMap::new();
    let mut urls: BTreeMap<String, Texts> = BTreeMap::new();
    for permission in permissions {
        for group in &permission.api_groups {
            for resource in &permission.resources {
                let key = (group.clone(), texts(&permission.resource_names), resource.clone());
                verbs
                    .entry(key)
                    .or_default()
                    .extend(permission.verbs.iter().cloned());
            }
        }
        for url in &permission.non_resource_urls {
            urls.entry(url.clone())
                .or_default()
                .extend(permission.verbs.iter().cloned());
        }
    }
    let mut resources: BTreeMap<(String, Texts, Texts), Texts> = BTreeMap::new();
    for ((group, names, resource), verbs) in verbs {
        resources
            .entry((group, names, verbs))
            .or_default()
            .insert(resource);
    }
    let mut paths: BTreeMap<Texts, Texts> = BTreeMap::new();
    for (url, verbs) in urls {
        paths.entry(verbs).or_default().insert(url);
    }
    let mut rules: Vec<_> = resources
        .into_iter()
        .map(|((group, names, verbs), resources)| {
            let mut rule = json!({"apiGroups": [group], "resources": resources, "verbs": verbs});
            if !names.is_empty() {
                rule["resourceNames"] = json!(names);
            }
            rule
        })
        .collect();
    rules.sort_by_cached_key(|rule| (rule["apiGroups"].to_string(), rule["resources"].to_string()));
    rules.extend(
        paths
            .into_iter()
            .map(|(verbs, urls)| json!({"nonResourceURLs": urls, "verbs": verbs})),
    );
    rules
}

#[cfg(test)]
mod tests {
    use super::*;

    fn permission(scope: PermissionScope, group: &str, resources: &[&str], verbs: &[&str]) -> Permission {
        let owned = |texts: &[&str]| texts.iter().map(ToString::to_string).collect();
        Permission {
            scope,
            api_groups: vec![group.into()],
            resources: owned(resources),
            resource_names: vec![],
            non_resource_urls: vec![],
            verbs: owned(verbs),
            why: String::new(),
        }
    }

    fn manifests() -> Manifests {
        Manifests {
            operator: "shop".into(),
            kinds: vec![],
            webhooks: None,
            permissions: vec![
                permission(
                    PermissionScope::Watched,
                    "demo.dev",
                    &["foos"],
                    &["watch", "list"],
                ),
                permission(
                    PermissionScope::Watched,
                    "apps",
                    &["deployments"],
                    &["list", "watch"],
                ),
                permission(
                    PermissionScope::Watched,
                    "apps",
                    &["deployments"],
                    &["patch", "create"],
                ),
                permission(
                    PermissionScope::Watched,
                    "demo.dev",
                    &["bars"],
                    &["list", "watch"],
                ),
                permission(PermissionScope::Cluster, "", &["nodes"], &["get"]),
                permission(
                    PermissionScope::Operator,
                    "coordination.k8s.io",
                    &["leases"],
                    &["get", "create", "update"],
                ),
            ],
            warnings: vec![],
        }
    }

    fn documents(files: &[(PathBuf, String)], name: &str) -> Vec<Value> {
        let file = files.iter().find(|(path, _)| path.ends_with(name)).unwrap();
        yaml::read_all(&file.1).unwrap()
    }

    #[test]
    fn merges_rules_and_sorts_them() {
        let files = files(&manifests(), "shop-system", &[]).unwrap();
        let roles = documents(&files, "role.yaml");
        assert_eq!(roles.len(), 1);
        assert_eq!(
            roles[0]["rules"],
            json!([
                {"apiGroups": [""], "resources": ["nodes"], "verbs": ["get"]},
                {"apiGroups": ["apps"], "resources": ["deployments"], "verbs": ["create", "list", "patch", "watch"]},
                {"apiGroups": ["demo.dev"], "resources": ["bars", "foos"], "verbs": ["list", "watch"]},
            ])
        );
        let leases = documents(&files, "leader_election.yaml");
        assert_eq!(leases[0]["kind"], "Role");
        assert_eq!(leases[0]["metadata"]["namespace"], "shop-system");
        assert_eq!(leases[1]["roleRef"]["name"], leases[0]["metadata"]["name"]);
    }

    #[test]
    fn output_is_independent_of_the_permissions_order() {
        let mut other = manifests();
        other.permissions.reverse();
        assert_eq!(
            files(&manifests(), "s", &[]).unwrap(),
            files(&other, "s", &[]).unwrap()
        );
    }

    #[test]
    fn namespaced_scope_gets_a_role_per_watched_namespace() {
        let files = files(&manifests(), "shop-system", &["a".into(), "b".into()]).unwrap();
        let roles = documents(&files, "role.yaml");
        let kinds: Vec<_> = roles
            .iter()
            .map(|role| (&role["kind"], &role["metadata"]["namespace"]))
            .collect();
        assert_eq!(
            kinds,
            [
                (&json!("ClusterRole"), &Value::Null),
                (&json!("Role"), &json!("a")),
                (&json!("Role"), &json!("b"))
            ]
        );
        assert_eq!(
            roles[0]["rules"].as_array().unwrap().len(),
            1,
            "only cluster-scoped permissions"
        );
        let bindings = documents(&files, "role_binding.yaml");
        assert_eq!(bindings.len(), 3);
        for binding in &bindings {
            assert_eq!(binding["subjects"][0]["namespace"], "shop-system");
        }
    }

    #[test]
    fn default_namespace_gets_a_role_unless_it_is_watched() {
        let mut manifests = manifests();
        let events = |scope| permission(scope, "events.k8s.io", &["events"], &["create", "patch"]);
        manifests.permissions.extend([
            events(PermissionScope::Watched),
            events(PermissionScope::DefaultNamespace),
        ]);
        let roles = |watched: &[String]| {
            let files = files(&manifests, "shop-system", watched).unwrap();
            let bindings = documents(&files, "role_binding.yaml");
            let roles = documents(&files, "role.yaml");
            assert_eq!(bindings.len(), roles.len());
            roles
        };
        let scoped = roles(&["a".into()]);
        assert_eq!(scoped.len(), 3);
        assert_eq!(scoped[2]["metadata"]["namespace"], "default");
        assert_eq!(
            scoped[2]["rules"],
            json!([{"apiGroups": ["events.k8s.io"], "resources": ["events"], "verbs": ["create", "patch"]}])
        );
        assert_eq!(roles(&["a".into(), "default".into()]).len(), 3);
        assert_eq!(roles(&[]).len(), 1);
    }

    #[test]
    fn rules_with_resource_names_and_urls_are_not_merged() {
        let mut named = permission(PermissionScope::Cluster, "", &["nodes"], &["delete"]);
        named.resource_names = vec!["a".into()];
        let path = Permission {
            non_resource_urls: vec!["/metrics".into()],
            api_groups: vec![],
            ..permission(PermissionScope::Cluster, "", &[], &["get"])
        };
        let plain = permission(PermissionScope::Cluster, "", &["nodes"], &["get"]);
        assert_eq!(
            merge_rules([&named, &path, &plain].into_iter()),
            [
                json!({"apiGroups": [""], "resources": ["nodes"], "verbs": ["get"]}),
                json!({"apiGroups": [""], "resources": ["nodes"], "resourceNames": ["a"], "verbs": ["delete"]}),
                json!({"nonResourceURLs": ["/metrics"], "verbs": ["get"]}),
            ]
        );
    }
}

//! Evaluation of RBAC roles and bindings.

use super::{ResourceAttributes, User};
use crate::meta::{self, text};
use crate::selectors::LabelSelector;
use crate::storage::{Object, Store};
use serde_json::Value;
use std::collections::HashSet;
use std::sync::Arc;

const GROUP: &str = "rbac.authorization.k8s.io";

/// Returns the explanation of the binding that grants the access, if any.
pub(super) fn allows(store: &Store, user: &User, access: &ResourceAttributes<'_>) -> Option<String> {
    any_rule(store, user, access.namespace, |rule| rule_covers(rule, access))
}

/// Returns the explanation of the binding that grants the non-resource path, if any.
pub(super) fn allows_path(store: &Store, user: &User, verb: &str, path: &str) -> Option<String> {
    any_rule(store, user, "", |rule| {
        contains_or_wildcard(&rule["verbs"], verb)
            && strings(&rule["nonResourceURLs"]).any(|pattern| match pattern.strip_suffix('*') {
                Some(prefix) => path.starts_with(prefix),
                None => pattern == path,
            })
    })
}

/// Returns the rules that apply to a user in a namespace, including cluster-wide ones.
pub(crate) fn rules(store: &Store, user: &User, namespace: &str) -> Vec<Value> {
    let mut rules = vec![];
    any_rule(store, user, namespace, |rule| {
        rules.push(rule.clone());
        false
    });
    rules
}

fn any_rule(
    store: &Store,
    user: &User,
    namespace: &str,
    mut matches: impl FnMut(&Value) -> bool,
) -> Option<String> {
    let mut bindings = rbac_objects(store, "clusterrolebindings", "");
    if !namespace.is_empty() {
        bindings.extend(rbac_objects(store, "rolebindings", namespace));
    }
    bindings.iter().find_map(|binding| {
        let binding = binding.value();
        let namespace = meta::namespace(binding);
        let mut subjects = binding["subjects"].as_array().into_iter().flatten();
        let subject = subjects.find(|subject| subject_matches(user, subject, namespace))?;
        let rules = role_rules(store, &binding["roleRef"], namespace)?;
        rules
            .iter()
            .any(&mut matches)
            .then(|| explain_binding(binding, subject))
    })
}

/// Explains a binding as kube-apiserver does: `RBAC: allowed by RoleBinding "b/n" of Role "r" to User "u"`.
fn explain_binding(binding: &Value, subject: &Value) -> String {
    let (name, namespace) = (meta::name(binding), meta::namespace(binding));
    let bound = if namespace.is_empty() {
        format!("ClusterRoleBinding {name:?}")
    } else {
        format!("RoleBinding \"{name}/{namespace}\"")
    };
    let (role, kind) = (&binding["roleRef"], text(subject, "kind"));
    let subject_name = match kind {
        "ServiceAccount" => format!("{}/{}", text(subject, "name"), text(subject, "namespace")),
        _ => text(subject, "name").to_owned(),
    };
    format!(
        "RBAC: allowed by {bound} of {} {:?} to {kind} {subject_name:?}",
        text(role, "kind"),
        text(role, "name")
    )
}

fn rbac_objects(store: &Store, resource: &str, namespace: &str) -> Vec<Arc<Object>> {
    store.objects(&format!("{resource}.{GROUP}"), namespace)
}

/// Returns the rules of a role; None if the role does not exist.
pub(super) fn role_rules(store: &Store, reference: &Value, namespace: &str) -> Option<Vec<Value>> {
    let name = reference["name"].as_str().unwrap_or_default();
    let role = match reference["kind"].as_str() {
        Some("Role") => store.get(&format!("roles.{GROUP}"), &Store::key(namespace, name)),
        _ => store.get(&format!("clusterroles.{GROUP}"), name),
    }?;
    Some(rules_with_selected(store, role))
}

/// Returns the rules of a role. An aggregated role also has the rules of the roles that it selects, which may be aggregated and select it in
/// turn.
fn rules_with_selected(store: &Store, role: Arc<Object>) -> Vec<Value> {
    let (mut rules, mut seen, mut pending) = (vec![], HashSet::new(), vec![role]);
    let mut all_roles = None;
    while let Some(role) = pending.pop() {
        let role = role.value();
        if !seen.insert(meta::name(role).to_owned()) {
            continue;
        }
        rules.extend(role["rules"].as_array().into_iter().flatten().cloned());
        let selectors = role["aggregationRule"]["clusterRoleSelectors"].as_array();
        let selectors: Vec<LabelSelector> = selectors
            .into_iter()
            .flatten()
            .filter_map(LabelSelector::from_value)
            .collect();
        if selectors.is_empty() {
            continue;
        }
        let all_roles = all_roles.get_or_insert_with(|| rbac_objects(store, "clusterroles", ""));
        let selected = all_roles.iter().rev().filter(|part| {
            let mut selectors = selectors.iter();
            selectors.any(|selector| selector.matches(part.value()))
        });
        pending.extend(selected.cloned());
    }
    rules
}

fn subject_matches(user: &User, subject: &Value, namespace: &str) -> bool {
    let text = |key: &str| subject[key].as_str().unwrap_or_default();
    match text("kind") {
        "User" => user.name == text("name"),
        "Group" => user.is_in(text("name")),
        "ServiceAccount" => {
            let namespace = if text("namespace").is_empty() {
                namespace
            } else {
                text("namespace")
            };
            user.name == format!("system:serviceaccount:{namespace}:{}", text("name"))
        }
        _ => false,
    }
}

fn rule_covers(rule: &Value, access: &ResourceAttributes<'_>) -> bool {
    let mut names = strings(&rule["resourceNames"]).peekable();
    contains_or_wildcard(&rule["verbs"], access.verb)
        && contains_or_wildcard(&rule["apiGroups"], access.group)
        && strings(&rule["resources"]).any(|resource| {
            if access.subresource.is_empty() {
                return resource == "*" || resource == access.resource;
            }
            resource == "*"
                || resource.split_once('/').is_some_and(|(parent, part)| {
                    part == access.subresource && (parent == "*" || parent == access.resource)
                })
        })
        && (names.peek().is_none() || names.any(|name| name == access.name))
}

pub(super) fn contains_or_wildcard(list: &Value, value: &str) -> bool {
    strings(list).any(|text| text == "*" || text == value)
}

pub(super) fn strings(list: &Value) -> impl Iterator<Item = &str> {
    list.as_array().into_iter().flatten().filter_map(Value::as_str)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn access<'a>(
        verb: &'a str,
        resource: &'a str,
        namespace: &'a str,
        name: &'a str,
    ) -> ResourceAttributes<'a> {
        let (resource, subresource) = resource.split_once('/').unwrap_or((resource, ""));
        ResourceAttributes {
            verb,
            group: "",
            resource,
            subresource,
            namespace,
            name,
        }
    }

    fn store() -> Store {
        let store = Store::default();
        let put = |table: &str, key: &str, object: Value| {
            store.create(&format!("{table}.{GROUP}"), key, object).unwrap();
        };
        let rule = json!({ "apiGroups": [""], "resources": ["pods", "pods/log"], "verbs": ["get"], "resourceNames": ["a"] });
        put(
            "roles",
            "n/r",
            json!({ "metadata": { "name": "r", "namespace": "n" }, "rules": [rule] }),
        );
        let subject = json!({ "kind": "ServiceAccount", "name": "op" });
        let reference = json!({ "kind": "Role", "name": "r" });
        let binding = json!({ "metadata": { "name": "b", "namespace": "n" }, "subjects": [subject], "roleRef": reference });
        put("rolebindings", "n/b", binding);
        let all = json!({ "metadata": { "name": "sum" }, "aggregationRule": {
            "clusterRoleSelectors": [{ "matchLabels": { "in": "sum" } }],
        }});
        put("clusterroles", "sum", all);
        let part = json!({ "metadata": { "name": "part", "labels": { "in": "sum" } }, "rules": [
            { "apiGroups": ["*"], "resources": ["*"], "verbs": ["list"] }, { "nonResourceURLs": ["/healthz/*"], "verbs": ["get"] },
        ]});
        put("clusterroles", "part", part);
        let binding = json!({
            "metadata": { "name": "c" }, "subjects": [{ "kind": "Group", "name": "devs" }],
            "roleRef": { "kind": "ClusterRole", "name": "sum" },
        });
        put("clusterrolebindings", "c", binding);
        store
    }

    #[test]
    fn role_grants_only_named_objects_in_its_namespace() {
        let (store, user) = (store(), User::service_account("n", "op"));
        let reason = allows(&store, &user, &access("get", "pods", "n", "a"));
        let words = r#"RBAC: allowed by RoleBinding "b/n" of Role "r" to ServiceAccount "op/""#;
        assert_eq!(reason.as_deref(), Some(words));
        assert!(allows(&store, &user, &access("get", "pods/log", "n", "a")).is_some());
        for (verb, resource, namespace, name) in [
            ("get", "pods", "n", "b"),
            ("get", "pods", "m", "a"),
            ("get", "pods", "", "a"),
            ("list", "pods", "n", ""),
            ("get", "pods/status", "n", "a"),
        ] {
            let reason = allows(&store, &user, &access(verb, resource, namespace, name));
            assert_eq!(reason, None, "{verb} {resource}");
        }
        let other = User::service_account("m", "op");
        assert_eq!(allows(&store, &other, &access("get", "pods", "n", "a")), None);
    }

    #[test]
    fn aggregated_role_has_the_rules_of_selected_roles() {
        let (store, user) = (store(), User::new("x", &["devs"]));
        assert!(allows(&store, &user, &access("list", "anything/at-all", "m", "")).is_some());
        assert!(allows_path(&store, &user, "get", "/healthz/ping").is_some());
        assert_eq!(allows_path(&store, &user, "get", "/version"), None);
    }

    #[test]
    fn aggregated_roles_may_select_each_other() {
        let store = Store::default();
        for (name, selected, verb) in [("a", "b", "get"), ("b", "c", "list"), ("c", "a", "watch")] {
            let role = json!({
                "metadata": { "name": name, "labels": { "is": name } },
                "rules": [{ "apiGroups": [""], "resources": ["pods"], "verbs": [verb] }],
                "aggregationRule": { "clusterRoleSelectors": [{ "matchLabels": { "is": selected } }, {}] },
            });
            store
                .create(&format!("clusterroles.{GROUP}"), name, role)
                .unwrap();
        }
        for name in ["a", "b", "c"] {
            let rules = role_rules(&store, &json!({ "kind": "ClusterRole", "name": name }), "").unwrap();
            let mut verbs: Vec<&str> = rules.iter().flat_map(|rule| strings(&rule["verbs"])).collect();
            verbs.sort_unstable();
            assert_eq!(verbs, ["get", "list", "watch"], "{name}");
        }
    }
}

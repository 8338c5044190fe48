//! RBAC escalation: the rules of a role may not exceed the permissions of the user that writes or binds it.

use super::{User, rbac};
use crate::storage::Store;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// The reason why a user may not grant the rules of a role or a binding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum EscalationError {
    /// The role of the binding does not exist.
    RoleNotFound(String),
    /// The user lacks some of the granted permissions.
    PermissionsNotHeld(String),
}

/// Checks that the user has all permissions that a role, or the role of a binding, grants in a namespace.
pub(crate) fn check_escalation(
    store: &Store,
    user: &User,
    object: &Value,
    namespace: &str,
) -> Result<(), EscalationError> {
    let rules = match object.get("roleRef") {
        None => object["rules"].as_array().cloned().unwrap_or_default(),
        Some(role) => rbac::role_rules(store, role, namespace).ok_or_else(|| {
            let name = role["name"].as_str().unwrap_or_default();
            EscalationError::RoleNotFound(name.to_owned())
        })?,
    };
    let held = rbac::rules(store, user, namespace);
    match escalation_message(user, &held, &rules) {
        None => Ok(()),
        Some(why) => Err(EscalationError::PermissionsNotHeld(why)),
    }
}

/// One permission of a rule: one verb on one resource or path.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum SimpleRule {
    Resource {
        group: String,
        resource: String,
        /// The resource name; None for all.
        name: Option<String>,
        verb: String,
    },
    Path {
        path: String,
        verb: String,
    },
}

/// Returns kube-apiserver's message if `granted` exceeds the rules `held` by the user.
fn escalation_message(user: &User, held: &[Value], granted: &[Value]) -> Option<String> {
    let missing: Vec<SimpleRule> = granted
        .iter()
        .flat_map(break_down_rule)
        .filter(|grant| !held.iter().any(|rule| covers(rule, grant)))
        .collect();
    if missing.is_empty() {
        return None;
    }
    let missing: Vec<String> = compact_rules(missing).into_iter().collect();
    Some(format!(
        "user {:?} (groups={}) is attempting to grant RBAC permissions not currently held:\n{}",
        user.name,
        go_quoted_list(&user.groups),
        missing.join("\n")
    ))
}

fn break_down_rule(rule: &Value) -> Vec<SimpleRule> {
    let texts = |key: &str| -> Vec<String> { rbac::strings(&rule[key]).map(str::to_owned).collect() };
    let (groups, resources, names, verbs) = (
        texts("apiGroups"),
        texts("resources"),
        texts("resourceNames"),
        texts("verbs"),
    );
    let names: Vec<Option<String>> = if names.is_empty() {
        vec![None]
    } else {
        names.into_iter().map(Some).collect()
    };
    let mut rules = vec![];
    for group in &groups {
        for resource in &resources {
            for verb in &verbs {
                rules.extend(names.iter().map(|name| SimpleRule::Resource {
                    group: group.clone(),
                    resource: resource.clone(),
                    name: name.clone(),
                    verb: verb.clone(),
                }));
            }
        }
    }
    for path in texts("nonResourceURLs") {
        rules.extend(verbs.iter().map(|verb| SimpleRule::Path {
            path: path.clone(),
            verb: verb.clone(),
        }));
    }
    rules
}

fn covers(rule: &Value, grant: &SimpleRule) -> bool {
    match grant {
        SimpleRule::Resource {
            group,
            resource,
            name,
            verb,
        } => {
            let mut names = rbac::strings(&rule["resourceNames"]).peekable();
            let any_parent = resource.split_once('/').map(|(_, part)| format!("*/{part}"));
            rbac::contains_or_wildcard(&rule["verbs"], verb)
                && rbac::contains_or_wildcard(&rule["apiGroups"], group)
                && rbac::strings(&rule["resources"]).any(|held| {
                    held == "*" || held == resource || any_parent.as_deref().is_some_and(|any| any == held)
                })
                && (names.peek().is_none() || names.any(|held| name.as_deref() == Some(held)))
        }
        SimpleRule::Path { path, verb } => {
            // A rule with resource names grants no paths.
            rbac::strings(&rule["resourceNames"]).next().is_none()
                && rbac::contains_or_wildcard(&rule["verbs"], verb)
                && rbac::strings(&rule["nonResourceURLs"]).any(|held| {
                    held == path || held.ends_with('*') && path.starts_with(held.trim_end_matches('*'))
                })
        }
    }
}

/// Formats permissions as kube-apiserver does: one entry a resource, with all its verbs.
fn compact_rules(missing: Vec<SimpleRule>) -> BTreeSet<String> {
    let mut verbs_of: BTreeMap<(String, String, Option<String>), Vec<String>> = BTreeMap::new();
    let mut lines = BTreeSet::new();
    for grant in missing {
        match grant {
            SimpleRule::Resource {
                group,
                resource,
                name,
                verb,
            } => verbs_of.entry((group, resource, name)).or_default().push(verb),
            SimpleRule::Path { path, verb } => {
                lines.insert(format!(
                    "{{NonResourceURLs:{}, Verbs:{}}}",
                    go_quoted_list(&[path]),
                    go_quoted_list(&[verb])
                ));
            }
        }
    }
    for ((group, resource, name), verbs) in verbs_of {
        let name = name.map_or(String::new(), |name| {
            format!(", ResourceNames:{}", go_quoted_list(&[name]))
        });
        lines.insert(format!(
            "{{APIGroups:{}, Resources:{}{name}, Verbs:{}}}",
            go_quoted_list(&[group]),
            go_quoted_list(&[resource]),
            go_quoted_list(&verbs)
        ));
    }
    lines
}

/// Formats strings as Go's `%q` of a slice.
fn go_quoted_list(texts: &[String]) -> String {
    let texts: Vec<String> = texts.iter().map(|text| json!(text).to_string()).collect();
    format!("[{}]", texts.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(groups: &[&str], resources: &[&str], names: &[&str], verbs: &[&str]) -> Value {
        json!({ "apiGroups": groups, "resources": resources, "resourceNames": names, "verbs": verbs })
    }

    fn missing(held: &[Value], granted: &[Value]) -> Option<String> {
        let user = User::new("u", &["a", "b"]);
        let text = escalation_message(&user, held, granted)?;
        let prefix =
            "user \"u\" (groups=[\"a\" \"b\"]) is attempting to grant RBAC permissions not currently held:\n";
        Some(text.strip_prefix(prefix).unwrap().to_owned())
    }

    #[test]
    fn held_permissions_can_be_granted() {
        let held = [
            rule(&[""], &["pods"], &[], &["get", "list"]),
            rule(&["apps"], &["*/scale"], &[], &["*"]),
            json!({ "nonResourceURLs": ["/healthz/*"], "verbs": ["get"] }),
        ];
        for granted in [
            rule(&[""], &["pods"], &[], &["list"]),
            rule(&[""], &["pods"], &["one"], &["get"]),
            rule(&["apps"], &["deployments/scale"], &[], &["update"]),
            json!({ "nonResourceURLs": ["/healthz/ping"], "verbs": ["get"] }),
        ] {
            assert_eq!(missing(&held, &[granted]), None);
        }
    }

    #[test]
    fn missing_permissions_are_listed_with_verbs_grouped() {
        let held = [rule(&[""], &["pods"], &["one"], &["*"])];
        let granted = [
            rule(&[""], &["pods"], &[], &["get", "list"]),
            rule(&[""], &["pods"], &["one", "two"], &["get"]),
            json!({ "nonResourceURLs": ["/x"], "verbs": ["get"] }),
        ];
        assert_eq!(
            missing(&held, &granted).unwrap(),
            "{APIGroups:[\"\"], Resources:[\"pods\"], ResourceNames:[\"two\"], Verbs:[\"get\"]}\n\
             {APIGroups:[\"\"], Resources:[\"pods\"], Verbs:[\"get\" \"list\"]}\n\
             {NonResourceURLs:[\"/x\"], Verbs:[\"get\"]}"
        );
    }
}

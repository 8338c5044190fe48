//! Who writes roles and bindings may give away no more than they have, unless a role lets them `escalate` or `bind`.

use super::{User, rbac};
use crate::store::Store;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// Why somebody may not give away what a role or a binding grants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Ungranted {
    /// The binding is of a role that is not there.
    NoSuchRole(String),
    /// More is granted than is held.
    NotHeld(String),
}

/// Whether the user has all that a role, or the role of a binding, grants in a namespace.
pub(crate) fn may_grant(
    store: &Store,
    user: &User,
    object: &Value,
    namespace: &str,
) -> Result<(), Ungranted> {
    let rules = match object.get("roleRef") {
        None => object["rules"].as_array().cloned().unwrap_or_default(),
        Some(role) => rbac::role_rules(store, role, namespace).ok_or_else(|| {
            let name = role["name"].as_str().unwrap_or_default();
            Ungranted::NoSuchRole(name.to_owned())
        })?,
    };
    let held = rbac::rules(store, user, namespace);
    match refusal(user, &held, &rules) {
        None => Ok(()),
        Some(why) => Err(Ungranted::NotHeld(why)),
    }
}

/// What a rule grants in its smallest parts: a verb on a resource or a path.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Grant {
    Resource {
        group: String,
        resource: String,
        /// All, where there is none.
        name: Option<String>,
        verb: String,
    },
    Path {
        path: String,
        verb: String,
    },
}

/// Why the user, who has `held`, may not give away `granted`; None if nothing is missing.
fn refusal(user: &User, held: &[Value], granted: &[Value]) -> Option<String> {
    let missing: Vec<Grant> = granted
        .iter()
        .flat_map(parts)
        .filter(|grant| !held.iter().any(|rule| covers(rule, grant)))
        .collect();
    if missing.is_empty() {
        return None;
    }
    let missing: Vec<String> = described(missing).into_iter().collect();
    Some(format!(
        "user {:?} (groups={}) is attempting to grant RBAC permissions not currently held:\n{}",
        user.name,
        list(&user.groups),
        missing.join("\n")
    ))
}

fn parts(rule: &Value) -> Vec<Grant> {
    let texts = |key: &str| -> Vec<String> { rbac::texts(&rule[key]).map(str::to_owned).collect() };
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
    let mut parts = vec![];
    for group in &groups {
        for resource in &resources {
            for verb in &verbs {
                parts.extend(names.iter().map(|name| Grant::Resource {
                    group: group.clone(),
                    resource: resource.clone(),
                    name: name.clone(),
                    verb: verb.clone(),
                }));
            }
        }
    }
    for path in texts("nonResourceURLs") {
        parts.extend(verbs.iter().map(|verb| Grant::Path {
            path: path.clone(),
            verb: verb.clone(),
        }));
    }
    parts
}

fn covers(rule: &Value, grant: &Grant) -> bool {
    match grant {
        Grant::Resource {
            group,
            resource,
            name,
            verb,
        } => {
            let mut names = rbac::texts(&rule["resourceNames"]).peekable();
            let any_parent = resource.split_once('/').map(|(_, part)| format!("*/{part}"));
            rbac::has(&rule["verbs"], verb)
                && rbac::has(&rule["apiGroups"], group)
                && rbac::texts(&rule["resources"]).any(|held| {
                    held == "*" || held == resource || any_parent.as_deref().is_some_and(|any| any == held)
                })
                && (names.peek().is_none() || names.any(|held| name.as_deref() == Some(held)))
        }
        Grant::Path { path, verb } => {
            // Who is granted by name only is granted no path.
            rbac::texts(&rule["resourceNames"]).next().is_none()
                && rbac::has(&rule["verbs"], verb)
                && rbac::texts(&rule["nonResourceURLs"]).any(|held| {
                    held == path || held.ends_with('*') && path.starts_with(held.trim_end_matches('*'))
                })
        }
    }
}

/// In the short form of the real server's messages: the verbs of one resource stand together.
fn described(missing: Vec<Grant>) -> BTreeSet<String> {
    let mut verbs_of: BTreeMap<(String, String, Option<String>), Vec<String>> = BTreeMap::new();
    let mut lines = BTreeSet::new();
    for grant in missing {
        match grant {
            Grant::Resource {
                group,
                resource,
                name,
                verb,
            } => verbs_of.entry((group, resource, name)).or_default().push(verb),
            Grant::Path { path, verb } => {
                lines.insert(format!(
                    "{{NonResourceURLs:{}, Verbs:{}}}",
                    list(&[path]),
                    list(&[verb])
                ));
            }
        }
    }
    for ((group, resource, name), verbs) in verbs_of {
        let name = name.map_or(String::new(), |name| format!(", ResourceNames:{}", list(&[name])));
        lines.insert(format!(
            "{{APIGroups:{}, Resources:{}{name}, Verbs:{}}}",
            list(&[group]),
            list(&[resource]),
            list(&verbs)
        ));
    }
    lines
}

/// As Go writes quoted texts in brackets.
fn list(texts: &[String]) -> String {
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
        let text = refusal(&user, held, granted)?;
        let prefix =
            "user \"u\" (groups=[\"a\" \"b\"]) is attempting to grant RBAC permissions not currently held:\n";
        Some(text.strip_prefix(prefix).unwrap().to_owned())
    }

    #[test]
    fn what_is_held_may_be_granted() {
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
    fn what_is_missing_is_told_with_its_verbs_together() {
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

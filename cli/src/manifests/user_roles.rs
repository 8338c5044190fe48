//! Generates the roles with which people use the operator's kinds: an editor and a viewer of each, which Kubernetes' own roles `admin`,
//! `edit` and `view` include.

use std::path::PathBuf;

use serde_json::{Value, json};

use super::{KindManifest, Manifests, rbac};
use crate::{yaml, yaml::YamlError};

const READ: [&str; 3] = ["get", "list", "watch"];
const ALL: [&str; 8] = [
    "create",
    "delete",
    "deletecollection",
    "get",
    "list",
    "patch",
    "update",
    "watch",
];

/// Returns the file with the roles; none without kinds of the operator's own.
pub fn file(manifests: &Manifests) -> Result<Option<(PathBuf, String)>, YamlError> {
    let roles: Vec<Value> = manifests
        .defined_crds()
        .flat_map(|(kind, crd)| [editor(kind, crd), viewer(kind, crd)])
        .collect();
    if roles.is_empty() {
        return Ok(None);
    }
    let path = format!("{}/user_roles.yaml", rbac::FOLDER);
    Ok(Some((path.into(), yaml::write_all(&roles)?)))
}

fn editor(kind: &KindManifest, crd: &Value) -> Value {
    let mut rules = vec![rule(kind, None, &ALL)];
    // Only the operator writes the status.
    rules.extend(has(crd, "status").then(|| rule(kind, Some("status"), &["get"])));
    rules.extend(has(crd, "scale").then(|| rule(kind, Some("scale"), &["get", "patch", "update"])));
    role(kind, "editor", &["admin", "edit"], &rules)
}

fn viewer(kind: &KindManifest, crd: &Value) -> Value {
    let mut rules = vec![rule(kind, None, &READ)];
    let subresources = ["status", "scale"].into_iter().filter(|name| has(crd, name));
    rules.extend(subresources.map(|name| rule(kind, Some(name), &["get"])));
    role(kind, "viewer", &["view"], &rules)
}

/// Whether a version of the kind has the subresource.
fn has(crd: &Value, subresource: &str) -> bool {
    let versions = crd["spec"]["versions"].as_array().into_iter().flatten();
    versions
        .map(|version| &version["subresources"])
        .any(|subresources| !subresources[subresource].is_null())
}

fn rule(kind: &KindManifest, subresource: Option<&str>, verbs: &[&str]) -> Value {
    let plural = &kind.plural;
    let resource = subresource.map_or_else(|| plural.clone(), |name| format!("{plural}/{name}"));
    json!({"apiGroups": [kind.group], "resources": [resource], "verbs": verbs})
}

fn role(kind: &KindManifest, what: &str, included_in: &[&str], rules: &[Value]) -> Value {
    // The name of the CRD makes the role's name unique in a cluster.
    let mut metadata = json!({"name": format!("{}.{}-{what}", kind.plural, kind.group)});
    // Kubernetes' roles for users have no cluster-scoped resources: a user who may edit a namespace must not change objects outside of it.
    if kind.namespaced {
        for role in included_in {
            let label = format!("rbac.authorization.k8s.io/aggregate-to-{role}");
            metadata["labels"][label] = "true".into();
        }
    }
    json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": metadata, "rules": rules})
}

#[cfg(test)]
mod tests {
    use super::*;

    fn roles(namespaced: bool, subresources: &Value) -> Vec<Value> {
        let crd = json!({"spec": {"versions": [{"subresources": {}}, {"subresources": subresources}]}});
        let kind = json!({"group": "demo.dev", "kind": "Foo", "plural": "foos", "namespaced": namespaced, "crd": crd});
        let external = json!({"group": "g", "kind": "Bar", "plural": "bars", "namespaced": true, "external": true, "crd": {}});
        let text =
            json!({"manifestsVersion": 1, "operator": "shop", "kinds": [kind, external], "permissions": []});
        let (path, text) = file(&Manifests::from_json(text).unwrap()).unwrap().unwrap();
        assert_eq!(path, PathBuf::from("manifests/rbac/user_roles.yaml"));
        yaml::read_all(&text).unwrap()
    }

    #[test]
    fn roles_have_the_subresources_that_the_kind_has() {
        let rules = |roles: &[Value]| {
            let lines = roles.iter().map(|role| {
                let rules = role["rules"].as_array().unwrap().iter();
                let rules = rules.map(|rule| format!("{} {}", rule["resources"][0], rule["verbs"]));
                rules.collect::<Vec<_>>().join("; ").replace('"', "")
            });
            lines.collect::<Vec<_>>()
        };
        let all = "foos [create,delete,deletecollection,get,list,patch,update,watch]";
        let read = "foos [get,list,watch]";
        assert_eq!(rules(&roles(true, &json!({}))), [all, read]);
        let both = json!({"status": {}, "scale": {"specReplicasPath": ".spec.replicas"}});
        assert_eq!(
            rules(&roles(true, &both)),
            [
                format!("{all}; foos/status [get]; foos/scale [get,patch,update]"),
                format!("{read}; foos/status [get]; foos/scale [get]"),
            ]
        );
    }

    #[test]
    fn only_roles_of_namespaced_kinds_are_included_in_kubernetes_roles() {
        let [editor, viewer]: [Value; 2] = roles(true, &json!({})).try_into().unwrap();
        let label = |role: &str| format!("rbac.authorization.k8s.io/aggregate-to-{role}");
        assert_eq!(editor["metadata"]["name"], "foos.demo.dev-editor");
        let labels = json!({label("admin"): "true", label("edit"): "true"});
        assert_eq!(editor["metadata"]["labels"], labels);
        assert_eq!(viewer["metadata"]["labels"], json!({label("view"): "true"}));
        for role in roles(false, &json!({})) {
            assert_eq!(role["metadata"]["labels"], Value::Null);
        }
    }

    #[test]
    fn operator_without_kinds_of_its_own_has_no_such_roles() {
        let text = json!({"manifestsVersion": 1, "operator": "shop", "kinds": [], "permissions": []});
        assert_eq!(file(&Manifests::from_json(text).unwrap()).unwrap(), None);
    }
}

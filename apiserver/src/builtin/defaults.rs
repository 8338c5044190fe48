//! Defaults, by type: a container has the same wherever it stands.

use crate::types::{self, Type};
use serde_json::{Map, Value, json};
use std::collections::HashMap;
use std::sync::LazyLock;

static TABLE: LazyLock<HashMap<&'static str, Vec<(&'static str, Value)>>> = LazyLock::new(|| {
    let mut table: HashMap<_, Vec<_>> = HashMap::new();
    for line in include_str!("defaults.txt")
        .lines()
        .filter(|line| !line.starts_with('#'))
    {
        let mut words = line.splitn(3, ' ');
        if let (Some(ty), Some(field), Some(Ok(value))) =
            (words.next(), words.next(), words.next().map(serde_json::from_str))
        {
            table.entry(ty).or_default().push((field, value));
        }
    }
    table
});

/// Fills in what is absent, everywhere in a value.
pub(super) fn fill(value: &mut Value, ty: &Type) {
    match (ty.resolve(), value) {
        (Type::List(list), Value::Array(items)) => items.iter_mut().for_each(|item| fill(item, &list.items)),
        (Type::Map(map), Value::Object(object)) => {
            if let Type::Named(named) = ty {
                // What depends on other fields comes first: it looks at what was said.
                depending(&named.name, object);
                for (field, value) in TABLE.get(&*named.name).into_iter().flatten() {
                    if object.get(*field).is_none_or(Value::is_null) {
                        object.insert((*field).to_owned(), value.clone());
                    }
                }
            }
            for (name, value) in object {
                if let Some(ty) = map.type_of(name) {
                    fill(value, ty);
                }
            }
        }
        _ => {}
    }
}

/// The type of a kind, if the table has it.
pub(super) fn type_of(api_version: &str, kind: &str) -> Option<&'static Type> {
    types::builtin(api_version, kind)
}

fn depending(ty: &str, object: &mut Map<String, Value>) {
    let is = |object: &Map<String, Value>, key: &str, text: &str| {
        object.get(key).is_some_and(|value| value == text)
    };
    let has = |object: &Map<String, Value>, key: &str| object.get(key).is_some_and(|value| !value.is_null());
    match ty {
        "core.v1.Container" | "core.v1.EphemeralContainer" if !has(object, "imagePullPolicy") => {
            let image = object.get("image").and_then(Value::as_str).unwrap_or_default();
            object.insert("imagePullPolicy".into(), json!(pull_policy(image)));
        }
        "core.v1.Volume" if object.keys().all(|key| key == "name") => {
            object.insert("emptyDir".into(), json!({}));
        }
        "core.v1.PodSpec" => mirror_account(object),
        "apps.v1.DeploymentStrategy"
        | "apps.v1.StatefulSetUpdateStrategy"
        | "apps.v1.DaemonSetUpdateStrategy" => {
            if !has(object, "rollingUpdate") && (!has(object, "type") || is(object, "type", "RollingUpdate"))
            {
                object.insert("rollingUpdate".into(), json!({}));
            }
        }
        "apps.v1.DeploymentSpec" if !has(object, "strategy") => {
            object.insert("strategy".into(), json!({}));
        }
        "apps.v1.StatefulSetSpec" | "apps.v1.DaemonSetSpec" if !has(object, "updateStrategy") => {
            object.insert("updateStrategy".into(), json!({}));
        }
        "core.v1.ServicePort"
            if object
                .get("targetPort")
                .is_none_or(|port| *port == 0 || *port == "") =>
        {
            let port = object.get("port").cloned().unwrap_or_default();
            object.insert("targetPort".into(), port);
        }
        "rbac.v1.Subject"
            if !has(object, "apiGroup") && (is(object, "kind", "User") || is(object, "kind", "Group")) =>
        {
            object.insert("apiGroup".into(), json!("rbac.authorization.k8s.io"));
        }
        "rbac.v1.RoleRef"
            if object
                .get("apiGroup")
                .and_then(Value::as_str)
                .is_none_or(str::is_empty) =>
        {
            object.insert("apiGroup".into(), json!("rbac.authorization.k8s.io"));
        }
        "networking.v1.NetworkPolicySpec" if !has(object, "policyTypes") => {
            let egress = has(object, "egress");
            let types = if egress {
                json!(["Ingress", "Egress"])
            } else {
                json!(["Ingress"])
            };
            object.insert("policyTypes".into(), types);
        }
        _ => {}
    }
}

/// Images that may change under their name are pulled each time.
fn pull_policy(image: &str) -> &'static str {
    let name = image.rsplit('/').next().unwrap_or_default();
    if image.contains('@') {
        return "IfNotPresent";
    }
    match name.split_once(':') {
        None | Some((_, "latest")) => "Always",
        Some(_) => "IfNotPresent",
    }
}

/// The account has an old name and a new one.
fn mirror_account(spec: &mut Map<String, Value>) {
    let text = |key: &str| {
        spec.get(key)
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned()
    };
    let (new, old) = (text("serviceAccountName"), text("serviceAccount"));
    let account = if new.is_empty() { old } else { new };
    if !account.is_empty() {
        spec.insert("serviceAccountName".into(), json!(account));
        spec.insert("serviceAccount".into(), json!(account));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fills_in_what_is_absent() {
        let ty = type_of("apps/v1", "Deployment").unwrap();
        let container =
            json!({ "name": "c", "image": "nginx:1", "readinessProbe": { "httpGet": { "port": 80 } } });
        let mut object =
            json!({ "spec": { "replicas": 3, "template": { "spec": { "containers": [container] } } } });
        fill(&mut object, ty);
        let spec = &object["spec"];
        assert_eq!(
            (&spec["replicas"], &spec["revisionHistoryLimit"]),
            (&json!(3), &json!(10))
        );
        assert_eq!(
            spec["strategy"],
            json!({ "type": "RollingUpdate", "rollingUpdate": { "maxUnavailable": "25%", "maxSurge": "25%" } })
        );
        let container = &spec["template"]["spec"]["containers"][0];
        assert_eq!(container["imagePullPolicy"], "IfNotPresent");
        assert_eq!(container["readinessProbe"]["httpGet"]["scheme"], "HTTP");
        assert_eq!(pull_policy("registry:5000/a/b"), "Always");
    }

    #[test]
    fn every_line_of_the_table_is_read_and_names_a_field() {
        let lines = include_str!("defaults.txt")
            .lines()
            .filter(|line| !line.starts_with('#'))
            .count();
        assert_eq!(TABLE.values().map(Vec::len).sum::<usize>(), lines);
        for (ty, fields) in TABLE.iter() {
            let (map, _) = types::definition(ty).and_then(Type::as_map).expect(ty);
            for (field, _) in fields {
                assert!(map.fields.contains_key(*field), "{ty} {field}");
            }
        }
    }
}

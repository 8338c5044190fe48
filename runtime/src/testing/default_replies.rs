//! What the scripted API server knows, and what it answers of its own accord.

use std::collections::BTreeMap;

use http::StatusCode;
use kube::core::Status;
use serde_json::{Value, json};

use super::{Reply, Request};
use crate::NamespacedName;

/// The objects by resource and name, without validation, defaults, versions to conflict, finalizers.
#[derive(Debug, Default)]
pub(super) struct Objects {
    known: BTreeMap<(String, NamespacedName), Value>,
    versions: u64,
}

impl Objects {
    pub(super) fn put(&mut self, resource: String, name: NamespacedName, object: Value) {
        self.known.insert((resource, name), object);
    }

    pub(super) fn answer(&mut self, request: &Request) -> Reply {
        if request.verb == "list" {
            return self.list(request);
        }
        let Some(name) = request.namespaced_name().or_else(|| self.generated(request)) else {
            return refusal(
                request,
                StatusCode::UNPROCESSABLE_ENTITY,
                "Invalid",
                "has no name",
            );
        };
        let key = (request.resource.clone(), name);
        let known = self.known.get(&key).cloned();
        let part = request.subresource.as_deref();
        let (code, object) = match (request.verb, known) {
            ("create", Some(_)) => {
                return refusal(request, StatusCode::CONFLICT, "AlreadyExists", "already exists");
            }
            ("create", None) => (StatusCode::CREATED, request.body.clone()),
            ("apply", None) if part.is_none() => (StatusCode::CREATED, request.body.clone()),
            (_, None) => return refusal(request, StatusCode::NOT_FOUND, "NotFound", "not found"),
            ("get", Some(known)) => return Reply::object(StatusCode::OK, seen(part, &known)),
            ("delete", Some(_)) => {
                self.known.remove(&key);
                return Reply::object(
                    StatusCode::OK,
                    json!({"kind": "Status", "apiVersion": "v1", "status": "Success"}),
                );
            }
            (verb, Some(mut known)) => {
                match (verb, part) {
                    ("update", None) => known = request.body.clone(),
                    ("update", Some("scale")) => {
                        known["spec"]["replicas"] = request.body["spec"]["replicas"].clone();
                    }
                    ("update", Some(part)) => known[part] = request.body[part].clone(),
                    // Operations of a JSON patch are not carried out: the answer is the object as it was.
                    _ if request.body.is_array() => {}
                    _ => merge(&mut known, &request.body),
                }
                (StatusCode::OK, known)
            }
        };
        let object = self.stamped(&key, object);
        let shown = seen(part, &object);
        self.known.insert(key, object);
        Reply::object(code, shown)
    }

    fn list(&self, request: &Request) -> Reply {
        let wanted = |name: &NamespacedName| {
            request.namespace.is_none() || name.namespace() == request.namespace.as_deref()
        };
        let items = self
            .known
            .iter()
            .filter(|((resource, name), _)| *resource == request.resource && wanted(name));
        let items: Vec<&Value> = items.map(|(_, object)| object).collect();
        let version = self.versions.to_string();
        Reply::object(
            StatusCode::OK,
            json!({"metadata": {"resourceVersion": version}, "items": items}),
        )
    }

    fn generated(&self, request: &Request) -> Option<NamespacedName> {
        let name = format!(
            "{}{:05}",
            request.body["metadata"]["generateName"].as_str()?,
            self.versions + 1
        );
        Some(match request.namespace.as_deref() {
            Some(namespace) => NamespacedName::namespaced(namespace, name),
            None => NamespacedName::cluster(name),
        })
    }

    /// The object with what every API server adds.
    fn stamped(&mut self, (_, name): &(String, NamespacedName), mut object: Value) -> Value {
        self.versions += 1;
        let metadata = &mut object["metadata"];
        metadata["name"] = name.name().into();
        metadata["resourceVersion"] = self.versions.to_string().into();
        if metadata["uid"].is_null() {
            metadata["uid"] = format!("uid-{}", self.versions).into();
        }
        object
    }
}

/// What a subresource shows of its object.
fn seen(subresource: Option<&str>, object: &Value) -> Value {
    if subresource != Some("scale") {
        return object.clone();
    }
    let metadata = &object["metadata"];
    json!({
        "apiVersion": "autoscaling/v1",
        "kind": "Scale",
        "metadata": {
            "name": metadata["name"], "namespace": metadata["namespace"],
            "uid": metadata["uid"], "resourceVersion": metadata["resourceVersion"],
        },
        "spec": {"replicas": object["spec"]["replicas"]},
        "status": {"replicas": object["status"]["replicas"].as_i64().unwrap_or_default()},
    })
}

/// A merge patch, as RFC 7386 has it.
fn merge(target: &mut Value, patch: &Value) {
    let Value::Object(patch) = patch else {
        target.clone_from(patch);
        return;
    };
    if !target.is_object() {
        *target = json!({});
    }
    for (key, value) in patch {
        if let (true, Some(members)) = (value.is_null(), target.as_object_mut()) {
            members.remove(key);
        } else {
            merge(&mut target[key], value);
        }
    }
}

fn refusal(request: &Request, code: StatusCode, reason: &str, what: &str) -> Reply {
    let name = request.name.as_deref().unwrap_or_default();
    let status =
        Status::failure(&format!("{} {name:?} {what}", request.resource), reason).with_code(code.as_u16());
    let mut reply = serde_json::to_value(status).unwrap_or_default();
    let (plural, group) = request
        .resource
        .split_once('.')
        .unwrap_or((&request.resource, ""));
    reply["details"] = json!({"name": name, "group": group, "kind": plural});
    Reply::object(code, reply)
}

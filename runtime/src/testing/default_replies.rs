//! The objects of the scripted API server, and its replies to requests that are not scripted.

use std::collections::BTreeMap;

use http::StatusCode;
use kube::core::Status;
use serde_json::{Value, json};

use super::{Reply, Request};
use crate::NamespacedName;

/// Objects by resource and name, without validation, defaults, conflicts and finalizers.
#[derive(Debug, Default)]
pub(super) struct ObjectStore {
    objects: BTreeMap<(String, NamespacedName), Value>,
    resource_version: u64,
}

impl ObjectStore {
    pub(super) fn put(&mut self, resource: String, name: NamespacedName, object: Value) {
        self.objects.insert((resource, name), object);
    }

    pub(super) fn reply(&mut self, request: &Request) -> Reply {
        if request.verb == "list" {
            return self.list(request);
        }
        let Some(name) = request.namespaced_name().or_else(|| self.generate_name(request)) else {
            return error_reply(
                request,
                StatusCode::UNPROCESSABLE_ENTITY,
                "Invalid",
                "has no name",
            );
        };
        let key = (request.resource.clone(), name);
        let existing = self.objects.get(&key).cloned();
        let subresource = request.subresource.as_deref();
        let (code, object) = match (request.verb, existing) {
            ("create", Some(_)) => {
                return error_reply(request, StatusCode::CONFLICT, "AlreadyExists", "already exists");
            }
            ("create", None) => (StatusCode::CREATED, request.body.clone()),
            ("apply", None) if subresource.is_none() => (StatusCode::CREATED, request.body.clone()),
            (_, None) => return error_reply(request, StatusCode::NOT_FOUND, "NotFound", "not found"),
            ("get", Some(object)) => {
                return Reply::object(StatusCode::OK, subresource_view(subresource, &object));
            }
            ("delete", Some(_)) => {
                self.objects.remove(&key);
                return Reply::object(
                    StatusCode::OK,
                    json!({"kind": "Status", "apiVersion": "v1", "status": "Success"}),
                );
            }
            (verb, Some(mut object)) => {
                match (verb, subresource) {
                    ("update", None) => object = request.body.clone(),
                    ("update", Some("scale")) => {
                        object["spec"]["replicas"] = request.body["spec"]["replicas"].clone();
                    }
                    ("update", Some(field)) => object[field] = request.body[field].clone(),
                    // JSON patches are not applied: the reply is the unchanged object.
                    _ if request.body.is_array() => {}
                    _ => merge(&mut object, &request.body),
                }
                (StatusCode::OK, object)
            }
        };
        let object = self.with_server_fields(&key, object);
        let view = subresource_view(subresource, &object);
        self.objects.insert(key, object);
        Reply::object(code, view)
    }

    fn list(&self, request: &Request) -> Reply {
        let is_selected = |name: &NamespacedName| {
            request.namespace.is_none() || name.namespace() == request.namespace.as_deref()
        };
        let items = self
            .objects
            .iter()
            .filter(|((resource, name), _)| *resource == request.resource && is_selected(name));
        let items: Vec<&Value> = items.map(|(_, object)| object).collect();
        let version = self.resource_version.to_string();
        Reply::object(
            StatusCode::OK,
            json!({"metadata": {"resourceVersion": version}, "items": items}),
        )
    }

    fn generate_name(&self, request: &Request) -> Option<NamespacedName> {
        let name = format!(
            "{}{:05}",
            request.body["metadata"]["generateName"].as_str()?,
            self.resource_version + 1
        );
        Some(NamespacedName::in_scope(request.namespace.as_deref(), &name))
    }

    /// Sets name, resource version and uid, as an API server does.
    fn with_server_fields(&mut self, (_, name): &(String, NamespacedName), mut object: Value) -> Value {
        self.resource_version += 1;
        let metadata = &mut object["metadata"];
        metadata["name"] = name.name().into();
        metadata["resourceVersion"] = self.resource_version.to_string().into();
        if metadata["uid"].is_null() {
            metadata["uid"] = format!("uid-{}", self.resource_version).into();
        }
        object
    }
}

/// Returns the object as its subresource has it: a Scale for `scale`, else the whole object.
fn subresource_view(subresource: Option<&str>, object: &Value) -> Value {
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

/// Applies a merge patch (RFC 7386).
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

fn error_reply(request: &Request, code: StatusCode, reason: &str, what: &str) -> Reply {
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

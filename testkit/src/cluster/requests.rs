//! What a test does as the cluster's administrator.

use super::{Cluster, ClusterError};
use crate::eventually;
use http::{Method, Request, header::CONTENT_TYPE};
use serde::Serialize;
use serde_json::{Value, json};
use std::time::Duration;

/// How long a definition may take to be served.
const PATIENCE: Duration = Duration::from_mins(1);

const MERGE_PATCH: &str = "application/merge-patch+json";

impl Cluster {
    /// Sends a request as the administrator, past all faults, and returns the answered object. `content_type` is that of the body.
    ///
    /// It blocks the thread; the embedded server answers in well under a millisecond, on threads of its own.
    pub fn request(
        &self,
        method: Method,
        path: &str,
        content_type: &str,
        body: Option<&Value>,
    ) -> Result<Value, ClusterError> {
        let body = body.map(|body| body.to_string().into_bytes()).unwrap_or_default();
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header(CONTENT_TYPE, content_type)
            .body(body)
            .map_err(|error| ClusterError::Object(format!("{path}: {error}")))?;
        self.send(request)
    }

    /// The same of a request with headers of its own.
    pub fn send(&self, request: Request<Vec<u8>>) -> Result<Value, ClusterError> {
        let what = format!("{} {}", request.method(), request.uri());
        let client = self.requester.clone();
        let answer = self
            .background
            .wait(async move { client.request::<Value>(request).await })?;
        answer.map_err(|source| ClusterError::Request {
            what,
            source: Box::new(source),
        })
    }

    /// Applies an object, server-side and by force, as `kubectl apply` does. It says its `apiVersion` and `kind`.
    pub fn apply(&self, object: &impl Serialize) -> Result<Value, ClusterError> {
        let object = serde_json::to_value(object).map_err(|error| ClusterError::Object(error.to_string()))?;
        let path = self.path(&object)?;
        let path = format!("{path}?fieldManager=testkit&force=true");
        self.request(
            Method::PATCH,
            &path,
            "application/apply-patch+yaml",
            Some(&object),
        )
    }

    /// Reads the object that has the kind, namespace and name of this one; None when there is none.
    pub fn get(&self, object: &Value) -> Result<Option<Value>, ClusterError> {
        match self.request(Method::GET, &self.path(object)?, "application/json", None) {
            Ok(object) => Ok(Some(object)),
            Err(ClusterError::Request { source, .. }) if is_not_found(&source) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Merges a change into the object that has the kind, namespace and name of this one.
    pub fn merge(&self, object: &Value, change: &Value) -> Result<Value, ClusterError> {
        let path = self.path(object)?;
        self.request(Method::PATCH, &path, MERGE_PATCH, Some(change))
    }

    /// Merges a status into that of the object that has the kind, namespace and name of this one.
    pub fn merge_status(&self, object: &Value, status: &Value) -> Result<Value, ClusterError> {
        let path = format!("{}/status", self.path(object)?);
        let change = json!({ "status": status });
        self.request(Method::PATCH, &path, MERGE_PATCH, Some(&change))
    }

    /// The objects that have the kind and namespace of this one.
    pub fn list(&self, object: &Value) -> Result<Vec<Value>, ClusterError> {
        let list = self.request(Method::GET, &self.path_of_all(object)?, "application/json", None)?;
        Ok(list["items"].as_array().cloned().unwrap_or_default())
    }

    /// Deletes the object that has the kind, namespace and name of this one; what it owns goes after it.
    pub fn delete(&self, object: &Value) -> Result<(), ClusterError> {
        let path = self.path(object)?;
        self.request(Method::DELETE, &path, "application/json", None)
            .map(drop)
    }

    /// Installs a CustomResourceDefinition and waits until its kind is served, and can own.
    ///
    /// # Panics
    ///
    /// When that takes longer than a minute.
    #[track_caller]
    pub fn install(&self, definition: &impl Serialize) -> Result<(), ClusterError> {
        let definition = self.apply(definition)?;
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let spec = &definition["spec"];
        let (group, version) = (text(&spec["group"]), text(&spec["versions"][0]["name"]));
        let plural = text(&spec["names"]["plural"]);
        let path = format!("/apis/{group}/{version}/{plural}?limit=1");
        eventually(&format!("{plural}.{group} is served"), PATIENCE, || {
            self.request(Method::GET, &path, "application/json", None)
        });
        if let Some(plane) = self.real() {
            plane.wait_until_ownable(&format!("{group}/{version}"), &text(&spec["names"]["kind"]));
        }
        Ok(())
    }

    /// Makes a namespace; one that exists stays as it is.
    pub fn namespace(&self, name: &str) -> Result<(), ClusterError> {
        let namespace = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": name } });
        self.apply(&namespace).map(drop)
    }

    /// The path of an object.
    fn path(&self, object: &Value) -> Result<String, ClusterError> {
        let Some(name) = object["metadata"]["name"].as_str() else {
            return Err(ClusterError::Object(format!("it lacks a name: {object}")));
        };
        Ok(format!("{}/{name}", self.path_of_all(object)?))
    }

    /// The path of an object's kind in its namespace; the plural is looked up.
    fn path_of_all(&self, object: &Value) -> Result<String, ClusterError> {
        let (version, kind) = (&object["apiVersion"], &object["kind"]);
        let (Some(version), Some(kind)) = (version.as_str(), kind.as_str()) else {
            return Err(ClusterError::Object(format!(
                "it lacks apiVersion or kind: {object}"
            )));
        };
        let root = if version.contains('/') { "/apis" } else { "/api" };
        let root = format!("{root}/{version}");
        let list = self.request(Method::GET, &root, "application/json", None)?;
        let mut resources = list["resources"].as_array().into_iter().flatten();
        let is_subresource = |name: &str| name.contains('/');
        let found = resources.find_map(|resource| {
            let plural = resource["name"].as_str()?;
            (resource["kind"] == kind && !is_subresource(plural)).then_some((plural, &resource["namespaced"]))
        });
        let (plural, namespaced) =
            found.ok_or_else(|| ClusterError::Object(format!("{version} has no kind {kind}")))?;
        Ok(if namespaced == true {
            let namespace = object["metadata"]["namespace"].as_str().unwrap_or("default");
            format!("{root}/namespaces/{namespace}/{plural}")
        } else {
            format!("{root}/{plural}")
        })
    }
}

fn is_not_found(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Api(status) if status.code == 404)
}

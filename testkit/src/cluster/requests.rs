//! What a test does as the cluster's administrator.

use super::{Cluster, ClusterError};
use crate::eventually;
use http::{Method, Request, header::CONTENT_TYPE};
use serde::Serialize;
use serde_json::{Value, json};
use std::time::Duration;

/// How long a definition may take to be served.
const PATIENCE: Duration = Duration::from_mins(1);

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
        let what = format!("{method} {path}");
        let body = body.map(|body| body.to_string().into_bytes()).unwrap_or_default();
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header(CONTENT_TYPE, content_type)
            .body(body)
            .map_err(|error| ClusterError::Object(format!("{what}: {error}")))?;
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

    /// The path of an object; its kind's plural is looked up.
    fn path(&self, object: &Value) -> Result<String, ClusterError> {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let (version, kind) = (text(&object["apiVersion"]), text(&object["kind"]));
        let (name, namespace) = (&object["metadata"]["name"], &object["metadata"]["namespace"]);
        if version.is_empty() || kind.is_empty() || !name.is_string() {
            return Err(ClusterError::Object(format!(
                "it lacks apiVersion, kind or a name: {object}"
            )));
        }
        let root = if version.contains('/') { "/apis" } else { "/api" };
        let root = format!("{root}/{version}");
        let list = self.request(Method::GET, &root, "application/json", None)?;
        let resources = list["resources"].as_array().into_iter().flatten();
        let resource = resources
            .filter(|resource| !text(&resource["name"]).contains('/'))
            .find(|resource| resource["kind"] == kind.as_str())
            .ok_or_else(|| ClusterError::Object(format!("{version} has no kind {kind}")))?;
        let plural = text(&resource["name"]);
        let name = text(name);
        Ok(if resource["namespaced"] == true {
            let namespace = namespace.as_str().unwrap_or("default");
            format!("{root}/namespaces/{namespace}/{plural}/{name}")
        } else {
            format!("{root}/{plural}/{name}")
        })
    }
}

fn is_not_found(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Api(status) if status.code == 404)
}

//! Requests as the cluster's administrator.

use super::{Cluster, ClusterError};
use crate::eventually::{ASYNC_TIMEOUT, eventually, poll_until};
use http::{Method, Request, header::CONTENT_TYPE};
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeSet;
use std::panic::Location;
use std::time::Duration;

/// How long to wait until the kind of an installed definition is served.
const CRD_SERVED_TIMEOUT: Duration = Duration::from_mins(1);

/// Forbidden requests in the message of a test that fails.
const MAX_LISTED_REQUESTS: usize = 10;

const MERGE_PATCH: &str = "application/merge-patch+json";

impl Cluster {
    /// Sends a request as the administrator, bypassing faults, and returns the object in the response. `content_type` is that of the body.
    ///
    /// Blocks the thread; the embedded server responds in well under a millisecond, on its own threads.
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

    /// Like [`Cluster::request`], for a request with its own headers.
    pub fn send(&self, request: Request<Vec<u8>>) -> Result<Value, ClusterError> {
        let what = format!("{} {}", request.method(), request.uri());
        let client = self.admin_client.clone();
        let response = self
            .background
            .block_on(async move { client.request::<Value>(request).await })?;
        response.map_err(|source| ClusterError::Request {
            what,
            source: Box::new(source),
        })
    }

    /// Applies an object, server-side and with force. The object must have `apiVersion` and `kind`.
    pub fn apply(&self, object: &impl Serialize) -> Result<Value, ClusterError> {
        let object = json(object)?;
        let path = self.object_path(&object)?;
        let path = format!("{path}?fieldManager=testkit&force=true");
        self.request(
            Method::PATCH,
            &path,
            "application/apply-patch+yaml",
            Some(&object),
        )
    }

    /// Reads the object with the kind, namespace and name of `object`; none if it does not exist.
    pub fn get(&self, object: &impl Serialize) -> Result<Option<Value>, ClusterError> {
        let path = self.object_path(&json(object)?)?;
        match self.request(Method::GET, &path, "application/json", None) {
            Ok(object) => Ok(Some(object)),
            Err(ClusterError::Request { source, .. }) if is_not_found(&source) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Sends a merge patch for the object with the kind, namespace and name of `object`.
    pub fn merge_patch(&self, object: &impl Serialize, change: &Value) -> Result<Value, ClusterError> {
        let path = self.object_path(&json(object)?)?;
        self.request(Method::PATCH, &path, MERGE_PATCH, Some(change))
    }

    /// Sends a merge patch for the status of the object with the kind, namespace and name of `object`.
    pub fn patch_status(&self, object: &impl Serialize, status: &Value) -> Result<Value, ClusterError> {
        let path = format!("{}/status", self.object_path(&json(object)?)?);
        let change = serde_json::json!({ "status": status });
        self.request(Method::PATCH, &path, MERGE_PATCH, Some(&change))
    }

    /// Lists the objects with the kind and namespace of `object`.
    pub fn list(&self, object: &impl Serialize) -> Result<Vec<Value>, ClusterError> {
        let path = self.collection_path(&json(object)?)?;
        let list = self.request(Method::GET, &path, "application/json", None)?;
        Ok(list["items"].as_array().cloned().unwrap_or_default())
    }

    /// Deletes the object with the kind, namespace and name of `object`; dependents are garbage collected.
    pub fn delete(&self, object: &impl Serialize) -> Result<(), ClusterError> {
        let path = self.object_path(&json(object)?)?;
        self.request(Method::DELETE, &path, "application/json", None)
            .map(drop)
    }

    /// Waits until the object with the kind, namespace and name of `object` meets the condition, and returns it. An object that does not
    /// exist is null: wait with [`Value::is_object`] until it exists, and with [`Value::is_null`] until it does not.
    ///
    /// # Panics
    ///
    /// Panics after 30 seconds, with the caller's place, the object, and the requests that the API server has forbidden.
    #[track_caller]
    pub fn wait_until(
        &self,
        object: &impl Serialize,
        condition: impl Fn(&Value) -> bool,
    ) -> impl Future<Output = Value> {
        let caller = Location::caller();
        let wanted = json(object).unwrap_or_default();
        async move {
            let probe = async || {
                let found = self.get(&wanted).map_err(|error| error.to_string())?;
                let found = found.unwrap_or_default();
                if condition(&found) {
                    Ok(found)
                } else {
                    Err(found.to_string())
                }
            };
            poll_until(probe).await.unwrap_or_else(|state| {
                let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
                let (kind, metadata) = (text(&wanted["kind"]), &wanted["metadata"]);
                let name = [&metadata["namespace"], &metadata["name"]].map(text).join("/");
                panic!(
                    "timeout after {ASYNC_TIMEOUT:?} at {caller}: {kind} {name} does not meet the condition; last state: {state}{}",
                    self.forbidden_requests()
                )
            })
        }
    }

    /// Lists the requests that were forbidden, for the message of a test that fails: a missing permission is the usual reason.
    fn forbidden_requests(&self) -> String {
        let forbidden = self.audit().map(|log| log.forbidden());
        let requests: BTreeSet<String> = forbidden
            .iter()
            .flat_map(|log| log.iter().map(ToString::to_string))
            .collect();
        if requests.is_empty() {
            return String::new();
        }
        let requests: Vec<_> = requests.into_iter().take(MAX_LISTED_REQUESTS).collect();
        format!("; forbidden: {}", requests.join(", "))
    }

    /// Installs a CustomResourceDefinition and waits until its kind is served in the stored version, found in discovery and accepted in owner
    /// references. The real API server begins each of them at another time.
    ///
    /// # Panics
    ///
    /// Panics after one minute.
    #[track_caller]
    pub fn install_crd(&self, definition: &impl Serialize) -> Result<(), ClusterError> {
        let definition = self.apply(definition)?;
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let (spec, names) = (&definition["spec"], &definition["spec"]["names"]);
        // The stored version needs no conversion.
        let mut versions = spec["versions"].as_array().into_iter().flatten();
        let stored = versions.find(|version| version["storage"] == true);
        let stored = stored.map_or_else(String::new, |version| text(&version["name"]));
        let group_version = format!("{}/{stored}", text(&spec["group"]));
        let plural = text(&names["plural"]);
        let get = |path: &str| self.request(Method::GET, path, "application/json", None);
        let listed = || -> Result<(), String> {
            get(&format!("/apis/{group_version}/{plural}?limit=1")).map_err(|error| error.to_string())?;
            let discovered = get(&format!("/apis/{group_version}")).map_err(|error| error.to_string())?;
            let mut resources = discovered["resources"].as_array().into_iter().flatten();
            let is_found = resources.any(|resource| resource["name"] == names["plural"]);
            is_found.then_some(()).ok_or_else(|| discovered.to_string())
        };
        eventually(
            &format!("{plural} of {group_version} are served"),
            CRD_SERVED_TIMEOUT,
            listed,
        );
        if let Some(plane) = self.control_plane() {
            plane.wait_until_ownable(&group_version, &text(&names["kind"]));
        }
        Ok(())
    }

    /// Applies the webhook configurations of an operator, the definitions that it converts, and the Secret for its certificate: what
    /// kubewright's `TestOperator::webhooks` returns. Waits until the operator has written its CA bundle into each of them, and definitions are
    /// established. The embedded API server calls the operator from then on, the real one after about a second.
    ///
    /// # Panics
    ///
    /// Panics if the API server refuses an object, and if a bundle is missing after 30 seconds.
    pub async fn install_webhooks(&self, objects: &[Value]) {
        for object in objects {
            if let Err(error) = self.apply(object) {
                panic!("{object}: {error}");
            }
        }
        for object in objects.iter().filter(|object| object["kind"] != "Secret") {
            self.wait_until(object, is_called).await;
        }
    }

    /// Creates a namespace unless it exists.
    pub fn create_namespace(&self, name: &str) -> Result<(), ClusterError> {
        let namespace =
            serde_json::json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": name } });
        self.apply(&namespace).map(drop)
    }

    /// The path of an object.
    fn object_path(&self, object: &Value) -> Result<String, ClusterError> {
        let Some(name) = object["metadata"]["name"].as_str() else {
            return Err(ClusterError::Object(format!("it lacks a name: {object}")));
        };
        Ok(format!("{}/{name}", self.collection_path(object)?))
    }

    /// The path of an object's resource in its namespace. Looks up the plural in discovery.
    fn collection_path(&self, object: &Value) -> Result<String, ClusterError> {
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

fn json(object: &impl Serialize) -> Result<Value, ClusterError> {
    serde_json::to_value(object).map_err(|error| ClusterError::Object(error.to_string()))
}

fn is_not_found(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Api(status) if status.code == 404)
}

/// Whether an operator has written its CA bundle into a webhook configuration, or into a definition that is established.
fn is_called(object: &Value) -> bool {
    let webhooks = object["webhooks"].as_array().into_iter().flatten();
    let mut called = webhooks.chain(object.pointer("/spec/conversion/webhook"));
    let is_established =
        |condition: &Value| condition["type"] == "Established" && condition["status"] == "True";
    let mut conditions = object["status"]["conditions"].as_array().into_iter().flatten();
    object.is_object()
        && called.all(|webhook| webhook["clientConfig"]["caBundle"].is_string())
        && (object["kind"] != "CustomResourceDefinition" || conditions.any(is_established))
}

//! Writes to the API server.

use http::Request;
use kube::Client;
use serde_json::{Value, json};

use crate::cache::ObjectCache;
use crate::kind::Kind;
use crate::object;

const JSON: &str = "application/json";
const APPLY: &str = "application/apply-patch+yaml";
const LEASES: &str = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases";

/// A write of a kubelet or of the scheduler.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Action {
    /// Creates an object.
    Create(Kind, Value),
    /// Updates the status of an object.
    UpdateStatus(Kind, Value),
    /// Updates an object except for its status.
    Update(Kind, Value),
    /// Binds a pod to a node.
    Bind(Value, String),
    /// Force-deletes a terminating pod.
    ForceDelete(Value),
    /// Creates or renews the lease of a node.
    ApplyLease(Value),
}

impl Action {
    /// Sends the request, and stores the result in the cache, so that the next reconcile sees it.
    ///
    /// # Errors
    ///
    /// Errors of the API server. A conflict needs no handling: the watch will deliver the newer object.
    pub(crate) async fn execute(self, client: &Client, cache: &mut ObjectCache) -> Result<(), kube::Error> {
        let request = self.request()?;
        let response = client.request::<Value>(request).await;
        let (kind, object) = match &self {
            Self::Create(kind, object) | Self::UpdateStatus(kind, object) | Self::Update(kind, object) => {
                (*kind, object)
            }
            Self::Bind(pod, _) | Self::ForceDelete(pod) => (Kind::Pod, pod),
            Self::ApplyLease(_) => return response.map(drop),
        };
        let is_deletion = matches!(self, Self::ForceDelete(_));
        match response {
            // For an object that is deleted at once, the response is its last state, or a Status.
            Ok(response) if is_deletion && !object::has_finalizers(&response) => {
                cache.delete(kind, &object::key(object));
            }
            Ok(response) if response["kind"] == "Status" => {}
            Ok(response) => cache.upsert(kind, response),
            Err(kube::Error::Api(status)) if status.code == 404 => cache.delete(kind, &object::key(object)),
            Err(error) => return Err(error),
        }
        Ok(())
    }

    fn request(&self) -> Result<Request<Vec<u8>>, kube::Error> {
        let object_path = |kind: Kind, object: &Value| {
            format!(
                "{}/{}",
                kind.path(object::namespace(object)),
                object::name(object)
            )
        };
        let mut content_type = JSON;
        let (method, path, body) = match self {
            Self::Create(kind, object) => ("POST", kind.path(object::namespace(object)), object.clone()),
            Self::UpdateStatus(kind, object) => {
                ("PUT", object_path(*kind, object) + "/status", object.clone())
            }
            Self::Update(kind, object) => ("PUT", object_path(*kind, object), object.clone()),
            Self::Bind(pod, node) => {
                let metadata = json!({ "name": object::name(pod), "namespace": object::namespace(pod), "uid": object::uid(pod) });
                let target = json!({ "apiVersion": "v1", "kind": "Node", "name": node });
                let binding =
                    json!({ "apiVersion": "v1", "kind": "Binding", "metadata": metadata, "target": target });
                ("POST", object_path(Kind::Pod, pod) + "/binding", binding)
            }
            Self::ForceDelete(pod) => {
                let precondition = json!({ "uid": object::uid(pod) });
                let options = json!({ "preconditions": precondition, "gracePeriodSeconds": 0 });
                ("DELETE", object_path(Kind::Pod, pod), options)
            }
            Self::ApplyLease(lease) => {
                content_type = APPLY;
                let path = format!("{LEASES}/{}?fieldManager=kubelet&force=true", object::name(lease));
                ("PATCH", path, lease.clone())
            }
        };
        Request::builder()
            .method(method)
            .uri(path)
            .header("Content-Type", content_type)
            .body(body.to_string().into_bytes())
            .map_err(kube::Error::HttpError)
    }
}

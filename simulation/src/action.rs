//! Writes to the API server.

use http::Request;
use kube::Client;
use serde_json::{Value, json};

use crate::cache::ObjectCache;
use crate::kind::Kind;
use crate::object;

/// A write that a controller requests.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Action {
    /// Creates an object.
    Create(Kind, Value),
    /// Updates the status of an object.
    UpdateStatus(Kind, Value),
    /// Updates an object except for its status.
    Update(Kind, Value),
    /// Binds a pod to the node.
    Bind(Value),
    /// Deletes an object with its grace period.
    Delete(Kind, Value),
    /// Force-deletes a terminating pod.
    ForceDelete(Value),
}

impl Action {
    /// Sends the request, and stores the result in the cache, so that the next reconcile sees it.
    ///
    /// # Errors
    ///
    /// Errors of the API server. A conflict needs no handling: the watch will deliver the newer object.
    pub(crate) async fn execute(self, client: &Client, cache: &mut ObjectCache) -> Result<(), kube::Error> {
        let (kind, before) = match &self {
            Self::Create(kind, object)
            | Self::UpdateStatus(kind, object)
            | Self::Update(kind, object)
            | Self::Delete(kind, object) => (*kind, object.clone()),
            Self::Bind(pod) | Self::ForceDelete(pod) => (Kind::Pod, pod.clone()),
        };
        let response: Result<Value, kube::Error> = client.request(self.request()?).await;
        match response {
            // For an object that is deleted at once, the response is its last state, or a Status.
            Ok(response) if response["kind"] == "Status" => {
                if matches!(self, Self::Delete(..) | Self::ForceDelete(_)) {
                    cache.delete(kind, &object::key(&before));
                }
                Ok(())
            }
            Ok(response) => {
                let is_deleted = matches!(self, Self::ForceDelete(_))
                    || (matches!(self, Self::Delete(..)) && !object::is_being_deleted(&response));
                if is_deleted {
                    cache.delete(kind, &object::key(&before));
                } else {
                    cache.upsert(kind, response);
                }
                Ok(())
            }
            Err(kube::Error::Api(status)) if status.code == 404 => {
                cache.delete(kind, &object::key(&before));
                Ok(())
            }
            Err(error) => Err(error),
        }
    }

    fn request(&self) -> Result<Request<Vec<u8>>, kube::Error> {
        let object_path = |kind: Kind, object: &Value| {
            format!(
                "{}/{}",
                kind.path(object::namespace(object)),
                object::name(object)
            )
        };
        // A precondition on the uid.
        let uid_precondition = |object: &Value| json!({ "uid": object::uid(object) });
        let (method, path, body) = match self {
            Self::Create(kind, object) => ("POST", kind.path(object::namespace(object)), object.clone()),
            Self::UpdateStatus(kind, object) => {
                ("PUT", object_path(*kind, object) + "/status", object.clone())
            }
            Self::Update(kind, object) => ("PUT", object_path(*kind, object), object.clone()),
            Self::Bind(pod) => {
                let metadata = json!({ "name": object::name(pod), "namespace": object::namespace(pod), "uid": object::uid(pod) });
                let target = json!({ "apiVersion": "v1", "kind": "Node", "name": crate::NODE });
                let binding =
                    json!({ "apiVersion": "v1", "kind": "Binding", "metadata": metadata, "target": target });
                ("POST", object_path(Kind::Pod, pod) + "/binding", binding)
            }
            Self::Delete(kind, object) => {
                let options =
                    json!({ "preconditions": uid_precondition(object), "propagationPolicy": "Background" });
                ("DELETE", object_path(*kind, object), options)
            }
            Self::ForceDelete(pod) => {
                let options = json!({ "preconditions": uid_precondition(pod), "gracePeriodSeconds": 0 });
                ("DELETE", object_path(Kind::Pod, pod), options)
            }
        };
        Request::builder()
            .method(method)
            .uri(path)
            .header("Content-Type", "application/json")
            .body(body.to_string().into_bytes())
            .map_err(kube::Error::HttpError)
    }
}

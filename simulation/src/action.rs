//! What is asked of the API server.

use http::Request;
use kube::Client;
use serde_json::{Value, json};

use crate::object;
use crate::world::{Kind, World};

/// A write.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Action {
    /// Makes an object.
    Create(Kind, Value),
    /// Writes an object's status.
    Status(Kind, Value),
    /// Writes an object but its status.
    Update(Kind, Value),
    /// Puts a pod on the node.
    Bind(Value),
    /// Deletes an object, after its grace period.
    Delete(Kind, Value),
    /// Ends a pod that was to be deleted.
    Finish(Value),
}

impl Action {
    /// Sends it, and takes the answer into the world: the next step sees what this one did.
    ///
    /// # Errors
    ///
    /// Whatever the API server says. A conflict is settled by the watch: the newer object is on its way.
    pub(crate) async fn perform(self, client: &Client, world: &mut World) -> Result<(), kube::Error> {
        let (kind, before) = match &self {
            Self::Create(kind, object)
            | Self::Status(kind, object)
            | Self::Update(kind, object)
            | Self::Delete(kind, object) => (*kind, object.clone()),
            Self::Bind(pod) | Self::Finish(pod) => (Kind::Pod, pod.clone()),
        };
        let answer: Result<Value, kube::Error> = client.request(self.request()?).await;
        match answer {
            // An object that goes at once is answered as it was, or as a Status.
            Ok(answer) if answer["kind"] == "Status" => {
                if matches!(self, Self::Delete(..) | Self::Finish(_)) {
                    world.forget(kind, &object::key(&before));
                }
                Ok(())
            }
            Ok(answer) => {
                let gone = matches!(self, Self::Finish(_))
                    || (matches!(self, Self::Delete(..)) && !object::is_deleted(&answer));
                if gone {
                    world.forget(kind, &object::key(&before));
                } else {
                    world.put(kind, answer);
                }
                Ok(())
            }
            Err(kube::Error::Api(status)) if status.code == 404 => {
                world.forget(kind, &object::key(&before));
                Ok(())
            }
            Err(error) => Err(error),
        }
    }

    fn request(&self) -> Result<Request<Vec<u8>>, kube::Error> {
        let of = |kind: Kind, object: &Value| {
            format!(
                "{}/{}",
                kind.path(object::namespace(object)),
                object::name(object)
            )
        };
        // Only the object that was looked at.
        let this = |object: &Value| json!({ "uid": object::uid(object) });
        let (method, path, body) = match self {
            Self::Create(kind, object) => ("POST", kind.path(object::namespace(object)), object.clone()),
            Self::Status(kind, object) => ("PUT", of(*kind, object) + "/status", object.clone()),
            Self::Update(kind, object) => ("PUT", of(*kind, object), object.clone()),
            Self::Bind(pod) => {
                let metadata = json!({ "name": object::name(pod), "namespace": object::namespace(pod), "uid": object::uid(pod) });
                let target = json!({ "apiVersion": "v1", "kind": "Node", "name": crate::NODE });
                let binding =
                    json!({ "apiVersion": "v1", "kind": "Binding", "metadata": metadata, "target": target });
                ("POST", of(Kind::Pod, pod) + "/binding", binding)
            }
            Self::Delete(kind, object) => {
                let options = json!({ "preconditions": this(object), "propagationPolicy": "Background" });
                ("DELETE", of(*kind, object), options)
            }
            Self::Finish(pod) => {
                let options = json!({ "preconditions": this(pod), "gracePeriodSeconds": 0 });
                ("DELETE", of(Kind::Pod, pod), options)
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

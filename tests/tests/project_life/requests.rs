//! The requests of the writers. Each response must have the status that it would have without an upgrade, and the object as it was written.

use http::{Method, Request};
use http_body_util::BodyExt as _;
use kube::client::Body;
use serde_json::{Value, json};

use crate::object::Object;

const JSON: &str = "application/json";
const MERGE_PATCH: &str = "application/merge-patch+json";
const APPLY_PATCH: &str = "application/apply-patch+yaml";

/// A client of the kind.
#[derive(Clone)]
pub(crate) struct Foos(kube::Client);

/// A response.
struct Response {
    /// The method, path and body of the request.
    request: String,
    status: u16,
    body: Value,
}

impl Foos {
    pub(crate) fn new(client: kube::Client) -> Self {
        Self(client)
    }

    pub(crate) async fn list(&self, version: &str) -> Vec<Value> {
        let list = self.send(Method::GET, version, "", JSON, None).await.expect(200);
        list["items"].as_array().unwrap().clone()
    }

    pub(crate) async fn create(&self, version: &str, object: &mut Object) {
        let body = object.to_json(version);
        let response = self.send(Method::POST, version, "", JSON, Some(&body)).await;
        object.created(version, &response.expect(201));
    }

    /// Creates the object by applying all of it.
    pub(crate) async fn apply_new(&self, version: &str, object: &mut Object, manager: &str) {
        let body = object.to_json(version);
        let path = format!("/{}?fieldManager={manager}", object.name);
        let response = self
            .send(Method::PATCH, version, &path, APPLY_PATCH, Some(&body))
            .await;
        object.created(version, &response.expect(201));
    }

    /// Applies the changed fields. Required fields are missing in what the API server converts of them.
    pub(crate) async fn apply(&self, version: &str, object: &Object, change: &Value) {
        let body = object.part(version, change);
        let path = format!("/{}?fieldManager=applying-{version}&force=true", object.name);
        let response = self
            .send(Method::PATCH, version, &path, APPLY_PATCH, Some(&body))
            .await;
        object.assert_is(version, &response.expect(200), "the applied object");
    }

    /// Patches the changed fields.
    pub(crate) async fn patch(&self, version: &str, object: &Object, change: &Value) {
        let body = json!({ "spec": change });
        let path = format!("/{}", object.name);
        let response = self
            .send(Method::PATCH, version, &path, MERGE_PATCH, Some(&body))
            .await;
        object.assert_is(version, &response.expect(200), "the patched object");
    }

    /// Reads, changes and updates the object, until no other write, such as that of its status, comes in between.
    pub(crate) async fn replace(&self, version: &str, before: &Object, object: &Object) {
        let path = format!("/{}", object.name);
        let mut refused = Value::Null;
        loop {
            let read = self.send(Method::GET, version, &path, JSON, None).await;
            let mut body = read.expect(200);
            before.assert_is(version, &body, "the object that is read");
            let resource_version = body["metadata"]["resourceVersion"].clone();
            assert_ne!(
                resource_version, refused,
                "a conflict without another write: {body}"
            );
            body["spec"] = object.spec_in(version);
            let response = self.send(Method::PUT, version, &path, JSON, Some(&body)).await;
            if response.status != 409 {
                return object.assert_is(version, &response.expect(200), "the updated object");
            }
            assert_eq!(response.body["reason"], "Conflict", "{}", response.body);
            refused = resource_version;
        }
    }

    /// Deletes the object, which must be gone then.
    pub(crate) async fn delete(&self, version: &str, object: &Object) {
        let path = format!("/{}", object.name);
        let deleted = self.send(Method::DELETE, version, &path, JSON, None).await;
        deleted.expect(200);
        self.send(Method::GET, version, &path, JSON, None)
            .await
            .expect(404);
    }

    async fn send(
        &self,
        method: Method,
        version: &str,
        path: &str,
        content_type: &str,
        body: Option<&Value>,
    ) -> Response {
        let path = format!("/apis/demo.dev/{version}/namespaces/default/foos{path}");
        let body = body.map(Value::to_string).unwrap_or_default();
        let described = format!("{method} {path} {body}");
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header("Content-Type", content_type)
            .body(Body::from(body.into_bytes()));
        let response = self.0.send(request.unwrap()).await;
        let response = response.unwrap_or_else(|error| panic!("{described}: {error}"));
        let status = response.status().as_u16();
        let body = response.into_body().collect().await;
        let body = body.unwrap_or_else(|error| panic!("{described}: {error}"));
        Response {
            request: described,
            status,
            body: serde_json::from_slice(&body.to_bytes()).unwrap(),
        }
    }
}

impl Response {
    /// Returns the body. Panics if the status is not the expected.
    fn expect(self, status: u16) -> Value {
        let Self {
            request,
            status: found,
            body,
        } = self;
        assert_eq!(found, status, "{request}: {body}");
        body
    }
}

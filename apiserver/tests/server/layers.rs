//! Layers in front of the server.

use crate::client::TestServer;
use kubewright_apiserver::http::{Layer, LayerRequest, ResponseFuture};
use kubewright_apiserver::{ApiServer, Tls, auth::AuthorizationMode};
use serde_json::json;
use std::sync::Arc;
use tokio::sync::Notify;

const ACCOUNTS: &str = "/api/v1/namespaces/default/serviceaccounts";

/// Holds the requests of service accounts until they are released.
#[derive(Debug, Default)]
struct Hold {
    received: Notify,
    released: Arc<Notify>,
}

impl Layer for Hold {
    fn call(&self, request: LayerRequest, next: ResponseFuture) -> ResponseFuture {
        if !request.user.starts_with("system:serviceaccount:") {
            return next;
        }
        self.received.notify_one();
        let released = self.released.clone();
        Box::pin(async move {
            released.notified().await;
            next.await
        })
    }
}

#[tokio::test]
async fn request_is_authenticated_once_before_the_layer() {
    let layer = Arc::new(Hold::default());
    let builder = ApiServer::builder()
        .tls(Tls::Off)
        .authorization(&[AuthorizationMode::AlwaysAllow])
        .layer(layer.clone());
    let server = TestServer {
        api: builder.start().await.unwrap(),
    };
    server
        .create(ACCOUNTS, json!({ "metadata": { "name": "robot" } }))
        .await;
    let token = server
        .create(&format!("{ACCOUNTS}/robot/token"), json!({ "spec": {} }))
        .await;
    let token = token["status"]["token"].as_str().unwrap();
    let held = server.send(token, "GET", ACCOUNTS, &[], b"");
    let revoke_token = async {
        layer.received.notified().await;
        // From now on the token is invalid, but the user of the held request is known.
        server
            .request("DELETE", &format!("{ACCOUNTS}/robot"), None)
            .await
            .expect(200);
        layer.released.notify_one();
    };
    let (response, ()) = tokio::join!(held, revoke_token);
    response.expect(200);
    assert_eq!(server.send(token, "GET", ACCOUNTS, &[], b"").await.code, 401);
}

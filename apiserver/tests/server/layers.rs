//! Layers in front of the server.

use crate::client::{CONFIG_MAPS, TIMEOUT, TestServer, config_map};
use kubewright_apiserver::http::{ConnectionAborted, Layer, LayerRequest, ResponseFuture};
use kubewright_apiserver::{ApiServer, Tls, auth::AuthorizationMode};
use serde_json::json;
use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Poll;
use std::time::{Duration, Instant};
use tokio::io::AsyncReadExt as _;
use tokio::net::TcpListener;
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

/// Drops each create request at one of its await points, the first one at the first, as when the client closes the connection.
#[derive(Debug, Default)]
struct Abandon(AtomicUsize);

impl Layer for Abandon {
    fn call(&self, request: LayerRequest, mut next: ResponseFuture) -> ResponseFuture {
        if request.info.verb != "create" {
            return next;
        }
        let mut waits = self.0.fetch_add(1, Ordering::Relaxed);
        Box::pin(poll_fn(move |context| match next.as_mut().poll(context) {
            Poll::Pending if waits == 0 => Poll::Ready(Err(ConnectionAborted)),
            Poll::Pending => {
                waits -= 1;
                Poll::Pending
            }
            response @ Poll::Ready(_) => response,
        }))
    }
}

#[tokio::test]
async fn writes_of_clients_that_have_gone_are_recorded() {
    const WRITES: usize = 5;
    let builder = ApiServer::builder()
        .tls(Tls::Off)
        .layer(Arc::new(Abandon::default()));
    let server = TestServer {
        api: builder.start().await.unwrap(),
    };
    let token = server.api.admin_token();
    for number in 0..WRITES {
        let body = config_map(&format!("map-{number}")).to_string();
        let json = ("Content-Type", "application/json");
        let mut stream = server
            .open(token, "POST", CONFIG_MAPS, &[json], body.as_bytes())
            .await;
        // Until the server has closed the connection.
        let _ = stream.read_to_end(&mut vec![]).await;
    }
    assert_eq!(records_of_creates(&server, WRITES).await, WRITES);
    let created = server.get(CONFIG_MAPS).await.expect(200)["items"].clone();
    assert_eq!(created.as_array().unwrap().len(), WRITES);
}

/// A webhook that never answers, which the server ignores after a second. The client does not wait for that.
#[tokio::test]
async fn write_is_recorded_if_the_client_does_not_wait_for_the_webhook() {
    let server = TestServer::start().await;
    let webhook = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let webhook_url = format!("https://{}/", webhook.local_addr().unwrap());
    let hook = json!({
        "metadata": { "name": "silent" },
        "webhooks": [{
            "name": "silent.example.com", "clientConfig": { "url": webhook_url },
            "rules": [{ "apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"] }],
            "failurePolicy": "Ignore", "timeoutSeconds": 1, "sideEffects": "None", "admissionReviewVersions": ["v1"],
        }],
    });
    let hooks = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations";
    server.create(hooks, hook).await;
    let before = records_of_creates(&server, 1).await;
    let body = config_map("map").to_string();
    let json = ("Content-Type", "application/json");
    let stream = server
        .open(
            server.api.admin_token(),
            "POST",
            CONFIG_MAPS,
            &[json],
            body.as_bytes(),
        )
        .await;
    let _silent = webhook.accept().await.unwrap();
    drop(stream);
    assert_eq!(records_of_creates(&server, before + 1).await, before + 1);
    server.get(&format!("{CONFIG_MAPS}/map")).await.expect(200);
}

/// Waits until the audit log has so many creations, at most for the timeout, and returns how many it has.
async fn records_of_creates(server: &TestServer, expected: usize) -> usize {
    let started = Instant::now();
    loop {
        let records = server.api.audit().records();
        let count = records.iter().filter(|record| record.verb == "create").count();
        if count >= expected || started.elapsed() > TIMEOUT {
            return count;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

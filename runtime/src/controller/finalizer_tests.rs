use http::{Request, Response};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::client::Body;
use parking_lot::Mutex;

use super::*;
use crate::client::Connection;

const OURS: &str = "demo.dev/cleanup";

/// Method, path, content type and body of each request.
type Requests = Arc<Mutex<Vec<(String, String, String, Value)>>>;

/// A client of a server that answers every patch with `answer`.
fn client(code: u16, answer: Value) -> (TypedClient<ConfigMap, (Patch,)>, Requests) {
    let sent = Requests::default();
    let log = sent.clone();
    let server = tower::service_fn(move |request: Request<Body>| {
        let (log, answer) = (log.clone(), answer.clone());
        async move {
            let (parts, body) = request.into_parts();
            let body = serde_json::from_slice(&body.collect_bytes().await?)?;
            let content_type = parts.headers["content-type"].to_str()?.to_owned();
            log.lock().push((
                parts.method.to_string(),
                parts.uri.path().to_owned(),
                content_type,
                body,
            ));
            let response = Response::builder()
                .status(code)
                .body(Body::from(answer.to_string().into_bytes()))?;
            Ok::<_, tower::BoxError>(response)
        }
    });
    let connection = Connection::new(kube::Client::new(server, "default"));
    (TypedClient::new(connection), sent)
}

fn object(finalizers: &[&str]) -> ConfigMap {
    serde_json::from_value(json!({"metadata": {
        "name": "a", "namespace": "default", "resourceVersion": "7", "finalizers": finalizers,
    }}))
    .unwrap()
}

fn merge_patch(finalizers: &[&str]) -> (String, String, String, Value) {
    let body = json!({"metadata": {"resourceVersion": "7", "finalizers": finalizers}});
    let path = "/api/v1/namespaces/default/configmaps/a".to_owned();
    (
        "PATCH".to_owned(),
        path,
        "application/merge-patch+json".to_owned(),
        body,
    )
}

#[tokio::test]
async fn ensure_appends_the_finalizer() {
    let answer = json!({"metadata": {"name": "a", "resourceVersion": "8"}});
    let (client, sent) = client(200, answer);
    let after = ensure(&client, Arc::new(object(&["other.dev/x"])), OURS)
        .await
        .unwrap();
    assert_eq!(after.metadata.resource_version.as_deref(), Some("8"));
    assert_eq!(*sent.lock(), [merge_patch(&["other.dev/x", OURS])]);
}

#[tokio::test]
async fn ensure_sends_nothing_if_present_or_deleting() {
    let (client, sent) = client(500, Value::Null);
    let present = Arc::new(object(&[OURS]));
    assert!(Arc::ptr_eq(
        &ensure(&client, present.clone(), OURS).await.unwrap(),
        &present
    ));
    let mut deleted = object(&[]);
    deleted.metadata.deletion_timestamp =
        Some(serde_json::from_value(json!("2026-01-01T00:00:00Z")).unwrap());
    ensure(&client, Arc::new(deleted), OURS).await.unwrap();
    assert!(sent.lock().is_empty());
}

#[tokio::test]
async fn remove_keeps_other_finalizers() {
    let (client, sent) = client(200, json!({"metadata": {"name": "a"}}));
    remove(&client, &object(&[OURS, "other.dev/x"]), OURS)
        .await
        .unwrap();
    remove(&client, &object(&["other.dev/x"]), OURS).await.unwrap();
    assert_eq!(
        *sent.lock(),
        [merge_patch(&["other.dev/x"])],
        "the second object does not have it"
    );
}

#[tokio::test]
async fn remove_ignores_not_found_but_returns_conflicts() {
    let status = |code: u16, reason: &str| {
        json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code, "reason": reason,
               "message": "refused", "details": {"name": "a", "kind": "configmaps"}})
    };
    let (gone, sent) = client(404, status(404, "NotFound"));
    remove(&gone, &object(&[OURS]), OURS).await.unwrap();
    assert_eq!(sent.lock().len(), 1);
    let (changed, _) = client(409, status(409, "Conflict"));
    assert!(
        remove(&changed, &object(&[OURS]), OURS)
            .await
            .unwrap_err()
            .is_conflict()
    );
}

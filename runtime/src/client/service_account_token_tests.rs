use std::convert::Infallible;

use http::Method;
use kube::client::Body;
use serde_json::{Value, json};
use tokio::time::{advance, sleep};
use tower::{ServiceExt as _, service_fn};

use super::*;

/// An API server with service accounts and their tokens.
#[derive(Default)]
struct Server {
    accounts: Vec<String>,
    /// How many tokens it has issued.
    issued: usize,
    /// Answers requests for tokens with an error.
    is_down: bool,
    /// How long a request for a token takes.
    delay: Duration,
    seconds: u64,
}

type Shared = Arc<Mutex<Server>>;

fn account(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name, "namespace": "kube-system"}})
}

impl Server {
    fn answer(&mut self, method: &Method, path: &str) -> (u16, Value) {
        assert_eq!(method, Method::POST);
        let path = path
            .strip_prefix("/api/v1/namespaces/kube-system/serviceaccounts")
            .unwrap();
        let status = |code: u16, reason: &str| {
            (
                code,
                json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": reason, "message": reason, "code": code}),
            )
        };
        let Some(name) = path
            .strip_suffix("/token")
            .and_then(|path| path.strip_prefix('/'))
        else {
            self.accounts.push("web".to_owned());
            return (201, account("web"));
        };
        if self.is_down {
            return status(500, "InternalError");
        }
        if !self.accounts.iter().any(|known| known == name) {
            return status(404, "NotFound");
        }
        self.issued += 1;
        let token = format!("token-{}", self.issued);
        let (time, seconds) = ("2026-01-01T00:00:00Z", self.seconds);
        (
            201,
            json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "metadata": {},
            "spec": {"audiences": [], "expirationSeconds": seconds}, "status": {"token": token, "expirationTimestamp": time}}),
        )
    }
}

fn server(seconds: u64) -> (Shared, ServiceAccountToken) {
    let server = Server {
        seconds,
        ..Server::default()
    };
    let server: Shared = Arc::new(Mutex::new(server));
    let shared = server.clone();
    let service = service_fn(move |request: Request<Body>| {
        let shared = shared.clone();
        async move {
            let delay = shared.lock().delay;
            sleep(delay).await;
            let (code, body) = shared.lock().answer(request.method(), request.uri().path());
            let body = Body::from(serde_json::to_vec(&body).unwrap());
            Ok::<_, Infallible>(Response::builder().status(code).body(body).unwrap())
        }
    });
    let client = kube::Client::new(service, "default");
    let token = ServiceAccountToken::new(client, "kube-system", "web");
    (server, token)
}

/// Sends a request through the layer to a server that refuses `refused`; returns the authorization that it saw.
async fn send(token: &ServiceAccountToken, refused: &'static str) -> Result<(String, StatusCode), BoxError> {
    let seen = Arc::new(Mutex::new(String::new()));
    let writer = seen.clone();
    let api = service_fn(move |request: Request<Body>| {
        let authorization = request.headers()[AUTHORIZATION].to_str().unwrap().to_owned();
        let code = if authorization == refused { 401 } else { 200 };
        *writer.lock() = authorization;
        async move {
            let response = Response::builder().status(code).body(Body::empty()).unwrap();
            Ok::<_, BoxError>(response)
        }
    });
    let request = Request::builder().uri("/").body(Body::empty()).unwrap();
    let response = token.layer(api).oneshot(request).await?;
    Ok((seen.lock().clone(), response.status()))
}

async fn sent(token: &ServiceAccountToken) -> String {
    send(token, "").await.unwrap().0
}

#[tokio::test(start_paused = true)]
async fn accounts_are_created_and_tokens_are_renewed_before_they_expire() {
    let (server, token) = server(1_000);
    assert_eq!(sent(&token).await, "Bearer token-1");
    assert_eq!(server.lock().accounts, ["web"]);
    advance(Duration::from_secs(799)).await;
    assert_eq!(sent(&token).await, "Bearer token-1");
    advance(Duration::from_secs(1)).await;
    assert_eq!(sent(&token).await, "Bearer token-2");
    assert_eq!(server.lock().accounts, ["web"]);
}

#[tokio::test(start_paused = true)]
async fn requests_at_the_same_time_share_a_token_request() {
    let (server, token) = server(1_000);
    server.lock().delay = Duration::from_secs(1);
    let sends: Vec<_> = (0..20).map(|_| sent(&token)).collect();
    let all = futures::future::join_all(sends).await;
    assert!(
        all.iter().all(|authorization| authorization == "Bearer token-1"),
        "{all:?}"
    );
    assert_eq!(server.lock().issued, 1);
}

#[tokio::test(start_paused = true)]
async fn cancelled_request_does_not_stop_the_others() {
    let (server, token) = server(1_000);
    server.lock().delay = Duration::from_secs(1);
    let first = timeout(Duration::from_millis(500), sent(&token)).await;
    assert!(first.is_err());
    assert_eq!(sent(&token).await, "Bearer token-1");
}

#[tokio::test(start_paused = true)]
async fn valid_token_is_used_while_it_cannot_be_renewed() {
    let (server, token) = server(1_000);
    assert_eq!(sent(&token).await, "Bearer token-1");
    server.lock().is_down = true;
    advance(Duration::from_mins(15)).await;
    assert_eq!(sent(&token).await, "Bearer token-1");
    server.lock().is_down = false;
    // The renewal is retried after a while, not with each request.
    assert_eq!(sent(&token).await, "Bearer token-1");
    advance(RENEWAL_RETRY).await;
    assert_eq!(sent(&token).await, "Bearer token-2");
}

#[tokio::test(start_paused = true)]
async fn expired_token_is_not_used_and_the_error_names_the_account() {
    let (server, token) = server(1_000);
    sent(&token).await;
    server.lock().is_down = true;
    advance(Duration::from_secs(1_000)).await;
    let error = send(&token, "").await.unwrap_err().to_string();
    assert!(
        error.starts_with("no token for service account \"web\": "),
        "{error}"
    );
    server.lock().is_down = false;
    assert_eq!(sent(&token).await, "Bearer token-2");
}

#[tokio::test(start_paused = true)]
async fn refused_token_is_replaced() {
    let (_server, token) = server(1_000);
    let (_, status) = send(&token, "Bearer token-1").await.unwrap();
    assert_eq!(status, StatusCode::UNAUTHORIZED);
    assert_eq!(sent(&token).await, "Bearer token-2");
    // A late refusal of the old token does not drop the new one.
    token.forget(&HeaderValue::from_static("Bearer token-1"));
    assert_eq!(sent(&token).await, "Bearer token-2");
}

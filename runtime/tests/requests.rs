//! Retries of requests, the rate limiter, streamed lists, and watches.

#![allow(clippy::unwrap_used, reason = "helpers of tests are tests")]

use std::{collections::VecDeque, convert::Infallible, sync::Arc, time::Duration};

use futures::StreamExt as _;
use http::{Request, Response};
use k8s_openapi::api::core::v1::ConfigMap;
use kubewright::{
    NamespacedName,
    client::{
        All, ApplyOptions, ClientError, ClientErrorCause, Connection, DeleteParams, ListParams, PatchBody,
        Preconditions, ResponseFuture, TypedClient, WatchEvent, WatchParams,
    },
    kube::{Client, client::Body},
};
use parking_lot::Mutex;
use serde_json::json;
use tokio::time::Instant;

/// Status code, `Retry-After` and body.
type Scripted = (u16, Option<&'static str>, &'static str);

const OBJECT: Scripted = (200, None, r#"{"metadata":{"namespace":"default","name":"a"}}"#);
const BUSY: Scripted = (429, Some("2"), "{}");

#[derive(Clone, Default)]
struct Server {
    answers: Arc<Mutex<VecDeque<Scripted>>>,
    requests: Arc<Mutex<Vec<String>>>,
}

impl Server {
    fn new(answers: impl IntoIterator<Item = Scripted>) -> Self {
        let server = Self::default();
        server.answers.lock().extend(answers);
        server
    }

    fn connection(&self) -> Connection {
        let server = self.clone();
        let service = tower::service_fn(move |request: Request<Body>| {
            let entry = format!("{} {}", request.method(), request.uri());
            server.requests.lock().push(entry);
            let (code, retry_after, body) = server.answers.lock().pop_front().unwrap_or(OBJECT);
            let mut response = Response::builder().status(code);
            if let Some(seconds) = retry_after {
                response = response.header("retry-after", seconds);
            }
            let response = response.body(Body::from(body.as_bytes().to_vec())).unwrap();
            async { Ok::<_, Infallible>(response) }
        });
        Connection::new(Client::new(service, "default"))
    }

    fn client(&self) -> TypedClient<ConfigMap, All> {
        TypedClient::new(self.connection())
    }

    fn sent(&self) -> usize {
        self.requests.lock().len()
    }
}

fn name() -> NamespacedName {
    NamespacedName::namespaced("default", "a")
}

fn object() -> ConfigMap {
    serde_json::from_value(json!({"metadata": {"namespace": "default", "name": "a", "resourceVersion": "7"}}))
        .unwrap()
}

fn drop_response<T: 'static>(answer: ResponseFuture<T>) -> ResponseFuture<()> {
    Box::pin(async { answer.await.map(drop) })
}

type Send<'a> = Box<dyn Fn(&TypedClient<ConfigMap, All>) -> ResponseFuture<()> + 'a>;

/// client-go: TestCheckRetryHandles429And5xx, TestCheckRetryClosesBody of rest/request_test.go; there for every verb.
#[tokio::test(start_paused = true)]
async fn only_idempotent_requests_are_resent() {
    let precondition = DeleteParams {
        preconditions: Some(Preconditions {
            uid: Some("u".to_owned()),
            resource_version: None,
        }),
        ..DeleteParams::default()
    };
    let calls: Vec<(&str, bool, Send<'_>)> = vec![
        ("get", true, Box::new(|client| drop_response(client.get(&name())))),
        (
            "list",
            true,
            Box::new(|client| drop_response(client.list(None, &ListParams::default()))),
        ),
        (
            "apply",
            true,
            Box::new(|client| drop_response(client.apply(&object()))),
        ),
        (
            "delete that object",
            true,
            Box::new(|client| client.delete(&name(), &precondition)),
        ),
        (
            "delete",
            false,
            Box::new(|client| client.delete(&name(), &DeleteParams::default())),
        ),
        (
            "create",
            false,
            Box::new(|client| drop_response(client.create(&object()))),
        ),
        (
            "update",
            false,
            Box::new(|client| drop_response(client.update(&object()))),
        ),
        (
            "patch",
            false,
            Box::new(|client| drop_response(client.patch(&name(), &PatchBody::Merge(json!({}))))),
        ),
    ];
    for (call, is_repeated, send) in calls {
        let last = if call == "list" {
            (200, None, r#"{"items":[]}"#)
        } else {
            OBJECT
        };
        let server = Server::new([BUSY, (503, Some("1"), "upstream away"), (500, None, "{}"), last]);
        let began = Instant::now();
        let answer = send(&server.client()).await;
        if is_repeated {
            answer.unwrap();
            assert_eq!(server.sent(), 4, "{call}");
            let waited = began.elapsed();
            assert!((3400..=3800).contains(&waited.as_millis()), "{call}: {waited:?}");
        } else {
            let error = answer.unwrap_err();
            assert_eq!(error.retry_after(), Some(Duration::from_secs(2)));
            assert_eq!((server.sent(), began.elapsed()), (1, Duration::ZERO), "{call}");
        }
    }
}

const REMOVED_VERSION: Scripted = (
    500,
    None,
    r#"{"kind":"Status","code":500,"message":"request to convert CR to an invalid group/version: demo.dev/v1alpha1"}"#,
);

#[tokio::test(start_paused = true)]
async fn apply_to_an_object_of_a_removed_version_drops_its_managed_fields() {
    let apply = "PATCH /api/v1/namespaces/default/configmaps/a?&force=true&fieldManager=";
    let reset = "PATCH /api/v1/namespaces/default/configmaps/a";
    let server = Server::new([REMOVED_VERSION, OBJECT, OBJECT]);
    server.client().apply(&object()).await.unwrap();
    let sent = server.requests.lock().clone();
    assert_eq!(sent.len(), 3);
    assert!(
        sent[0].starts_with(apply) && sent[2].starts_with(apply),
        "{sent:?}"
    );
    assert_eq!(sent[1], reset);

    // Once, whatever becomes of it, and not for a dry run.
    for answer in [OBJECT, (403, None, "{}")] {
        let server = Server::new(
            [REMOVED_VERSION, answer]
                .into_iter()
                .chain(vec![REMOVED_VERSION; 30]),
        );
        let error = server.client().apply(&object()).await.unwrap_err();
        assert!(error.to_string().contains("invalid group/version"), "{error}");
        let sent = server.requests.lock();
        assert_eq!(sent.iter().filter(|request| *request == reset).count(), 1);
    }
    let server = Server::new(vec![REMOVED_VERSION; 30]);
    let options = ApplyOptions::new().dry_run();
    server.client().apply_with(&object(), &options).await.unwrap_err();
    assert!(!server.requests.lock().iter().any(|request| request == reset));
}

#[tokio::test(start_paused = true)]
async fn retries_are_limited() {
    let server = Server::new([BUSY; 10]);
    let error = server.client().get(&name()).await.unwrap_err();
    assert!(error.is_too_many_requests() && server.sent() == 4);
    for (answer, retry_after) in [
        ((429, Some("60"), "{}"), Some(60)),
        ((404, Some("1"), r#"{"code":404,"reason":"NotFound"}"#), Some(1)),
        ((401, None, "{}"), None),
        ((409, None, "{}"), None),
    ] {
        let server = Server::new([answer]);
        let error = server.client().get(&name()).await.unwrap_err();
        assert_eq!(server.sent(), 1, "{answer:?}");
        assert_eq!(error.retry_after(), retry_after.map(Duration::from_secs));
    }
    let server = Server::new([BUSY]);
    let client = TypedClient::<ConfigMap, All>::new(server.connection().without_retries());
    assert!(client.get(&name()).await.is_err());
}

#[tokio::test(start_paused = true)]
async fn rate_limiter_is_shared_by_clones() {
    let server = Server::default();
    let connection = server.connection().with_rate_limit(5.0, 2);
    let [one, other] = [connection.clone(), connection].map(TypedClient::<ConfigMap, All>::new);
    let began = Instant::now();
    for _ in 0..6 {
        one.get(&name()).await.unwrap();
        other.get(&name()).await.unwrap();
    }
    // A burst of two, and ten more at five a second.
    let waited = began.elapsed();
    assert!((2000..2020).contains(&waited.as_millis()), "{waited:?}");
}

#[tokio::test]
async fn unauthorized_names_the_fix() {
    let status = r#"{"kind":"Status","code":401,"reason":"Unauthorized","message":"Unauthorized"}"#;
    let server = Server::new([(401, None, status)]);
    let error = server.client().get(&name()).await.unwrap_err();
    assert!(error.is_unauthorized());
    assert!(
        error.to_string().contains("renew the token or the certificate"),
        "{error}"
    );
}

fn names(objects: &[Result<ConfigMap, ClientError>]) -> Vec<String> {
    let name = |object: &Result<ConfigMap, ClientError>| match object {
        Ok(object) => object.metadata.name.clone().unwrap(),
        Err(error) => error
            .status()
            .map_or_else(|| error.to_string(), |status| status.reason.clone()),
    };
    objects.iter().map(name).collect()
}

#[tokio::test]
async fn streamed_list_requests_pages_on_demand() {
    let pages = || {
        let first = r#"{"metadata":{"continue":"more"},"items":[{"metadata":{"name":"a"}},{"metadata":{"name":"b"}}]}"#;
        Server::new([
            (200, None, first),
            (
                200,
                None,
                r#"{"metadata":{"continue":""},"items":[{"metadata":{"name":"c"}}]}"#,
            ),
        ])
    };
    let server = pages();
    let params = ListParams::default().labels("app=web");
    let mut objects = server.client().list_stream(Some("default"), &params);
    assert_eq!(server.sent(), 0);
    let both = [objects.next().await.unwrap(), objects.next().await.unwrap()];
    assert_eq!(
        (names(&both), server.sent()),
        (vec!["a".to_owned(), "b".to_owned()], 1)
    );
    let rest: Vec<_> = objects.collect().await;
    assert_eq!(names(&rest), ["c"]);
    let path = "GET /api/v1/namespaces/default/configmaps?&labelSelector=app%3Dweb&limit=500";
    assert_eq!(
        *server.requests.lock(),
        [path.to_owned(), format!("{path}&continue=more")]
    );

    let server = pages();
    server.answers.lock()[1] = (410, None, r#"{"code":410,"reason":"Expired"}"#);
    let objects: Vec<_> = server
        .client()
        .list_stream(Some("default"), &params)
        .collect()
        .await;
    assert_eq!(names(&objects), ["a", "b", "Expired"], "nothing follows an error");
    let objects: Vec<_> = server.client().list_stream(Some("a/b"), &params).collect().await;
    assert!(names(&objects)[0].contains("is not a valid namespace name"));
}

#[tokio::test]
async fn watch_yields_events_until_its_end_or_an_error() {
    let lines = concat!(
        r#"{"type":"ADDED","object":{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a"}}}"#,
        "\n\n",
        r#"{"type":"BOOKMARK","object":{"kind":"ConfigMap","apiVersion":"v1","metadata":{"resourceVersion":"8","#,
        r#""annotations":{"k8s.io/initial-events-end":"true"}}}}"#,
        "\n",
        r#"{"type":"DELETED","object":{"metadata":{"name":"a"}}}"#,
        "\n",
    );
    let expired =
        r#"{"type":"ERROR","object":{"kind":"Status","code":410,"reason":"Expired","message":"too old"}}"#;
    let failing = format!("{lines}{expired}\n{lines}").leak();
    for (body, ends_badly) in [(lines, false), (&*failing, true)] {
        let server = Server::new([(200, None, body)]);
        let events = server
            .client()
            .watch(Some("default"), &WatchParams::default(), "7");
        let mut events: Vec<_> = events.collect().await;
        if ends_badly {
            let error = events.pop().unwrap().unwrap_err();
            assert!(
                error.is_expired() && error.to_string().contains("cannot watch ConfigMap"),
                "{error}"
            );
        }
        let [
            Ok(WatchEvent::Added(added)),
            Ok(bookmark),
            Ok(WatchEvent::Deleted(_)),
        ] = &events[..]
        else {
            panic!("{events:?}");
        };
        assert_eq!(added.metadata.name.as_deref(), Some("a"));
        let end = WatchEvent::Bookmark {
            resource_version: "8".to_owned(),
            ends_initial_events: true,
        };
        assert_eq!(*bookmark, end);
        let request = server.requests.lock()[0].clone();
        assert!(
            request.starts_with("GET /api/v1/namespaces/default/configmaps?&watch=true"),
            "{request}"
        );
        assert!(request.ends_with("resourceVersion=7"), "{request}");
    }
}

#[tokio::test]
async fn watch_errors_are_different_errors() {
    type Check = fn(&ClientError) -> bool;
    let cases: [(Scripted, Check); 4] = [
        (
            (403, None, r#"{"code":403,"reason":"Forbidden"}"#),
            ClientError::is_forbidden,
        ),
        ((429, Some("1"), "{}"), ClientError::is_too_many_requests),
        ((200, None, "<html>Please log in</html>\n"), |error| {
            matches!(error.cause(), ClientErrorCause::Decode(_))
        }),
        (
            (200, None, "{\"type\":\"ADDED\",\"object\":{\"data\":3}}\n"),
            |error| matches!(error.cause(), ClientErrorCause::Decode(_)),
        ),
    ];
    for (answer, is) in cases {
        let server = Server::new([answer]);
        let events: Vec<_> = server
            .client()
            .watch(None, &WatchParams::default(), "")
            .collect()
            .await;
        let [Err(error)] = &events[..] else {
            panic!("{answer:?}: {events:?}");
        };
        assert!(is(error), "{answer:?}: {error}");
        assert_eq!(server.sent(), 1);
    }
}

#[tokio::test]
async fn delete_collection_sends_selectors() {
    let server = Server::new([(200, None, r#"{"kind":"ConfigMapList","items":[]}"#), BUSY]);
    let (client, selected) = (server.client(), ListParams::default().labels("app=web"));
    client
        .delete_collection(Some("default"), &selected, &DeleteParams::default())
        .await
        .unwrap();
    let path = "DELETE /api/v1/namespaces/default/configmaps?&labelSelector=app%3Dweb";
    assert_eq!(*server.requests.lock(), [path]);
    let refused = client
        .delete_collection(None, &selected, &DeleteParams::default())
        .await
        .unwrap_err();
    assert!(
        refused.to_string().contains("cannot delete all ConfigMap"),
        "{refused}"
    );
    assert_eq!(server.sent(), 2, "not sent again");
}

/// A token file is read again before the token expires: the kubelet rotates it.
#[tokio::test]
#[ignore = "takes a minute, because kube reads a token again when it is 50 s old, by the wall clock"]
async fn rotated_token_file_is_read_again() {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let path = std::env::temp_dir().join(format!("kubewright-token-{}", std::process::id()));
    std::fs::write(&path, "first").unwrap();
    let mut config = kubewright::kube::Config::new(address.parse().unwrap());
    config.auth_info.token_file = Some(path.to_str().unwrap().to_owned());
    let client = TypedClient::<ConfigMap, All>::new(Connection::connect(config, "shop").unwrap());

    let tokens = Arc::new(Mutex::new(Vec::new()));
    let seen = tokens.clone();
    let server = tokio::spawn(async move {
        loop {
            let (mut socket, _) = listener.accept().await.unwrap();
            let (mut request, mut buffer) = (Vec::new(), [0; 1024]);
            while !request.ends_with(b"\r\n\r\n") {
                let read = socket.read(&mut buffer).await.unwrap();
                request.extend_from_slice(&buffer[..read]);
            }
            let request = String::from_utf8(request).unwrap();
            let token = request
                .lines()
                .find_map(|line| line.strip_prefix("authorization: Bearer "));
            seen.lock().push(token.unwrap().to_owned());
            let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}";
            socket.write_all(answer).await.unwrap();
        }
    });
    client.get(&name()).await.unwrap();
    std::fs::write(&path, "second").unwrap();
    client.get(&name()).await.unwrap();
    tokio::time::sleep(Duration::from_secs(61)).await;
    client.get(&name()).await.unwrap();
    server.abort();
    std::fs::remove_file(&path).unwrap();
    assert_eq!(*tokens.lock(), ["first", "first", "second"]);
}

//! Which requests are sent, and how responses become errors.

use std::{convert::Infallible, sync::Arc};

use futures::TryStreamExt as _;
use http::{HeaderMap, Response, StatusCode};
use parking_lot::Mutex;

use super::*;
use crate::Kind as _;

type ReceivedRequests = Arc<Mutex<Vec<(String, http::HeaderMap)>>>;

fn source(code: u16, answer: &'static str) -> (ApiListWatch, ReceivedRequests) {
    source_with(code, ("date", "today"), answer)
}

/// A source of Pods; its server gives the same answer to every request.
fn source_with(
    code: u16,
    header: (&'static str, &'static str),
    answer: &'static str,
) -> (ApiListWatch, ReceivedRequests) {
    let (connection, seen) = connection(code, header, answer);
    let options = InformerOptions {
        label_selector: Some("a/b in (c,d),!e".into()),
        field_selector: Some("spec.nodeName=n".into()),
        ..InformerOptions::default()
    };
    let source = ApiListWatch::new(
        connection,
        &k8s_openapi::api::core::v1::Pod::info(),
        Some("shop"),
        &options,
    );
    (source, seen)
}

fn connection(
    code: u16,
    header: (&'static str, &'static str),
    answer: &'static str,
) -> (Connection, ReceivedRequests) {
    let seen = ReceivedRequests::default();
    let writer = seen.clone();
    let service = tower::service_fn(move |request: Request<Body>| {
        writer
            .lock()
            .push((request.uri().to_string(), request.headers().clone()));
        async move {
            Ok::<_, Infallible>(
                Response::builder()
                    .status(code)
                    .header(header.0, header.1)
                    .body(Body::from(answer.as_bytes().to_vec()))
                    .unwrap(),
            )
        }
    });
    (Connection::new(kube::Client::new(service, "default")), seen)
}

async fn failure(code: u16, answer: &'static str) -> ListWatchError {
    match source(code, answer).0.list(ListOptions::default()).await {
        Ok(_) => panic!("{code} is no error"),
        Err(error) => error,
    }
}

#[tokio::test]
async fn requests_have_the_parameters_of_the_options() {
    let (source, seen) = source(200, "the body");
    let list = ListOptions {
        resource_version: "0".into(),
        limit: Some(500),
        continue_token: Some("a+b=".into()),
        exact: false,
    };
    let chunks: Vec<Bytes> = source.list(list).await.unwrap().try_collect().await.unwrap();
    assert_eq!(chunks.concat(), b"the body");
    let watch = WatchOptions {
        resource_version: "7".into(),
        timeout_seconds: 321,
        send_initial_events: false,
    };
    drop(source.watch(watch.clone()).await.unwrap());
    let streaming = WatchOptions {
        send_initial_events: true,
        ..watch
    };
    drop(source.watch(streaming).await.unwrap());
    let exact = ListOptions {
        resource_version: "7".into(),
        exact: true,
        ..ListOptions::default()
    };
    drop(source.list(exact).await.unwrap());
    drop(source.list(ListOptions::default()).await.unwrap());
    let selectors = "/api/v1/namespaces/shop/pods?labelSelector=a%2Fb%20in%20%28c%2Cd%29%2C%21e&fieldSelector=spec.nodeName%3Dn";
    let seen = seen.lock();
    assert_eq!(
        seen[0].0,
        format!("{selectors}&resourceVersion=0&limit=500&continue=a%2Bb%3D")
    );
    assert_eq!(
        seen[1].0,
        format!("{selectors}&watch=true&allowWatchBookmarks=true&timeoutSeconds=321&resourceVersion=7")
    );
    assert_eq!(
        seen[2].0,
        format!(
            "{}&sendInitialEvents=true&resourceVersionMatch=NotOlderThan",
            seen[1].0
        )
    );
    assert_eq!(
        seen[3].0,
        format!("{selectors}&resourceVersion=7&resourceVersionMatch=Exact")
    );
    assert_eq!(seen[4].0, selectors);
    for (_, headers) in &*seen {
        assert_eq!(
            (&headers["accept"], &headers["accept-encoding"]),
            (&"application/json".parse().unwrap(), &"identity".parse().unwrap())
        );
    }
}

#[tokio::test]
async fn metadata_informer_requests_partial_objects() {
    let metadata = InformerOptions {
        storage: StorageMode::Metadata,
        ..InformerOptions::default()
    };
    let (connection, seen) = connection(200, ("date", "today"), "");
    let source = ApiListWatch::new(
        connection,
        &k8s_openapi::api::core::v1::Pod::info(),
        None,
        &metadata,
    );
    drop(source.list(ListOptions::default()).await.unwrap());
    drop(source.watch(WatchOptions::default()).await.unwrap());
    let accepted: Vec<_> = seen
        .lock()
        .iter()
        .map(|(_, headers)| headers["accept"].clone())
        .collect();
    assert_eq!(
        accepted,
        [
            "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1",
            "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
        ]
    );
}

#[tokio::test]
async fn error_response_keeps_the_servers_status_and_code() {
    let expired = failure(
        410,
        r#"{"kind":"Status","status":"Failure","message":"too old","reason":"Expired","code":410}"#,
    )
    .await;
    assert!(expired.is_expired());
    assert_eq!(expired.to_string(), "the API server answers 410 Expired: too old");
    assert!(failure(404, "404 page not found\n").await.is_not_found());
    assert!(
        failure(403, r#"{"kind":"Status","reason":"Forbidden"}"#)
            .await
            .is_forbidden()
    );
    assert!(failure(429, "").await.is_retryable());
    assert!(!failure(500, "{").await.is_retryable());
}

#[tokio::test]
async fn retry_after_is_read_from_the_header_or_the_status() {
    let in_status =
        r#"{"kind":"Status","reason":"TooManyRequests","code":429,"details":{"retryAfterSeconds":7}}"#;
    for (header, answer, expected) in [
        ("3", "", Some(3)),
        (" 3 ", "{}", Some(3)),
        ("3", in_status, Some(7)),
        ("9", in_status, Some(9)),
        ("Wed, 21 Oct 2026 07:28:00 GMT", in_status, Some(7)),
        ("-1", "", None),
        ("4294967295", "", Some(300)),
    ] {
        let (source, _) = source_with(429, ("retry-after", header), answer);
        let error = source.watch(WatchOptions::default()).await.err().unwrap();
        assert!(error.is_retryable());
        let expected = expected.map(std::time::Duration::from_secs);
        assert_eq!(error.retry_after(), expected, "{header} {answer}");
    }
}

#[tokio::test]
async fn unrequested_content_encoding_is_an_error() {
    let (source, _) = source_with(200, ("content-encoding", "gzip"), "x");
    let error = source.list(ListOptions::default()).await.err().unwrap();
    assert!(
        matches!(&error, ListWatchError::Malformed(text) if text.contains("gzip")),
        "{error}"
    );
    let (source, _) = source_with(200, ("content-encoding", "identity"), "x");
    assert!(source.list(ListOptions::default()).await.is_ok());
}

/// client-go: TestReflectorFullListIfTooLarge's three forms.
#[tokio::test]
async fn too_large_resource_version_is_recognized_in_every_form() {
    for (reason, message, cause, expected) in [
        ("Timeout", "", r#"{"reason":"ResourceVersionTooLarge"}"#, true),
        ("Timeout", "", r#"{"message":"Too large resource version"}"#, true),
        ("Timeout", "Too large resource version: 9, current: 3", "", true),
        ("Timeout", "too slow", "", false),
        ("Invalid", "Too large resource version", "", false),
    ] {
        let body = format!(
            r#"{{"kind":"Status","code":504,"reason":"{reason}","message":"{message}","details":{{"causes":[{cause}]}}}}"#
        );
        let status = decode_error_response(StatusCode::GATEWAY_TIMEOUT, &HeaderMap::new(), body.as_bytes());
        let error = ListWatchError::Status(Box::new(status));
        assert_eq!(error.is_too_large_version(), expected, "{error}");
    }
}

#[tokio::test]
async fn refused_connection_is_retryable_and_an_unreachable_host_is_not() {
    for (kind, refused) in [
        (std::io::ErrorKind::ConnectionRefused, true),
        (std::io::ErrorKind::HostUnreachable, false),
    ] {
        let service = tower::service_fn(move |_: Request<Body>| async move {
            Err::<Response<Body>, _>(std::io::Error::new(kind, "gone away"))
        });
        let connection = Connection::new(kube::Client::new(service, "default"));
        let source = ApiListWatch::new(
            connection,
            &k8s_openapi::api::core::v1::Pod::info(),
            None,
            &InformerOptions::default(),
        );
        let Err(error) = source.list(ListOptions::default()).await else {
            panic!("{kind} is no error")
        };
        assert_eq!(error.is_retryable(), refused);
        assert!(error.to_string().contains("gone away"), "{error}");
    }
}

//! The API server as a [`ListerWatcher`].

use bytes::Bytes;
use futures::{FutureExt as _, StreamExt as _, future::BoxFuture};
use http::{Method, Request, Response, header};
use http_body_util::{BodyExt as _, Limited};
use kube::client::Body;

use super::{
    ByteStream, InformerOptions, ListOptions, ListWatchError, ListerWatcher, StorageMode, WatchOptions,
};
use crate::{
    ApiResource,
    client::{Connection, decode_error_response},
};

/// The most that is read of the body of an error.
const MAX_ERROR_BODY: usize = 64 * 1024;

const PARTIAL: &str = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
const PARTIAL_LIST: &str = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";

pub(super) struct ApiListWatch {
    connection: Connection,
    path: String,
    selectors: Vec<(&'static str, String)>,
    /// What the server shall make of objects.
    metadata_only: bool,
}

impl ApiListWatch {
    pub(super) fn new(
        connection: Connection,
        info: &ApiResource,
        namespace: Option<&str>,
        options: &InformerOptions,
    ) -> Self {
        let selectors = [
            ("labelSelector", &options.label_selector),
            ("fieldSelector", &options.field_selector),
        ];
        Self {
            connection,
            path: info.path(namespace),
            selectors: selectors
                .into_iter()
                .filter_map(|(key, value)| Some((key, value.clone()?)))
                .collect(),
            metadata_only: options.storage == StorageMode::Metadata,
        }
    }

    /// `partial` is what is accepted where only metadata is wanted.
    fn request(
        &self,
        partial: &'static str,
        parameters: &[(&'static str, String)],
    ) -> Result<Request<Body>, ListWatchError> {
        let accept = if self.metadata_only {
            partial
        } else {
            "application/json"
        };
        Request::builder()
            .method(Method::GET)
            .uri(format!(
                "{}?{}",
                self.path,
                query(self.selectors.iter().chain(parameters))
            ))
            .header(header::ACCEPT, accept)
            // What frames the body must see it as it was sent, at once.
            .header(header::ACCEPT_ENCODING, "identity")
            .body(Body::empty())
            .map_err(|error| {
                ListWatchError::Malformed(format!("no request can be made for {}: {error}", self.path))
            })
    }

    /// The body of a response, unless it is an error.
    async fn chunks<B>(response: Result<Response<B>, kube::Error>) -> Result<ByteStream, ListWatchError>
    where
        B: http_body::Body<Data = Bytes, Error = kube::Error> + Send + 'static,
    {
        let response = response.map_err(|error| unreachable(&error))?;
        let code = response.status();
        let (head, body) = response.into_parts();
        let encoding = head.headers.get(header::CONTENT_ENCODING).cloned();
        if !code.is_success() {
            let body = Limited::new(body, MAX_ERROR_BODY)
                .collect()
                .await
                .map(http_body_util::Collected::to_bytes);
            let status = decode_error_response(code, &head.headers, &body.unwrap_or_default());
            return Err(ListWatchError::Status(Box::new(status)));
        }
        if let Some(encoding) = encoding.filter(|encoding| encoding != "identity") {
            return Err(ListWatchError::Malformed(format!(
                "the response is encoded as {encoding:?}, which was not asked for"
            )));
        }
        let chunks = body.into_data_stream();
        Ok(chunks
            .map(|chunk| chunk.map_err(|error| ListWatchError::Broken(chain(&error))))
            .boxed())
    }
}

impl ListerWatcher for ApiListWatch {
    fn list(&self, options: ListOptions) -> BoxFuture<'_, Result<ByteStream, ListWatchError>> {
        let mut parameters = Vec::new();
        if !options.resource_version.is_empty() {
            parameters.push(("resourceVersion", options.resource_version));
        }
        if let Some(limit) = options.limit {
            parameters.push(("limit", limit.to_string()));
        }
        if let Some(token) = options.continue_token {
            parameters.push(("continue", token));
        }
        if options.exact {
            parameters.push(("resourceVersionMatch", "Exact".to_owned()));
        }
        let request = self.request(PARTIAL_LIST, &parameters);
        async move { Self::chunks(self.connection.list_client().send(request?).await).await }.boxed()
    }

    fn watch(&self, options: WatchOptions) -> BoxFuture<'_, Result<ByteStream, ListWatchError>> {
        let mut parameters = vec![
            ("watch", "true".to_owned()),
            ("allowWatchBookmarks", "true".to_owned()),
            ("timeoutSeconds", options.timeout_seconds.to_string()),
            ("resourceVersion", options.resource_version),
        ];
        if options.send_initial_events {
            parameters.push(("sendInitialEvents", "true".to_owned()));
            parameters.push(("resourceVersionMatch", "NotOlderThan".to_owned()));
        }
        let request = self.request(PARTIAL, &parameters);
        async move { Self::chunks(self.connection.send_watch(request?).await).await }.boxed()
    }
}

fn query<'a>(parameters: impl Iterator<Item = &'a (&'static str, String)>) -> String {
    let parameters = parameters.map(|(key, value)| format!("{key}={}", encode(value)));
    parameters.collect::<Vec<_>>().join("&")
}

fn encode(value: &str) -> String {
    let mut text = String::with_capacity(value.len());
    for byte in value.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                text.push(char::from(byte));
            }
            _ => text.extend(['%', hex(byte >> 4), hex(byte & 15)]),
        }
    }
    text
}

fn hex(digit: u8) -> char {
    char::from_digit(digit.into(), 16)
        .unwrap_or('0')
        .to_ascii_uppercase()
}

fn unreachable(error: &(dyn std::error::Error + 'static)) -> ListWatchError {
    let refused = std::iter::successors(Some(error), |error| error.source())
        .filter_map(|error| error.downcast_ref::<std::io::Error>())
        .any(|error| error.kind() == std::io::ErrorKind::ConnectionRefused);
    ListWatchError::Unreachable {
        message: chain(error),
        refused,
    }
}

/// The error with its causes, each once.
fn chain(error: &(dyn std::error::Error + 'static)) -> String {
    let mut text = error.to_string();
    for cause in std::iter::successors(error.source(), |error| error.source()) {
        let cause = cause.to_string();
        if !text.contains(&cause) {
            text = format!("{text}: {cause}");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use std::{convert::Infallible, sync::Arc};

    use futures::TryStreamExt as _;
    use http::{HeaderMap, Response, StatusCode};
    use parking_lot::Mutex;

    use super::*;
    use crate::Kind as _;

    type Seen = Arc<Mutex<Vec<(String, http::HeaderMap)>>>;

    fn source(code: u16, answer: &'static str) -> (ApiListWatch, Seen) {
        source_with(code, ("date", "today"), answer)
    }

    /// A source of pods whose server answers everything alike.
    fn source_with(
        code: u16,
        header: (&'static str, &'static str),
        answer: &'static str,
    ) -> (ApiListWatch, Seen) {
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
    ) -> (Connection, Seen) {
        let seen = Seen::default();
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
            Ok(_) => panic!("{code} is no failure"),
            Err(error) => error,
        }
    }

    #[tokio::test]
    async fn asks_for_what_the_options_say() {
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

    /// Else the server would send whole objects, which an informer of metadata refuses.
    #[tokio::test]
    async fn an_informer_of_metadata_asks_for_nothing_else() {
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
    async fn a_refusal_keeps_the_servers_status_and_code() {
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
        assert!(failure(429, "").await.asks_to_wait());
        assert!(!failure(500, "{").await.asks_to_wait());
    }

    #[tokio::test]
    async fn a_server_says_how_long_to_wait_in_the_header_or_the_status() {
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
            assert!(error.asks_to_wait());
            let expected = expected.map(std::time::Duration::from_secs);
            assert_eq!(error.retry_after(), expected, "{header} {answer}");
        }
    }

    #[tokio::test]
    async fn an_encoding_that_was_not_asked_for_is_refused_by_name() {
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
    async fn a_version_that_is_too_large_is_known_in_all_forms_that_servers_gave_it() {
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
            let status =
                decode_error_response(StatusCode::GATEWAY_TIMEOUT, &HeaderMap::new(), body.as_bytes());
            let error = ListWatchError::Status(Box::new(status));
            assert_eq!(error.is_too_large_version(), expected, "{error}");
        }
    }

    #[tokio::test]
    async fn a_server_that_is_away_is_told_from_one_that_refuses_connections() {
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
                panic!("{kind} is no failure")
            };
            assert_eq!(error.asks_to_wait(), refused);
            assert!(error.to_string().contains("gone away"), "{error}");
        }
    }
}

//! The API server as a [`ListerWatcher`].

use bytes::Bytes;
use futures::{FutureExt as _, StreamExt as _, future::BoxFuture};
use http::{Method, Request, header};
use http_body_util::{BodyExt as _, Limited};
use kube::{client::Body, core::Status};

use super::{Chunks, InformerOptions, ListOptions, ListerWatcher, SourceError, WatchOptions};
use crate::{KindInfo, client::Connection};

/// The most that is read of the body of an error.
const MAX_ERROR_BODY: usize = 64 * 1024;

pub(super) struct ApiSource {
    connection: Connection,
    path: String,
    selectors: Vec<(&'static str, String)>,
}

impl ApiSource {
    pub(super) fn new(
        connection: Connection,
        info: &KindInfo,
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
        }
    }

    async fn send(&self, parameters: Vec<(&'static str, String)>) -> Result<Chunks, SourceError> {
        let request = Request::builder()
            .method(Method::GET)
            .uri(format!(
                "{}?{}",
                self.path,
                query(self.selectors.iter().chain(&parameters))
            ))
            .header(header::ACCEPT, "application/json")
            // What frames the body must see it as it was sent, at once.
            .header(header::ACCEPT_ENCODING, "identity")
            .body(Body::empty())
            .map_err(|error| {
                SourceError::Malformed(format!("no request can be made for {}: {error}", self.path))
            })?;
        let response = self
            .connection
            .kube_client()
            .send(request)
            .await
            .map_err(|error| unreachable(&error))?;
        let code = response.status();
        let body = response.into_body();
        if !code.is_success() {
            let body = Limited::new(body, MAX_ERROR_BODY)
                .collect()
                .await
                .map(http_body_util::Collected::to_bytes);
            return Err(refusal(code.as_u16(), &body.unwrap_or_default()));
        }
        let chunks = body.into_data_stream();
        Ok(chunks
            .map(|chunk| chunk.map_err(|error| SourceError::Broken(chain(&error))))
            .boxed())
    }
}

impl ListerWatcher for ApiSource {
    fn list(&self, options: ListOptions) -> BoxFuture<'_, Result<Chunks, SourceError>> {
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
        self.send(parameters).boxed()
    }

    fn watch(&self, options: WatchOptions) -> BoxFuture<'_, Result<Chunks, SourceError>> {
        let parameters = vec![
            ("watch", "true".to_owned()),
            ("allowWatchBookmarks", "true".to_owned()),
            ("timeoutSeconds", options.timeout_seconds.to_string()),
            ("resourceVersion", options.resource_version),
        ];
        self.send(parameters).boxed()
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

fn refusal(code: u16, body: &Bytes) -> SourceError {
    let status = match serde_json::from_slice::<Status>(body) {
        Ok(mut status) if status.code == 0 => {
            status.code = code;
            status
        }
        Ok(status) => status,
        Err(_) => {
            let text: String = String::from_utf8_lossy(body).chars().take(200).collect();
            Status::failure(text.trim(), "").with_code(code)
        }
    };
    SourceError::Status(Box::new(status))
}

fn unreachable(error: &(dyn std::error::Error + 'static)) -> SourceError {
    let refused = std::iter::successors(Some(error), |error| error.source())
        .filter_map(|error| error.downcast_ref::<std::io::Error>())
        .any(|error| error.kind() == std::io::ErrorKind::ConnectionRefused);
    SourceError::Unreachable {
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
    use http::Response;
    use parking_lot::Mutex;

    use super::*;
    use crate::Kind as _;

    type Seen = Arc<Mutex<Vec<(String, http::HeaderMap)>>>;

    /// A source of pods whose server answers everything alike.
    fn source(code: u16, answer: &'static str) -> (ApiSource, Seen) {
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
                        .body(Body::from(answer.as_bytes().to_vec()))
                        .unwrap(),
                )
            }
        });
        let connection = Connection::new(kube::Client::new(service, "default"));
        let options = InformerOptions {
            label_selector: Some("a/b in (c,d),!e".into()),
            field_selector: Some("spec.nodeName=n".into()),
            ..InformerOptions::default()
        };
        (
            ApiSource::new(
                connection,
                &k8s_openapi::api::core::v1::Pod::info(),
                Some("shop"),
                &options,
            ),
            seen,
        )
    }

    async fn failure(code: u16, answer: &'static str) -> SourceError {
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
        };
        let chunks: Vec<Bytes> = source.list(list).await.unwrap().try_collect().await.unwrap();
        assert_eq!(chunks.concat(), b"the body");
        let watch = WatchOptions {
            resource_version: "7".into(),
            timeout_seconds: 321,
        };
        drop(source.watch(watch).await.unwrap());
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
        assert_eq!(seen[2].0, selectors);
        for (_, headers) in &*seen {
            assert_eq!(
                (&headers["accept"], &headers["accept-encoding"]),
                (&"application/json".parse().unwrap(), &"identity".parse().unwrap())
            );
        }
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
    async fn a_server_that_is_away_is_told_from_one_that_refuses_connections() {
        for (kind, refused) in [
            (std::io::ErrorKind::ConnectionRefused, true),
            (std::io::ErrorKind::HostUnreachable, false),
        ] {
            let service = tower::service_fn(move |_: Request<Body>| async move {
                Err::<Response<Body>, _>(std::io::Error::new(kind, "gone away"))
            });
            let connection = Connection::new(kube::Client::new(service, "default"));
            let source = ApiSource::new(
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

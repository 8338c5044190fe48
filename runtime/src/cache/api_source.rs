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

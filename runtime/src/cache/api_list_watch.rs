//! Lists and watches a collection of the API server: the production [`ListerWatcher`].

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

/// Bytes that are read of an error's body.
const MAX_ERROR_BODY_BYTES: usize = 64 * 1024;

const PARTIAL_OBJECT: &str = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
const PARTIAL_OBJECT_LIST: &str = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";

pub(super) struct ApiListWatch {
    connection: Connection,
    path: String,
    selectors: Vec<(&'static str, String)>,
    /// Requests `PartialObjectMetadata`.
    metadata_only: bool,
    /// Watches share a connection with others.
    shares_connection: bool,
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
            shares_connection: options.shares_connection,
        }
    }

    /// A GET request. `partial` is the `Accept` header if only metadata is wanted.
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
            // Compression would buffer events.
            .header(header::ACCEPT_ENCODING, "identity")
            .body(Body::empty())
            .map_err(|error| {
                ListWatchError::Malformed(format!("cannot build a request for {}: {error}", self.path))
            })
    }

    /// The body of a successful response; another one is an error.
    async fn into_body<B>(response: Result<Response<B>, kube::Error>) -> Result<ByteStream, ListWatchError>
    where
        B: http_body::Body<Data = Bytes, Error = kube::Error> + Send + 'static,
    {
        let response = response.map_err(|error| unreachable(&error))?;
        let code = response.status();
        let (head, body) = response.into_parts();
        let encoding = head.headers.get(header::CONTENT_ENCODING).cloned();
        if !code.is_success() {
            let body = Limited::new(body, MAX_ERROR_BODY_BYTES)
                .collect()
                .await
                .map(http_body_util::Collected::to_bytes);
            let status = decode_error_response(code, &head.headers, &body.unwrap_or_default());
            return Err(ListWatchError::Status(Box::new(status)));
        }
        if let Some(encoding) = encoding.filter(|encoding| encoding != "identity") {
            return Err(ListWatchError::Malformed(format!(
                "the response has the unrequested content encoding {encoding:?}"
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
        let request = self.request(PARTIAL_OBJECT_LIST, &parameters);
        async move { Self::into_body(self.connection.send_list(request?).await).await }.boxed()
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
        let request = self.request(PARTIAL_OBJECT, &parameters);
        async move {
            let request = request?;
            let response = if self.shares_connection {
                self.connection.send_shared_watch(request).await
            } else {
                self.connection.send_watch(request).await
            };
            Self::into_body(response).await
        }
        .boxed()
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

/// The messages of the error and its causes, each once.
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
#[path = "api_list_watch_tests.rs"]
mod tests;

//! Handles requests.

use std::{convert::Infallible, sync::Arc};

use bytes::Bytes;
use futures::{Stream, StreamExt as _, stream};
use http::{Request, Response, StatusCode, header};
use http_body::Frame;
use http_body_util::BodyExt as _;
use http_body_util::{StreamBody, combinators::UnsyncBoxBody};
use hyper::body::Incoming;
use kubewright_benches::pods::{Pods, parse_resource_version};
use tokio::sync::mpsc;

use super::{
    encoding::Encoding,
    state::{ServerState, Snapshot, WatchEvent},
};

/// Approximate size of the chunks of a list.
const CHUNK_BYTES: usize = 32 * 1024;

type Body = UnsyncBoxBody<Bytes, Infallible>;

pub(crate) struct LoadServer {
    pub(crate) pods: Arc<Pods>,
    pub(crate) state: Arc<ServerState>,
    pub(crate) refuse_streaming: bool,
}

/// Query parameters of a list or watch request.
struct ListQuery<'a>(&'a str);

impl<'a> ListQuery<'a> {
    fn get(&self, name: &str) -> Option<&'a str> {
        let parameters = self
            .0
            .split('&')
            .filter_map(|parameter| parameter.split_once('='));
        parameters
            .rev()
            .find_map(|(key, value)| (key == name && !value.is_empty()).then_some(value))
    }

    fn number(&self, name: &str) -> Option<usize> {
        self.get(name)?.parse().ok()
    }

    fn is_true(&self, name: &str) -> bool {
        matches!(self.get(name), Some("true" | "1"))
    }
}

impl LoadServer {
    pub(crate) fn respond(&self, request: &Request<Incoming>) -> Response<Body> {
        let path: Vec<&str> = request.uri().path().split('/').skip(1).collect();
        let query = ListQuery(request.uri().query().unwrap_or_default());
        match (request.method().as_str(), path.as_slice()) {
            ("POST", ["events", count]) => self.send_events(count.parse().unwrap_or_default()),
            ("POST", ["expire", percent]) => {
                self.state.expire(percent.parse().unwrap_or_default());
                plain(StatusCode::OK, "")
            }
            ("GET", ["api", "v1", "pods"] | ["apis", "bench.dev", "v1", "mixeds"]) => {
                let accept = request.headers().get(header::ACCEPT);
                let accept = accept.and_then(|value| value.to_str().ok()).unwrap_or_default();
                let encoding = if accept.contains("as=PartialObjectMetadata") {
                    Encoding::Metadata
                } else if accept.contains("protobuf") && self.pods.has_protobuf() {
                    Encoding::Protobuf
                } else {
                    Encoding::Json
                };
                if query.is_true("watch") || query.get("watch") == Some("1") {
                    self.watch(&query, encoding)
                } else {
                    self.list(&query, encoding)
                }
            }
            _ => plain(StatusCode::NOT_FOUND, "404 page not found\n"),
        }
    }

    fn send_events(&self, count: u32) -> Response<Body> {
        let state = self.state.clone();
        tokio::spawn(async move { state.send_events(count).await });
        plain(StatusCode::OK, "")
    }

    /// Handles a list. As in the real server, a list with resource version 0 ignores the limit.
    fn list(&self, query: &ListQuery<'_>, encoding: Encoding) -> Response<Body> {
        let snapshot = self.state.snapshot();
        let from = query.number("continue").unwrap_or(0);
        let all = snapshot.pods.len() + 1;
        let limit = query
            .number("limit")
            .filter(|limit| *limit > 0 && query.get("resourceVersion") != Some("0"));
        let to = limit.map_or(all, |limit| all.min(from + limit));
        let token = if to < all { to.to_string() } else { String::new() };
        let pods = self.pods.clone();
        let head = encoding.list_head(&pods, &snapshot, from..to, &token);
        let mut next = from;
        let chunks = stream::iter(std::iter::from_fn(move || {
            if next >= to {
                return None;
            }
            let mut chunk = Vec::with_capacity(CHUNK_BYTES + 16 * 1024);
            while next < to && chunk.len() < CHUNK_BYTES {
                encoding.item(&pods, &snapshot, next, next > from, &mut chunk);
                next += 1;
            }
            Some(Bytes::from(chunk))
        }));
        let head = stream::iter([Bytes::from(head)]);
        let tail = stream::iter([Bytes::from_static(encoding.list_tail())]);
        streamed(encoding.content_type(), head.chain(chunks).chain(tail))
    }

    /// Handles a watch. It must start at the newest resource version, except with `sendInitialEvents`.
    fn watch(&self, query: &ListQuery<'_>, encoding: Encoding) -> Response<Body> {
        let initial = query.is_true("sendInitialEvents");
        if initial && self.refuse_streaming {
            let rejection = r#"{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled","reason":"Invalid","code":422}"#;
            return plain(StatusCode::UNPROCESSABLE_ENTITY, rejection);
        }
        let (snapshot, events) = self.state.watch();
        let version = query.get("resourceVersion").and_then(parse_resource_version);
        let pods = self.pods.clone();
        if !initial && version != Some(snapshot.version) {
            let mut expired = Vec::new();
            encoding.event(&pods, WatchEvent::Expired, &mut expired);
            return streamed(encoding.watch_type(), stream::iter([Bytes::from(expired)]));
        }
        let first = if initial { snapshot.pods.len() + 2 } else { 0 };
        let first = stream::iter((0..first).map({
            let pods = pods.clone();
            move |number| {
                let mut event = Vec::with_capacity(12 * 1024);
                encoding.initial_event(&pods, &snapshot, number, &mut event);
                Bytes::from(event)
            }
        }));
        let later = receiver_stream(events).map(move |event| {
            let mut text = Vec::with_capacity(12 * 1024);
            encoding.event(&pods, event, &mut text);
            Bytes::from(text)
        });
        streamed(encoding.watch_type(), first.chain(later))
    }
}

fn receiver_stream(events: mpsc::UnboundedReceiver<WatchEvent>) -> impl Stream<Item = WatchEvent> + Send {
    stream::unfold(events, |mut events| async move {
        let event = events.recv().await?;
        Some((event, events))
    })
}

fn streamed(
    content_type: &'static str,
    chunks: impl Stream<Item = Bytes> + Send + 'static,
) -> Response<Body> {
    let frames = chunks.map(|chunk| Ok(Frame::data(chunk)));
    let mut response = Response::new(StreamBody::new(frames).boxed_unsync());
    let content_type = header::HeaderValue::from_static(content_type);
    response.headers_mut().insert(header::CONTENT_TYPE, content_type);
    response
}

fn plain(code: StatusCode, text: &'static str) -> Response<Body> {
    let mut response = streamed(
        "application/json",
        stream::iter([Bytes::from_static(text.as_bytes())]),
    );
    *response.status_mut() = code;
    response
}

/// Positions in a list: all Pods, then the end marker.
impl Snapshot {
    pub(crate) fn is_marker(&self, number: usize) -> bool {
        number == self.pods.len()
    }
}

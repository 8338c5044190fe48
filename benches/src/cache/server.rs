//! An API server in memory that knows Pods only: a list of them, then a watch that waits until it is told to begin.

use std::{convert::Infallible, ops::Range, sync::Arc};

use bytes::Bytes;
use futures::{Stream, StreamExt as _, stream};
use http::{Request, Response};
use http_body::Frame;
use http_body_util::StreamBody;
use kube::client::Body;
use tokio::sync::Notify;

use crate::pod::Template;

/// As much as TLS hands on at once; objects are torn wherever that ends.
const CHUNK: usize = 16 * 1024;

/// Pods in the list.
pub(crate) const OBJECTS: usize = 10_000;
/// Changes in the watch, each Pod in turn.
pub(crate) const EVENTS: usize = 20_000;

/// What the server sends.
pub(crate) struct Server {
    pub(crate) template: Template,
    /// Told when the watch may begin.
    pub(crate) watch: Notify,
}

impl Server {
    /// A client that reaches this server, within the process.
    pub(crate) fn client(self: &Arc<Self>) -> kube::Client {
        let server = self.clone();
        let service = tower::service_fn(move |request: Request<Body>| {
            let frames = server.answer(request.uri().query().unwrap_or_default());
            async move { Ok::<_, Infallible>(Response::new(StreamBody::new(frames))) }
        });
        kube::Client::new(service, "default")
    }

    /// As the real one does, a list of version 0 comes whole, whatever its limit.
    fn answer(
        self: &Arc<Self>,
        query: &str,
    ) -> impl Stream<Item = Result<Frame<Bytes>, Infallible>> + Send + use<> {
        let parameter = |name| {
            let parameters = query.split('&').filter_map(|parameter| parameter.split_once('='));
            parameters
                .rev()
                .find_map(|(key, value)| (key == name).then_some(value))
        };
        let number = |name| parameter(name).and_then(|value| value.parse::<usize>().ok());
        if parameter("watch").is_some() {
            let is_list = parameter("sendInitialEvents") == Some("true");
            let initial = is_list.then(|| chunks(self.clone().initial_events()));
            let changes = chunks(self.clone().changes());
            let both = stream::iter(initial).flatten().chain(changes);
            both.chain(stream::pending()).left_stream()
        } else {
            let from = number("continue").unwrap_or(0);
            let limit = number("limit").filter(|_| number("resourceVersion") != Some(0));
            let to = limit.map_or(OBJECTS, |limit| OBJECTS.min(from + limit));
            chunks(self.clone().page(from..to)).right_stream()
        }
    }

    fn page(self: Arc<Self>, range: Range<usize>) -> impl Stream<Item = Vec<u8>> + Send {
        let next = if range.end < OBJECTS {
            range.end.to_string()
        } else {
            String::new()
        };
        let head = format!(
            r#"{{"kind":"PodList","apiVersion":"v1","metadata":{{"resourceVersion":"1","continue":"{next}"}},"items":["#
        );
        let items = stream::iter(range.clone()).map(move |ordinal| {
            let mut text = Vec::with_capacity(self.template.size + 1);
            if ordinal > range.start {
                text.push(b',');
            }
            self.template.write(ordinal, ordinal, &mut text);
            text
        });
        let head = stream::iter([head.into_bytes()]);
        head.chain(items).chain(stream::iter([b"]}".to_vec()]))
    }

    /// The objects of a streaming list, and its end.
    fn initial_events(self: Arc<Self>) -> impl Stream<Item = Vec<u8>> + Send {
        let objects = stream::iter(0..OBJECTS).map(move |ordinal| {
            let mut text = br#"{"type":"ADDED","object":"#.to_vec();
            self.template.write(ordinal, ordinal, &mut text);
            text.extend_from_slice(b"}\n");
            text
        });
        let end = r#"{"type":"BOOKMARK","object":{"kind":"Pod","apiVersion":"v1","metadata":{"resourceVersion":"1","annotations":{"k8s.io/initial-events-end":"true"}}}}"#;
        objects.chain(stream::iter([format!("{end}\n").into_bytes()]))
    }

    fn changes(self: Arc<Self>) -> impl Stream<Item = Vec<u8>> + Send {
        let server = self.clone();
        let begin = stream::once(async move {
            server.watch.notified().await;
            Vec::new()
        });
        let lines = stream::iter(0..EVENTS).map(move |event| {
            let mut text = br#"{"type":"MODIFIED","object":"#.to_vec();
            self.template.write(event % OBJECTS, OBJECTS + event, &mut text);
            text.extend_from_slice(b"}\n");
            text
        });
        begin.chain(lines)
    }
}

/// Cuts texts into chunks. After each chunk others may run, as they do when a socket has no more for a moment.
fn chunks(
    texts: impl Stream<Item = Vec<u8>> + Send,
) -> impl Stream<Item = Result<Frame<Bytes>, Infallible>> + Send {
    let texts = texts.map(Some).chain(stream::iter([None]));
    let cut = texts.scan(Vec::new(), |kept: &mut Vec<u8>, text| {
        let is_last = text.is_none();
        kept.extend(text.unwrap_or_default());
        let mut full = Vec::new();
        while kept.len() >= CHUNK || (is_last && !kept.is_empty()) {
            let rest = kept.split_off(CHUNK.min(kept.len()));
            full.push(std::mem::replace(kept, rest));
        }
        std::future::ready(Some(stream::iter(full)))
    });
    cut.flatten().then(|chunk| async {
        tokio::task::yield_now().await;
        Ok(Frame::data(chunk.into()))
    })
}

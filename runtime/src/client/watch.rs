//! Watches a collection from a resource version on.

use std::collections::VecDeque;

use bytes::Bytes;
use futures::{
    StreamExt as _,
    stream::{self, BoxStream},
};
use http_body_util::BodyExt as _;
use kube::core::{Status, params::WatchParams, watch::WatchEvent as Line};
use serde::Deserialize;

use super::{
    ClientError, ClientErrorCause, Connection, TypedClient,
    http_client::ResponseBody,
    may::MayWatch,
    request::{ApiRequest, PreparedRequest},
};
use crate::{Kind, line_decoder::LineDecoder};

/// An event of a watch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WatchEvent<K> {
    /// The object was created, or matches the selectors now.
    Added(K),
    /// The object changed.
    Modified(K),
    /// The object was deleted, or no longer matches the selectors; this is its last state.
    Deleted(K),
    /// All events up to this resource version were sent.
    Bookmark {
        /// The resource version from which another watch can continue.
        resource_version: String,
        /// All objects that existed at the start were sent (`sendInitialEvents`).
        ends_initial_events: bool,
    },
}

impl<K: Kind, V> TypedClient<K, V> {
    /// Watches the objects of one namespace, or of all, from a resource version on, such as
    /// [`ObjectList::resource_version`](super::ObjectList). If it is empty, the watch starts with the existing objects.
    ///
    /// It is one request. The API server ends it after `params.timeout` seconds, or about five minutes; then the stream ends without an
    /// error, and is not reopened. It ends with an error when the connection breaks, when an object does not decode as `K`, or when the
    /// version has expired ([`ClientError::is_expired`]). For a cache use an informer, which handles all of that.
    pub fn watch<At>(
        &self,
        namespace: Option<&str>,
        params: &WatchParams,
        resource_version: &str,
    ) -> BoxStream<'static, Result<WatchEvent<K>, ClientError>>
    where
        V: MayWatch<At>,
    {
        let connection = self.connection.clone();
        let prepared = ApiRequest::new(K::info(), "watch", namespace).and_then(|request| {
            let http_request = request.builder().watch(params, resource_version);
            request.prepare(http_request)
        });
        let opened = async move { TypedWatch::open(prepared?, &connection).await };
        stream::once(opened)
            .flat_map(|opened| match opened {
                Ok(watch) => stream::unfold(Some(watch), TypedWatch::next).left_stream(),
                Err(error) => stream::once(async { Err(error) }).right_stream(),
            })
            .boxed()
    }
}

struct TypedWatch {
    request: ApiRequest,
    body: ResponseBody,
    decoder: LineDecoder,
    /// Complete lines that were received.
    lines: VecDeque<Bytes>,
}

impl TypedWatch {
    async fn open(prepared: PreparedRequest, connection: &Connection) -> Result<Self, ClientError> {
        let (request, body) = prepared.open(connection).await?;
        Ok(Self {
            request,
            body,
            decoder: LineDecoder::default(),
            lines: VecDeque::new(),
        })
    }

    /// Returns the next event. The stream ends after an error.
    async fn next<K: Kind>(
        watch: Option<Self>,
    ) -> Option<(Result<WatchEvent<K>, ClientError>, Option<Self>)> {
        let mut watch = watch?;
        match watch.next_line().await {
            Ok(line) => match decode_event(&line?) {
                Ok(event) => Some((Ok(event), Some(watch))),
                Err(cause) => Some((Err(watch.request.fail(cause)), None)),
            },
            Err(cause) => Some((Err(watch.request.fail(cause)), None)),
        }
    }

    async fn next_line(&mut self) -> Result<Option<Bytes>, ClientErrorCause> {
        loop {
            if let Some(line) = self.lines.pop_front() {
                return Ok(Some(line));
            }
            if let Err(error) = self.decoder.check_length() {
                return Err(ClientErrorCause::Unanswered(kube::Error::Service(error.into())));
            }
            match self.body.frame().await {
                Some(Ok(frame)) => {
                    if let Ok(data) = frame.into_data() {
                        let lines = &mut self.lines;
                        let pushed: Result<(), std::convert::Infallible> = self.decoder.push(&data, |line| {
                            lines.push_back(Bytes::copy_from_slice(line));
                            Ok(())
                        });
                        pushed.unwrap_or_else(|never| match never {});
                    }
                }
                Some(Err(error)) => return Err(ClientErrorCause::Unanswered(error)),
                None => return Ok(None),
            }
        }
    }
}

fn decode_event<K: Kind>(line: &[u8]) -> Result<WatchEvent<K>, ClientErrorCause> {
    /// The type is decoded first, because the object of an error is a Status.
    #[derive(Deserialize)]
    struct EventHead<'a> {
        #[serde(rename = "type")]
        event: &'a str,
    }
    let head: EventHead<'_> = serde_json::from_slice(line).map_err(ClientErrorCause::Decode)?;
    if head.event == "ERROR" {
        #[derive(Deserialize)]
        struct ErrorEvent {
            object: Status,
        }
        let failure: ErrorEvent = serde_json::from_slice(line).map_err(ClientErrorCause::Decode)?;
        return Err(ClientErrorCause::Refused(Box::new(failure.object)));
    }
    Ok(
        match serde_json::from_slice(line).map_err(ClientErrorCause::Decode)? {
            Line::Added(object) => WatchEvent::Added(object),
            Line::Modified(object) => WatchEvent::Modified(object),
            Line::Deleted(object) => WatchEvent::Deleted(object),
            Line::Bookmark(bookmark) => WatchEvent::Bookmark {
                ends_initial_events: bookmark
                    .metadata
                    .annotations
                    .get("k8s.io/initial-events-end")
                    .is_some_and(|value| value == "true"),
                resource_version: bookmark.metadata.resource_version,
            },
            Line::Error(status) => return Err(ClientErrorCause::Refused(status)),
        },
    )
}

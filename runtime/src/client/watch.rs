//! Watching a collection: what happens after a version, as it happens.

use std::collections::VecDeque;

use bytes::Bytes;
use futures::{
    StreamExt as _,
    stream::{self, BoxStream},
};
use http_body_util::BodyExt as _;
use kube::{
    client::Body,
    core::{Status, params::WatchParams, watch::WatchEvent as Line},
};
use serde::Deserialize;

use super::{
    ClientError, ClientErrorCause, Connection, TypedClient,
    may::MayWatch,
    request::{ApiRequest, PreparedRequest},
};
use crate::{Kind, line_decoder::LineDecoder};

/// What a watch tells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WatchEvent<K> {
    /// The object is new, or new to the watch's selectors.
    Added(K),
    /// The object changed.
    Modified(K),
    /// The object was deleted, or no longer fits the selectors; this is its last state.
    Deleted(K),
    /// Everything up to this version was told.
    Bookmark {
        /// The version, from which another watch can go on.
        resource_version: String,
        /// The objects that were there at the beginning have all been told (`sendInitialEvents`).
        ends_initial_events: bool,
    },
}

impl<K: Kind, V> TypedClient<K, V> {
    /// Watches the objects of one namespace, or of all, from a version on, such as [`Listed::resource_version`](super::Listed) has; from
    /// an empty one on, it begins with the objects that are there.
    ///
    /// One request, which ends when the API server ends it, after `params.timeout` seconds or about five minutes; nothing is opened again,
    /// and the stream ends without an error. It ends with one when the connection breaks, when an object is no `K`, or when the version is
    /// no longer known ([`ClientError::is_expired`]). For a cache use an informer, which sees to all of that.
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
        let prepared = ApiRequest::new(K::info(), "watch", namespace).and_then(|call| {
            let request = call.request().watch(params, resource_version);
            call.prepare(request)
        });
        let opened = async move { Watch::open(prepared?, &connection).await };
        stream::once(opened)
            .flat_map(|opened| match opened {
                Ok(watch) => stream::unfold(Some(watch), Watch::next).left_stream(),
                Err(error) => stream::once(async { Err(error) }).right_stream(),
            })
            .boxed()
    }
}

struct Watch {
    call: ApiRequest,
    body: Body,
    decoder: LineDecoder,
    /// Complete lines that were received.
    lines: VecDeque<Bytes>,
}

impl Watch {
    async fn open(prepared: PreparedRequest, connection: &Connection) -> Result<Self, ClientError> {
        let (call, body) = prepared.open(connection).await?;
        Ok(Self {
            call,
            body,
            decoder: LineDecoder::default(),
            lines: VecDeque::new(),
        })
    }

    /// The next event; nothing follows an error.
    async fn next<K: Kind>(
        watch: Option<Self>,
    ) -> Option<(Result<WatchEvent<K>, ClientError>, Option<Self>)> {
        let mut watch = watch?;
        match watch.line().await {
            Ok(line) => match event(&line?) {
                Ok(event) => Some((Ok(event), Some(watch))),
                Err(cause) => Some((Err(watch.call.fail(cause)), None)),
            },
            Err(cause) => Some((Err(watch.call.fail(cause)), None)),
        }
    }

    async fn line(&mut self) -> Result<Option<Bytes>, ClientErrorCause> {
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

fn event<K: Kind>(line: &[u8]) -> Result<WatchEvent<K>, ClientErrorCause> {
    /// The type first: what an error carries is no `K`.
    #[derive(Deserialize)]
    struct Head<'a> {
        #[serde(rename = "type")]
        event: &'a str,
    }
    let head: Head<'_> = serde_json::from_slice(line).map_err(ClientErrorCause::Decode)?;
    if head.event == "ERROR" {
        #[derive(Deserialize)]
        struct Failure {
            object: Status,
        }
        let failure: Failure = serde_json::from_slice(line).map_err(ClientErrorCause::Decode)?;
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

//! Faults of open watches.

use super::{RequestMatcher, lock};
use bytes::Bytes;
use futures::stream;
use http_body_util::{BodyExt as _, StreamBody};
use hyper::body::Frame;
use kubewright_apiserver::http::{Body, ConnectionAborted, LayerRequest};
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex};
use tokio::sync::watch;

/// The open watches, and the faults that apply to them.
#[derive(Debug)]
pub(super) struct Watches {
    state: Mutex<WatchState>,
    changed: watch::Sender<()>,
}

#[derive(Debug, Default)]
struct WatchState {
    next: u64,
    open: HashMap<u64, LayerRequest>,
    broken: HashSet<u64>,
    held: Vec<RequestMatcher>,
    dropped: Vec<RequestMatcher>,
}

impl Default for Watches {
    fn default() -> Self {
        Self {
            state: Mutex::default(),
            changed: watch::Sender::new(()),
        }
    }
}

/// One open watch, unregistered when its body is dropped.
struct OpenWatch {
    watches: Arc<Watches>,
    number: u64,
    request: LayerRequest,
    changed: watch::Receiver<()>,
    body: Body,
}

impl Drop for OpenWatch {
    fn drop(&mut self) {
        let mut state = lock(&self.watches.state);
        state.open.remove(&self.number);
        state.broken.remove(&self.number);
    }
}

/// What to do with the events of a watch.
enum WatchAction {
    Forward,
    Hold,
    Drop,
    End,
    Break,
}

impl Watches {
    pub(super) fn hold_events(&self, matcher: RequestMatcher) {
        lock(&self.state).held.push(matcher);
        self.changed.send_replace(());
    }

    pub(super) fn drop_events(&self, matcher: RequestMatcher) {
        lock(&self.state).dropped.push(matcher);
        self.changed.send_replace(());
    }

    pub(super) fn release_events(&self, matcher: &RequestMatcher) {
        let mut state = lock(&self.state);
        state.held.retain(|held| held != matcher);
        state.dropped.retain(|dropped| dropped != matcher);
        drop(state);
        self.changed.send_replace(());
    }

    pub(super) fn release_all(&self) {
        let mut state = lock(&self.state);
        state.held.clear();
        state.dropped.clear();
        drop(state);
        self.changed.send_replace(());
    }

    pub(super) fn close_watches(&self, matcher: &RequestMatcher) -> usize {
        self.end_watches(matcher, false)
    }

    pub(super) fn break_watches(&self, matcher: &RequestMatcher) -> usize {
        self.end_watches(matcher, true)
    }

    fn end_watches(&self, matcher: &RequestMatcher, with_error: bool) -> usize {
        let mut state = lock(&self.state);
        let ended = state.open.extract_if(|_, request| matcher.matches(request));
        let ended: Vec<u64> = ended.map(|(number, _)| number).collect();
        if with_error {
            state.broken.extend(&ended);
        }
        drop(state);
        self.changed.send_replace(());
        ended.len()
    }

    /// Wraps the body of a watch in one that applies the faults.
    pub(super) fn wrap(self: Arc<Self>, request: LayerRequest, body: Body) -> Body {
        let number = {
            let mut state = lock(&self.state);
            state.next += 1;
            let number = state.next;
            state.open.insert(number, request.clone());
            number
        };
        let open = OpenWatch {
            changed: self.changed.subscribe(),
            watches: self,
            number,
            request,
            body,
        };
        let frames = stream::unfold(open, |mut open| async move {
            let frame = open.next().await?;
            Some((frame, open))
        });
        StreamBody::new(frames).boxed_unsync()
    }
}

impl OpenWatch {
    async fn next(&mut self) -> Option<Result<Frame<Bytes>, ConnectionAborted>> {
        loop {
            self.changed.mark_unchanged();
            match self.action() {
                WatchAction::End => return None,
                WatchAction::Break => return Some(Err(ConnectionAborted)),
                // The sender cannot be dropped: `watches` owns it.
                WatchAction::Hold => {
                    let _ = self.changed.changed().await;
                }
                action => tokio::select! {
                    biased;
                    _ = self.changed.changed() => {}
                    frame = self.body.frame() => match (action, frame) {
                        (WatchAction::Drop, Some(Ok(_))) => {}
                        (_, frame) => return frame,
                    },
                },
            }
        }
    }

    fn action(&self) -> WatchAction {
        let state = lock(&self.watches.state);
        let matches_any = |all: &[RequestMatcher]| all.iter().any(|matcher| matcher.matches(&self.request));
        if state.broken.contains(&self.number) {
            WatchAction::Break
        } else if !state.open.contains_key(&self.number) {
            WatchAction::End
        } else if matches_any(&state.held) {
            WatchAction::Hold
        } else if matches_any(&state.dropped) {
            WatchAction::Drop
        } else {
            WatchAction::Forward
        }
    }
}

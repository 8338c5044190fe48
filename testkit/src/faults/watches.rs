//! What becomes of open watches.

use super::{Matching, lock};
use bytes::Bytes;
use futures::stream;
use http_body_util::{BodyExt as _, StreamBody};
use hyper::body::Frame;
use kubewright_apiserver::http::{Body, ConnectionAborted, LayerRequest};
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex};
use tokio::sync::watch;

/// The open watches, and what is asked of them.
#[derive(Debug)]
pub(super) struct Watches {
    state: Mutex<State>,
    changed: watch::Sender<()>,
}

#[derive(Debug, Default)]
struct State {
    next: u64,
    open: HashMap<u64, LayerRequest>,
    cut: HashSet<u64>,
    held: Vec<Matching>,
    lost: Vec<Matching>,
}

impl Default for Watches {
    fn default() -> Self {
        Self {
            state: Mutex::default(),
            changed: watch::Sender::new(()),
        }
    }
}

/// One open watch; it is forgotten when its body is dropped.
struct Open {
    watches: Arc<Watches>,
    number: u64,
    asked: LayerRequest,
    changed: watch::Receiver<()>,
    body: Body,
}

impl Drop for Open {
    fn drop(&mut self) {
        let mut state = lock(&self.watches.state);
        state.open.remove(&self.number);
        state.cut.remove(&self.number);
    }
}

/// What a watch does with what it would say.
enum Way {
    Say,
    Hold,
    Lose,
    End,
    Break,
}

impl Watches {
    pub(super) fn hold(&self, matching: Matching) {
        lock(&self.state).held.push(matching);
        self.changed.send_replace(());
    }

    pub(super) fn lose(&self, matching: Matching) {
        lock(&self.state).lost.push(matching);
        self.changed.send_replace(());
    }

    pub(super) fn release(&self, matching: &Matching) {
        let mut state = lock(&self.state);
        state.held.retain(|held| held != matching);
        state.lost.retain(|lost| lost != matching);
        drop(state);
        self.changed.send_replace(());
    }

    pub(super) fn release_all(&self) {
        let mut state = lock(&self.state);
        state.held.clear();
        state.lost.clear();
        drop(state);
        self.changed.send_replace(());
    }

    pub(super) fn close(&self, matching: &Matching) -> usize {
        self.end(matching, false)
    }

    pub(super) fn cut(&self, matching: &Matching) -> usize {
        self.end(matching, true)
    }

    fn end(&self, matching: &Matching, cut: bool) -> usize {
        let mut state = lock(&self.state);
        let ended = state.open.extract_if(|_, asked| matching.matches(asked));
        let ended: Vec<u64> = ended.map(|(number, _)| number).collect();
        if cut {
            state.cut.extend(&ended);
        }
        drop(state);
        self.changed.send_replace(());
        ended.len()
    }

    /// The body of an open watch, which does as it is told.
    pub(super) fn wrap(self: Arc<Self>, asked: LayerRequest, body: Body) -> Body {
        let number = {
            let mut state = lock(&self.state);
            state.next += 1;
            let number = state.next;
            state.open.insert(number, asked.clone());
            number
        };
        let open = Open {
            changed: self.changed.subscribe(),
            watches: self,
            number,
            asked,
            body,
        };
        let frames = stream::unfold(open, |mut open| async move {
            let frame = open.next().await?;
            Some((frame, open))
        });
        StreamBody::new(frames).boxed_unsync()
    }
}

impl Open {
    async fn next(&mut self) -> Option<Result<Frame<Bytes>, ConnectionAborted>> {
        loop {
            self.changed.mark_unchanged();
            match self.way() {
                Way::End => return None,
                Way::Break => return Some(Err(ConnectionAborted)),
                // The sender lives as long as `watches`.
                Way::Hold => {
                    let _ = self.changed.changed().await;
                }
                way => tokio::select! {
                    biased;
                    _ = self.changed.changed() => {}
                    frame = self.body.frame() => match (way, frame) {
                        (Way::Lose, Some(Ok(_))) => {}
                        (_, frame) => return frame,
                    },
                },
            }
        }
    }

    fn way(&self) -> Way {
        let state = lock(&self.watches.state);
        let is_one = |all: &[Matching]| all.iter().any(|matching| matching.matches(&self.asked));
        if state.cut.contains(&self.number) {
            Way::Break
        } else if !state.open.contains_key(&self.number) {
            Way::End
        } else if is_one(&state.held) {
            Way::Hold
        } else if is_one(&state.lost) {
            Way::Lose
        } else {
            Way::Say
        }
    }
}

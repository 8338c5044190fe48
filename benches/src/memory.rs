//! Pods in memory as a cache's source: no socket, no server.

use std::sync::Arc;

use bytes::Bytes;
use futures::{
    FutureExt as _, StreamExt as _,
    future::{BoxFuture, ready},
    stream,
};
use kube::core::Status;
use kubewright::cache::{ByteStream, ListOptions, ListWatchError, ListerWatcher, WatchOptions};
use parking_lot::Mutex;
use tokio::sync::mpsc;

use crate::pods::{PodVersion, Pods, resource_version};

/// As much as TLS hands on at once; objects are torn wherever that ends.
const CHUNK: usize = 16 * 1024;

/// Serves a list that was written before, then what is sent.
#[derive(Clone, Debug)]
pub struct MemorySource {
    list: Arc<[Bytes]>,
    version: String,
    events: mpsc::UnboundedSender<Vec<Bytes>>,
    watched: Arc<Mutex<Option<mpsc::UnboundedReceiver<Vec<Bytes>>>>>,
}

impl MemorySource {
    /// A source of the first Pods, in the order of their ordinals, which are their versions.
    pub fn new(pods: &Pods, objects: u32) -> Self {
        let (events, watched) = mpsc::unbounded_channel();
        let version = resource_version(objects);
        let head = format!(
            r#"{{"kind":"PodList","apiVersion":"v1","metadata":{{"resourceVersion":"{version}"}},"items":["#
        );
        let (mut list, mut text) = (Vec::new(), head.into_bytes());
        for ordinal in 0..objects {
            if ordinal > 0 {
                text.push(b',');
            }
            let version = ordinal;
            pods.write_json(PodVersion { ordinal, version }, true, &mut text);
            while text.len() >= CHUNK {
                let rest = text.split_off(CHUNK);
                list.push(shared(std::mem::replace(&mut text, rest)));
            }
        }
        text.extend_from_slice(b"]}");
        list.push(shared(text));
        Self {
            list: list.into(),
            version,
            events,
            watched: Arc::new(Mutex::new(Some(watched))),
        }
    }

    /// Sends lines of the watch, each as a chunk, and all at once.
    pub fn send(&self, lines: Vec<Bytes>) {
        // Who watches does so as long as the informer lives.
        let _ = self.events.send(lines);
    }
}

/// The line of a watch that says that the Pod was modified.
pub fn modified(pods: &Pods, pod: PodVersion) -> Bytes {
    let mut line = br#"{"type":"MODIFIED","object":"#.to_vec();
    pods.write_json(pod, false, &mut line);
    line.extend_from_slice(b"}\n");
    shared(line)
}

/// Bytes that allocate nothing when they are cloned, not even the first time.
fn shared(bytes: Vec<u8>) -> Bytes {
    let bytes = Bytes::from(bytes);
    drop(bytes.clone());
    bytes
}

impl ListerWatcher for MemorySource {
    /// Whole, whatever its limit, as API servers list version 0.
    fn list(&self, _: ListOptions) -> BoxFuture<'_, Result<ByteStream, ListWatchError>> {
        let list = self.list.clone();
        let chunks = (0..list.len()).map(move |number| Ok(list[number].clone()));
        ready(Ok(stream::iter(chunks).boxed())).boxed()
    }

    /// The first one gets what is sent, and none begins at another version than that of the list. There are no streaming lists.
    fn watch(&self, options: WatchOptions) -> BoxFuture<'_, Result<ByteStream, ListWatchError>> {
        if options.send_initial_events {
            let refusal = Status::failure("no streaming lists", "Invalid").with_code(422);
            return ready(Err(ListWatchError::Status(Box::new(refusal)))).boxed();
        }
        let is_next = options.resource_version == self.version;
        let events = self.watched.lock().take().filter(|_| is_next);
        let events = events.ok_or_else(|| ListWatchError::ConnectionAborted("there is one watch only".into()));
        let chunks = events.map(|events| {
            let received = |mut events: mpsc::UnboundedReceiver<Vec<Bytes>>| async move {
                let lines = events.recv().await?;
                Some((stream::iter(lines).map(Ok), events))
            };
            stream::unfold(events, received).flatten().boxed()
        });
        ready(chunks).boxed()
    }
}

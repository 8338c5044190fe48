//! A list/watch source for the cache that reads Pods from memory, without a socket or a server.

use std::sync::Arc;

use bytes::Bytes;
use futures::{
    FutureExt as _, StreamExt as _,
    future::{BoxFuture, ready},
    stream,
};
use kube::core::Status;
use kubewright::cache::list_watch::{ByteStream, ListOptions, ListWatchError, ListerWatcher, WatchOptions};
use parking_lot::Mutex;
use tokio::sync::mpsc;

use crate::pods::{PodVersion, Pods, resource_version};

/// Size of a list chunk: that of a TLS record. Chunks end anywhere within an object.
const CHUNK_BYTES: usize = 16 * 1024;

/// Serves a prepared list, then the events passed to [`send`](Self::send).
#[derive(Clone, Debug)]
pub struct MemorySource {
    list: Arc<[Bytes]>,
    version: String,
    events: mpsc::UnboundedSender<Vec<Bytes>>,
    watch_receiver: Arc<Mutex<Option<mpsc::UnboundedReceiver<Vec<Bytes>>>>>,
}

impl MemorySource {
    /// Returns a source that lists the first `objects` Pods, ordered by ordinal. Each Pod's version is its ordinal.
    pub fn new(pods: &Pods, objects: u32) -> Self {
        let (events, watch_receiver) = mpsc::unbounded_channel();
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
            while text.len() >= CHUNK_BYTES {
                let rest = text.split_off(CHUNK_BYTES);
                list.push(shared(std::mem::replace(&mut text, rest)));
            }
        }
        text.extend_from_slice(b"]}");
        list.push(shared(text));
        Self {
            list: list.into(),
            version,
            events,
            watch_receiver: Arc::new(Mutex::new(Some(watch_receiver))),
        }
    }

    /// Sends watch lines all at once, each as a chunk of its own.
    pub fn send(&self, lines: Vec<Bytes>) {
        // The receiver lives as long as the informer.
        let _ = self.events.send(lines);
    }
}

/// Returns a `MODIFIED` watch line for the Pod.
pub fn modified(pods: &Pods, pod: PodVersion) -> Bytes {
    let mut line = br#"{"type":"MODIFIED","object":"#.to_vec();
    pods.write_json(pod, false, &mut line);
    line.extend_from_slice(b"}\n");
    shared(line)
}

/// Converts to bytes whose clones never allocate. The first clone allocates, so it is made here.
fn shared(bytes: Vec<u8>) -> Bytes {
    let bytes = Bytes::from(bytes);
    drop(bytes.clone());
    bytes
}

impl ListerWatcher for MemorySource {
    /// Returns the whole list, ignoring the limit, as API servers do for resource version 0.
    fn list(&self, _: ListOptions) -> BoxFuture<'_, Result<ByteStream, ListWatchError>> {
        let list = self.list.clone();
        let chunks = (0..list.len()).map(move |number| Ok(list[number].clone()));
        ready(Ok(stream::iter(chunks).boxed())).boxed()
    }

    /// Supports one watch, from the list's version. Streaming lists are rejected.
    fn watch(&self, options: WatchOptions) -> BoxFuture<'_, Result<ByteStream, ListWatchError>> {
        if options.send_initial_events {
            let refusal = Status::failure("no streaming lists", "Invalid").with_code(422);
            return ready(Err(ListWatchError::Status(Box::new(refusal)))).boxed();
        }
        let is_list_version = options.resource_version == self.version;
        let events = self.watch_receiver.lock().take().filter(|_| is_list_version);
        let events = events.ok_or_else(|| ListWatchError::Broken("there is one watch only".into()));
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

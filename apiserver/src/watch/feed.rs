//! Shared feeds: events of identical watches are serialized once.

use super::event::{EventSerializer, append_change};
use crate::kinds::Kind;
use crate::render::{Encoding, Representation, ResponseFormat};
use crate::request::ListOptions;
use crate::status::ApiError;
use crate::storage::{RevisionError, Store};
use bytes::Bytes;
use parking_lot::Mutex;
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Weak};

/// The number of chunks that a feed keeps, for watches of different speed.
const MAX_CHUNKS: usize = 16;
/// The number of changes that are read from the store at once.
pub(super) const CHANGES_PER_READ: usize = 32;
/// The size in bytes at which a chunk is complete.
const CHUNK_TARGET_BYTES: usize = 64 * 1024;

/// The events of one namespace, or of all, in one API version and encoding, for watches without selectors.
#[derive(Debug)]
pub(super) struct SharedFeed {
    kind: Arc<Kind>,
    prefix: String,
    format: ResponseFormat,
    chunks: Mutex<VecDeque<FeedChunk>>,
}

/// The events after one revision, up to another.
#[derive(Clone, Debug)]
pub(super) struct FeedChunk {
    pub(super) after: u64,
    pub(super) until: u64,
    pub(super) lines: Bytes,
}

/// The error of a watch that cannot start, or go on, at a revision.
pub(super) fn too_old(kind: &Kind, revision: u64, why: &RevisionError) -> ApiError {
    let (RevisionError::Compacted(oldest) | RevisionError::Future(oldest)) = why;
    // Watches of events are served by etcd, all others by kube-apiserver's watch cache; the messages differ.
    if kind.plural == "events" && kind.definition.is_none() {
        return ApiError::expired("The resourceVersion for the provided watch is too old.");
    }
    ApiError::expired(format!("too old resource version: {revision} ({oldest})"))
}

impl SharedFeed {
    /// Returns the events after a revision; empty if there are none. More events may follow the chunk.
    pub(super) fn after(&self, store: &Store, after: u64) -> Result<FeedChunk, RevisionError> {
        let mut chunks = self.chunks.lock();
        if let Some(chunk) = chunks.iter().rev().find(|chunk| chunk.after == after) {
            return Ok(chunk.clone());
        }
        let (options, mut serializer) = (ListOptions::default(), EventSerializer::new(self.format));
        let chunk = FeedChunk::read(store, &self.kind, &self.prefix, &options, &mut serializer, after)?;
        if !chunk.lines.is_empty() {
            if chunks.len() == MAX_CHUNKS {
                chunks.pop_front();
            }
            chunks.push_back(chunk.clone());
        }
        Ok(chunk)
    }
}

impl FeedChunk {
    /// Returns the events after a revision that match the selectors. More events may follow the chunk.
    pub(super) fn read(
        store: &Store,
        kind: &Kind,
        prefix: &str,
        options: &ListOptions,
        serializer: &mut EventSerializer,
        after: u64,
    ) -> Result<Self, RevisionError> {
        let (table, mut until, mut lines) = (kind.table(), after, vec![]);
        loop {
            let (changes, complete_until) = store.changes(&table, until, CHANGES_PER_READ)?;
            for change in changes.iter().filter(|change| change.key.starts_with(prefix)) {
                append_change(kind, options, serializer, change, &mut lines);
            }
            until = until.max(complete_until);
            if changes.len() < CHANGES_PER_READ || lines.len() >= CHUNK_TARGET_BYTES {
                let lines = lines.into();
                return Ok(Self { after, until, lines });
            }
        }
    }
}

/// Resource, version, key prefix and encoding.
type FeedKey = (String, String, String, Encoding);

/// The feeds in use.
#[derive(Debug, Default)]
pub(crate) struct SharedFeeds(Mutex<HashMap<FeedKey, Weak<SharedFeed>>>);

impl SharedFeeds {
    /// Returns the feed for a watch; None if it has selectors or another format than whole objects.
    pub(super) fn get_or_create(
        &self,
        kind: &Arc<Kind>,
        prefix: &str,
        options: &ListOptions,
        format: ResponseFormat,
    ) -> Option<Arc<SharedFeed>> {
        if options.has_selectors() || format.representation != Representation::Objects {
            return None;
        }
        let key = (
            kind.group_resource(),
            kind.version.clone(),
            prefix.to_owned(),
            format.encoding,
        );
        let mut feeds = self.0.lock();
        // The kind may have been redefined since the feed was created.
        let same = |feed: &Arc<SharedFeed>| Arc::ptr_eq(&feed.kind, kind);
        if let Some(feed) = feeds.get(&key).and_then(Weak::upgrade).filter(same) {
            return Some(feed);
        }
        let feed = Arc::new(SharedFeed {
            kind: kind.clone(),
            prefix: prefix.to_owned(),
            format,
            chunks: Mutex::default(),
        });
        feeds.retain(|_, feed| feed.strong_count() > 0);
        feeds.insert(key, Arc::downgrade(&feed));
        Some(feed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kinds::Catalog;
    use serde_json::{Value, json};

    fn event_names(chunk: &FeedChunk) -> Vec<String> {
        let lines = serde_json::Deserializer::from_slice(&chunk.lines).into_iter::<Value>();
        lines
            .map(|line| {
                let line = line.unwrap();
                format!("{} {}", line["type"], line["object"]["metadata"]["name"]).replace('"', "")
            })
            .collect()
    }

    #[test]
    fn slow_and_fast_watches_get_every_event_once() {
        let (store, feeds) = (Store::default(), SharedFeeds::default());
        let catalog = Catalog::built_in().unwrap();
        let kind = catalog.resource("", "v1", "configmaps").unwrap();
        let of = |prefix: &str| {
            feeds
                .get_or_create(kind, prefix, &ListOptions::default(), ResponseFormat::DEFAULT)
                .unwrap()
        };
        let (feed, elsewhere) = (of("n/"), of("m/"));
        assert!(Arc::ptr_eq(&feed, &of("n/")));
        let write = |key: &str| {
            let object = json!({ "metadata": { "name": key } });
            store.create(&kind.table(), key, object).unwrap();
        };
        // More events than one read from the store returns.
        let all: Vec<String> = (0..100).map(|number| format!("n/{number:03}")).collect();
        let mut slow_chunk = feed.after(&store, 1).unwrap();
        assert!(slow_chunk.lines.is_empty());
        let (mut fast_events, mut position) = (vec![], 1);
        for key in &all {
            write(key);
            write(&key.replace('n', "m"));
            let chunk = feed.after(&store, position).unwrap();
            fast_events.extend(event_names(&chunk));
            position = chunk.until;
        }
        let mut slow_events = vec![];
        loop {
            slow_chunk = feed.after(&store, slow_chunk.until).unwrap();
            if slow_chunk.lines.is_empty() {
                break;
            }
            slow_events.extend(event_names(&slow_chunk));
        }
        let expected: Vec<String> = all.iter().map(|key| format!("ADDED {key}")).collect();
        assert_eq!(fast_events, expected);
        assert_eq!(slow_events, expected);
        assert_eq!(event_names(&elsewhere.after(&store, 1).unwrap()).len(), 100);
        // A compaction keeps the latest changes for watches that read on.
        store.compact();
        assert_eq!(event_names(&feed.after(&store, 73).unwrap()).len(), 64);
        assert_eq!(feed.after(&store, 72).unwrap_err(), RevisionError::Compacted(73));
    }
}

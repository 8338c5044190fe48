//! What many watches see alike is written once.

use super::event::{View, append_change};
use crate::http::{Form, Shape};
use crate::kinds::Kind;
use crate::registry::ListOptions;
use crate::store::{Store, Unserved};
use bytes::Bytes;
use parking_lot::Mutex;
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Weak};

/// How many pieces a feed remembers: not all watches are equally fast.
const PIECES: usize = 16;
/// How many changes are read at once, and how many bytes a piece has before it is given out.
const BATCH: usize = 32;
const ENOUGH: usize = 64 * 1024;

/// The events of a namespace, or of all, in one version, for watches that select nothing.
#[derive(Debug)]
pub(super) struct Feed {
    kind: Arc<Kind>,
    prefix: String,
    pieces: Mutex<VecDeque<Piece>>,
}

/// The events after one version up to another.
#[derive(Clone, Debug)]
pub(super) struct Piece {
    after: u64,
    pub(super) until: u64,
    pub(super) lines: Bytes,
}

impl Feed {
    /// What comes after a version. There may be more behind it; without events there is nothing.
    pub(super) fn after(&self, store: &Store, after: u64) -> Result<Piece, Unserved> {
        let mut pieces = self.pieces.lock();
        if let Some(piece) = pieces.iter().rev().find(|piece| piece.after == after) {
            return Ok(piece.clone());
        }
        let (options, mut view) = (ListOptions::default(), View::new(Form::DEFAULT));
        let piece = Piece::read(store, &self.kind, &self.prefix, &options, &mut view, after)?;
        if !piece.lines.is_empty() {
            if pieces.len() == PIECES {
                pieces.pop_front();
            }
            pieces.push_back(piece.clone());
        }
        Ok(piece)
    }
}

impl Piece {
    /// What comes after a version for who watches a selection. There may be more behind it.
    pub(super) fn read(
        store: &Store,
        kind: &Kind,
        prefix: &str,
        options: &ListOptions,
        view: &mut View,
        after: u64,
    ) -> Result<Self, Unserved> {
        let (table, mut until, mut lines) = (kind.table(), after, vec![]);
        loop {
            let (changes, whole_until) = store.changes(&table, until, BATCH)?;
            for change in changes.iter().filter(|change| change.key.starts_with(prefix)) {
                append_change(kind, options, view, change, &mut lines);
            }
            until = until.max(whole_until);
            if changes.len() < BATCH || lines.len() >= ENOUGH {
                let lines = lines.into();
                return Ok(Self { after, until, lines });
            }
        }
    }
}

/// The feeds that somebody reads, by resource, version and prefix of keys.
#[derive(Debug, Default)]
pub(crate) struct Feeds(Mutex<HashMap<(String, String, String), Weak<Feed>>>);

impl Feeds {
    /// The one for a watch; None for a watch that sees what others do not.
    pub(super) fn of(
        &self,
        kind: &Arc<Kind>,
        prefix: &str,
        options: &ListOptions,
        form: Form,
    ) -> Option<Arc<Feed>> {
        if options.selects() || form.shape != Shape::Objects {
            return None;
        }
        let key = (kind.group_resource(), kind.version.clone(), prefix.to_owned());
        let mut feeds = self.0.lock();
        // A custom kind may have been defined anew.
        let same = |feed: &Arc<Feed>| Arc::ptr_eq(&feed.kind, kind);
        if let Some(feed) = feeds.get(&key).and_then(Weak::upgrade).filter(same) {
            return Some(feed);
        }
        let feed = Arc::new(Feed {
            kind: kind.clone(),
            prefix: prefix.to_owned(),
            pieces: Mutex::default(),
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

    fn names(piece: &Piece) -> Vec<String> {
        let lines = serde_json::Deserializer::from_slice(&piece.lines).into_iter::<Value>();
        lines
            .map(|line| {
                let line = line.unwrap();
                format!("{} {}", line["type"], line["object"]["metadata"]["name"]).replace('"', "")
            })
            .collect()
    }

    #[test]
    fn every_reader_gets_every_event_once_whatever_its_pace() {
        let (store, feeds) = (Store::default(), Feeds::default());
        let catalog = Catalog::built_in().unwrap();
        let kind = catalog.resource("", "v1", "configmaps").unwrap();
        let of = |prefix: &str| {
            feeds
                .of(kind, prefix, &ListOptions::default(), Form::DEFAULT)
                .unwrap()
        };
        let (feed, elsewhere) = (of("n/"), of("m/"));
        assert!(Arc::ptr_eq(&feed, &of("n/")));
        let write = |key: &str| {
            let object = json!({ "metadata": { "name": key } });
            store.create(&kind.table(), key, object).unwrap();
        };
        // As many as are not read at once.
        let all: Vec<String> = (0..100).map(|number| format!("n/{number:03}")).collect();
        let mut slow = feed.after(&store, 1).unwrap();
        assert!(slow.lines.is_empty());
        let (mut seen_fast, mut at) = (vec![], 1);
        for key in &all {
            write(key);
            write(&key.replace('n', "m"));
            let piece = feed.after(&store, at).unwrap();
            seen_fast.extend(names(&piece));
            at = piece.until;
        }
        let mut seen_slow = vec![];
        loop {
            slow = feed.after(&store, slow.until).unwrap();
            if slow.lines.is_empty() {
                break;
            }
            seen_slow.extend(names(&slow));
        }
        let expected: Vec<String> = all.iter().map(|key| format!("ADDED {key}")).collect();
        assert_eq!(seen_fast, expected);
        assert_eq!(seen_slow, expected);
        assert_eq!(names(&elsewhere.after(&store, 1).unwrap()).len(), 100);
        // Who reads on is not far behind, as a rule.
        store.compact();
        assert_eq!(names(&feed.after(&store, 73).unwrap()).len(), 64);
        assert_eq!(feed.after(&store, 72).unwrap_err(), Unserved::Compacted(73));
    }
}

//! Compresses objects that are no longer recent, with a dictionary that is trained on their kind.

use std::{
    collections::VecDeque,
    sync::{Arc, Weak},
};

use tokio::time::Instant;

use super::{
    super::{object::StoredObject, store::Store},
    delta_group::DeltaGroups,
    dictionary::{Dictionary, DictionaryCompressor},
    policy::{
        LIFETIME_WINDOW_OBJECTS, MAX_DICTIONARY_HOLD, MAX_RECENT_BYTES, RATIO_WINDOW_OBJECTS,
        TRAINING_SAMPLES, is_outdated,
    },
};

/// Keeps track of raw objects until they are compressed, of the dictionaries, and of what is to be compressed again with a newer one.
#[derive(Debug, Default)]
pub(super) struct Compressor {
    /// Raw objects in the order in which they arrived, with the length of their JSON.
    recent: VecDeque<(Weak<StoredObject>, usize)>,
    recent_bytes: usize,
    lifetimes: Lifetimes,
    compressor: DictionaryCompressor,
    newest: Option<Arc<Dictionary>>,
    /// The dictionary before, and since when it is that.
    older: Option<(Arc<Dictionary>, Instant)>,
    window: RatioWindow,
    /// The ratio of the first window of the newest dictionary.
    ratio_at_training: Option<f64>,
    /// Objects that may be compressed with the older dictionary.
    reencoding: Vec<Weak<StoredObject>>,
}

impl Compressor {
    /// Whether most objects still exist when they are no longer recent.
    pub(super) fn most_outlive_recent(&self) -> bool {
        self.lifetimes.most_outlive_recent
    }

    /// Adds a raw object, to be compressed when it is no longer recent.
    pub(super) fn add_recent(&mut self, object: &Arc<StoredObject>) {
        let length = object.payload.length();
        self.recent.push_back((Arc::downgrade(object), length));
        self.recent_bytes += length;
    }

    /// Compresses the objects that are no longer recent. A version that a reader still holds is compressed too, also after it was replaced.
    pub(super) fn compress_aged(&mut self, groups: &mut DeltaGroups, store: &Store) {
        while self.recent_bytes > MAX_RECENT_BYTES {
            let Some((object, length)) = self.recent.pop_front() else {
                break;
            };
            self.recent_bytes -= length;
            let object = object.upgrade();
            self.lifetimes.record(object.is_some());
            if let Some(object) = object {
                self.compress(&object, groups, store);
            }
        }
    }

    /// Compresses up to `count` objects again that were compressed with the older dictionary.
    pub(super) fn reencode(&mut self, count: usize) {
        for _ in 0..count {
            let Some(object) = self.reencoding.pop() else {
                break;
            };
            if let Some(object) = object.upgrade()
                && object.payload.dictionary().is_some()
            {
                object
                    .payload
                    .compress(&mut self.compressor, self.newest.as_ref());
            }
            if self.reencoding.is_empty() {
                self.drop_older();
            }
        }
    }

    /// Whether there are objects to [`reencode`](Self::reencode).
    pub(super) fn is_reencoding(&self) -> bool {
        !self.reencoding.is_empty()
    }

    #[cfg(test)]
    pub(super) fn dictionaries(&self) -> Vec<Arc<Dictionary>> {
        let older = self.older.iter().map(|(older, _)| older);
        self.newest.iter().chain(older).cloned().collect()
    }

    fn compress(&mut self, object: &StoredObject, groups: &mut DeltaGroups, store: &Store) {
        let raw = object.payload.raw();
        let difference = raw.and_then(|json| groups.encode_stored(&object.metadata, &json));
        if let Some((bytes, base)) = difference {
            object.payload.keep_difference(bytes, base);
            return;
        }
        if self.newest.is_none() && self.window.objects == 0 {
            self.train(object, store);
        }
        let kept = object
            .payload
            .compress(&mut self.compressor, self.newest.as_ref());
        self.window.objects += 1;
        self.window.bytes += object.payload.length();
        self.window.kept += kept;
        if self.window.objects == RATIO_WINDOW_OBJECTS {
            let ratio = std::mem::take(&mut self.window).ratio();
            match self.ratio_at_training {
                _ if self.newest.is_none() => self.train(object, store),
                None => self.ratio_at_training = Some(ratio),
                Some(at_training) if is_outdated(at_training, ratio) => self.train(object, store),
                Some(_) => {}
            }
        }
    }

    /// Trains a new dictionary on recent objects and on `object`, unless two are still in use.
    fn train(&mut self, object: &StoredObject, store: &Store) {
        self.drop_older();
        if self.older.is_some() {
            self.start_reencoding(store);
            return;
        }
        let step = self.recent.len().div_ceil(TRAINING_SAMPLES).max(1);
        let recent = self
            .recent
            .iter()
            .step_by(step)
            .filter_map(|(recent, _)| recent.upgrade());
        let samples = recent.filter_map(|recent| recent.payload.json().ok());
        let samples: Vec<_> = samples.chain(object.payload.json().ok()).collect();
        let Some(trained) = Dictionary::train(&samples) else {
            return;
        };
        tracing::debug!("trained a dictionary on {} objects", samples.len());
        let displaced = self.newest.replace(Arc::new(trained));
        self.older = displaced.map(|older| (older, Instant::now()));
        self.ratio_at_training = None;
        self.start_reencoding(store);
    }

    /// Drops the older dictionary if no object needs it. Objects of a list that is still arriving may need it, and are re-encoded when they
    /// are stored. After `MAX_DICTIONARY_HOLD` only outdated versions that a reader holds can need it: those do not delay the next one.
    fn drop_older(&mut self) {
        let is_needed = |(older, since): &(Arc<Dictionary>, Instant)| {
            Arc::strong_count(older) > 1 && since.elapsed() < MAX_DICTIONARY_HOLD
        };
        self.older = self.older.take().filter(is_needed);
    }

    fn start_reencoding(&mut self, store: &Store) {
        if self.reencoding.is_empty() {
            self.reencoding = store.all().iter().map(Arc::downgrade).collect();
        }
    }
}

/// What compression saved on some objects.
#[derive(Debug, Default)]
struct RatioWindow {
    objects: usize,
    bytes: usize,
    kept: usize,
}

impl RatioWindow {
    #[expect(clippy::cast_precision_loss, reason = "a ratio needs no more")]
    fn ratio(&self) -> f64 {
        self.bytes as f64 / self.kept.max(1) as f64
    }
}

/// How many objects still existed when they were no longer recent.
#[derive(Debug, Default)]
struct Lifetimes {
    objects: u32,
    existed: u32,
    most_outlive_recent: bool,
}

impl Lifetimes {
    fn record(&mut self, exists: bool) {
        self.objects += 1;
        self.existed += u32::from(exists);
        if self.objects == LIFETIME_WINDOW_OBJECTS {
            self.most_outlive_recent = 2 * self.existed > self.objects;
            (self.objects, self.existed) = (0, 0);
        }
    }
}

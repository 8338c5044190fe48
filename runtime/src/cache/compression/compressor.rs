//! Which objects are compressed, when, and with which dictionary.

use std::{
    collections::VecDeque,
    future::pending,
    sync::{
        Arc, Weak,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use parking_lot::{Mutex, MutexGuard};
use tokio::time::{Instant, sleep};

use super::{
    super::{Metadata, object::StoredObject, store::Store},
    Payload,
    delta_group::Families,
    dictionary::{Dictionary, DictionaryCompressor},
    encoder::Encoder,
};

/// What arrived last stays raw up to so many bytes of JSON: it is the most likely to be read, or replaced, soon.
const FRESH_BYTES: usize = 1 << 20;
/// Objects that a dictionary is trained on: more made it no better, and training took longer.
const SAMPLES: usize = 24;
/// Objects over which the ratio of compression is taken.
const WINDOW: usize = 1000;
/// A dictionary is outdated when the ratio falls below this part of what it was.
const OUTDATED: f64 = 0.7;
/// Objects of an older dictionary that are moved over for each that arrives.
const MOVED_AT_A_TIME: usize = 2;
/// As many are moved at a time while nothing arrives, and so long a pause is made then: it is to be done within a minute, at a few percent
/// of a core.
const MOVED_IN_PEACE: usize = 32;
const PAUSE: Duration = Duration::from_millis(10);
/// After this time a dictionary is let go that only outdated versions can still need.
const HELD: Duration = Duration::from_mins(10);
/// After so many objects it is looked at how many lived until they were compressed.
const LOOKED_AT: u32 = 64;

/// Compresses objects: replicas when they come, others once they are no longer fresh. One per informer.
///
/// There are at most two dictionaries: what was compressed with the older one is moved over before there is a third, a little with each
/// object that arrives, and more while none does. A version that is no longer stored is not moved: who holds one for ten minutes may hold a
/// third.
#[derive(Debug)]
pub(in crate::cache) struct Compressor {
    /// Nothing is compressed: the kind is sensitive, or the informer wants it so.
    off: AtomicBool,
    /// Things were compressed before it was switched off.
    was_on: AtomicBool,
    /// Of the last objects whose time came, most were still there.
    most_settle: AtomicBool,
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    fresh: VecDeque<(Weak<StoredObject>, usize)>,
    fresh_bytes: usize,
    lived: Lived,
    compressor: DictionaryCompressor,
    families: Families,
    newest: Option<Arc<Dictionary>>,
    /// With the moment since when it is that.
    older: Option<(Arc<Dictionary>, Instant)>,
    window: Window,
    /// The ratio of the first window of the newest dictionary.
    at_training: Option<f64>,
    /// What may have to be moved to the newest dictionary.
    moving: Vec<Weak<StoredObject>>,
}

/// What the compression of some objects brought.
#[derive(Debug, Default)]
struct Window {
    objects: usize,
    bytes: usize,
    kept: usize,
}

impl Compressor {
    /// Compresses nothing when `off`.
    pub(in crate::cache) fn new(off: bool) -> Self {
        Self {
            off: off.into(),
            was_on: AtomicBool::new(false),
            most_settle: AtomicBool::new(false),
            inner: Mutex::default(),
        }
    }

    /// From now on nothing is compressed, and what the objects in the store were compressed with is forgotten. Whoever holds an older
    /// version keeps it as it is.
    pub(in crate::cache) fn switch_off(&self, store: &Store) {
        if self.off.swap(true, Ordering::SeqCst) {
            return;
        }
        self.most_settle.store(false, Ordering::Relaxed);
        // Whoever compresses holds this, and looks again whether it may.
        drop(std::mem::take(&mut *self.inner.lock()));
        self.was_on.store(true, Ordering::SeqCst);
        store.all().iter().for_each(|object| object.payload.make_raw());
    }

    /// What comes into the store may have been compressed before that was forbidden.
    pub(in crate::cache) fn check(&self, object: &StoredObject) {
        if self.was_on.load(Ordering::SeqCst) {
            object.payload.make_raw();
        }
    }

    /// What becomes of objects until then; none if they are never compressed.
    pub(in crate::cache) fn fresh(self: &Arc<Self>) -> Option<Encoder> {
        let is_off = self.off.load(Ordering::Relaxed);
        (!is_off).then(|| Encoder::new(self.clone()))
    }

    pub(super) fn most_settle(&self) -> bool {
        self.most_settle.load(Ordering::Relaxed)
    }

    /// A new object as its difference to another, where they are much alike. While its bytes are in the processor's cache, and without a
    /// copy of them, that costs less than to keep it raw for a while.
    pub(super) fn alike(&self, owners: u64, metadata: &Metadata, json: &[u8]) -> Option<Payload> {
        let mut inner = self.inner()?;
        let (bytes, exemplar) = inner.families.at_once(owners, metadata, json)?;
        Some(Payload::different(json.len(), bytes, exemplar))
    }

    pub(super) fn fetch(&self, owners: u64) {
        if let Some(inner) = self.inner() {
            inner.families.fetch(owners);
        }
    }

    /// None if nothing is compressed.
    fn inner(&self) -> Option<MutexGuard<'_, Inner>> {
        let is_on = || !self.off.load(Ordering::SeqCst);
        // It may be switched off while this waits.
        is_on().then(|| self.inner.lock()).filter(|_| is_on())
    }

    #[cfg(test)]
    pub(super) fn of_many() -> Self {
        Self {
            most_settle: true.into(),
            ..Self::new(false)
        }
    }

    #[cfg(test)]
    pub(in crate::cache) fn has_dictionary(&self) -> bool {
        let inner = self.inner.lock();
        inner.newest.is_some() || inner.older.is_some()
    }

    /// The bytes of what others are kept as differences to.
    pub(in crate::cache) fn exemplars(&self) -> usize {
        self.inner.lock().families.bytes()
    }

    /// Takes note of a new object. What is compressed instead is older.
    pub(in crate::cache) fn arrived(&self, object: &Arc<StoredObject>, store: &Store) {
        let Some(mut inner) = self.inner() else { return };
        if object.payload.is_raw() {
            // An exemplar is chosen only after some of the family that are.
            inner.families.stored(store.bytes());
            let length = object.payload.length();
            inner.fresh.push_back((Arc::downgrade(object), length));
            inner.fresh_bytes += length;
        }
        while inner.fresh_bytes > FRESH_BYTES {
            let Some((settled, length)) = inner.fresh.pop_front() else {
                break;
            };
            inner.fresh_bytes -= length;
            let settled = settled.upgrade();
            inner.lived.push(settled.is_some(), &self.most_settle);
            if let Some(settled) = settled {
                inner.settle(&settled, store);
            }
        }
        inner.move_some(MOVED_AT_A_TIME);
    }

    /// Returns after a while if objects are to be moved to a newer dictionary: then [`Self::move_some`]. Cancel safe.
    pub(in crate::cache) async fn may_move(&self) {
        if self.is_moving() {
            sleep(PAUSE).await;
        } else {
            pending::<()>().await;
        }
    }

    pub(in crate::cache) fn move_some(&self) {
        self.inner.lock().move_some(MOVED_IN_PEACE);
    }

    fn is_moving(&self) -> bool {
        !self.inner.lock().moving.is_empty()
    }
}

impl Inner {
    fn settle(&mut self, object: &StoredObject, store: &Store) {
        let raw = object.payload.raw();
        let difference = raw.and_then(|json| self.families.later(&object.metadata, &json));
        if let Some((bytes, exemplar)) = difference {
            object.payload.keep_difference(bytes, exemplar);
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
        if self.window.objects == WINDOW {
            let ratio = std::mem::take(&mut self.window).ratio();
            match self.at_training {
                _ if self.newest.is_none() => self.train(object, store),
                None => self.at_training = Some(ratio),
                Some(at_training) if is_outdated(at_training, ratio) => self.train(object, store),
                Some(_) => {}
            }
        }
    }

    /// Makes a new dictionary of what is fresh, and of `object`, unless two are still in use.
    fn train(&mut self, object: &StoredObject, store: &Store) {
        self.forget_older();
        if self.older.is_some() {
            self.move_all(store);
            return;
        }
        let step = self.fresh.len().div_ceil(SAMPLES).max(1);
        let fresh = self
            .fresh
            .iter()
            .step_by(step)
            .filter_map(|(fresh, _)| fresh.upgrade());
        let samples = fresh.filter_map(|fresh| fresh.payload.json().ok());
        let samples: Vec<_> = samples.chain(object.payload.json().ok()).collect();
        let Some(trained) = Dictionary::train(&samples) else {
            return;
        };
        tracing::debug!("trained a dictionary on {} objects", samples.len());
        let displaced = self.newest.replace(Arc::new(trained));
        self.older = displaced.map(|older| (older, Instant::now()));
        self.at_training = None;
        self.move_all(store);
    }

    /// Lets go of the older dictionary once nobody needs it to be read. Objects of a list that is still arriving may, and move when they are
    /// stored; an outdated version that somebody keeps would otherwise be in the way of a third for ever.
    fn forget_older(&mut self) {
        let is_needed = |(older, since): &(Arc<Dictionary>, Instant)| {
            Arc::strong_count(older) > 1 && since.elapsed() < HELD
        };
        self.older = self.older.take().filter(is_needed);
    }

    fn move_all(&mut self, store: &Store) {
        if self.moving.is_empty() {
            self.moving = store.all().iter().map(Arc::downgrade).collect();
        }
    }

    fn move_some(&mut self, most: usize) {
        for _ in 0..most {
            let Some(object) = self.moving.pop() else { break };
            self.moved(&object);
            if self.moving.is_empty() {
                self.forget_older();
            }
        }
    }

    /// Compresses an object with the newest dictionary, if it was with another.
    fn moved(&mut self, object: &Weak<StoredObject>) {
        if let Some(object) = object.upgrade()
            && object.payload.dictionary().is_some()
        {
            object
                .payload
                .compress(&mut self.compressor, self.newest.as_ref());
        }
    }
}

/// Whether a dictionary that once made objects so many times smaller is worth keeping now that it makes them `ratio` times smaller.
fn is_outdated(at_training: f64, ratio: f64) -> bool {
    ratio < OUTDATED * at_training
}

/// How many of the objects whose time came were still there.
#[derive(Debug, Default)]
struct Lived {
    all: u32,
    lived: u32,
}

impl Lived {
    fn push(&mut self, lived: bool, most: &AtomicBool) {
        self.all += 1;
        self.lived += u32::from(lived);
        if self.all == LOOKED_AT {
            most.store(2 * self.lived > self.all, Ordering::Relaxed);
            *self = Self::default();
        }
    }
}

impl Window {
    #[expect(clippy::cast_precision_loss, reason = "a ratio needs no more")]
    fn ratio(&self) -> f64 {
        self.bytes as f64 / self.kept.max(1) as f64
    }
}

#[cfg(test)]
#[path = "compressor_tests.rs"]
mod tests;

//! Which objects are compressed, when, and with which dictionary.

use std::{
    collections::VecDeque,
    sync::{
        Arc, Weak,
        atomic::{AtomicBool, Ordering},
    },
};

use parking_lot::Mutex;

use super::{
    super::{object::StoredObject, store::Store},
    dictionary::{Compressor, Dictionary},
    families::Families,
    fresh::Fresh,
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
/// After so many objects it is looked at how many lived until they were compressed.
const LOOKED_AT: u32 = 64;

/// Compresses objects once they are no longer fresh. One per informer.
///
/// There are at most two dictionaries: what was compressed with the older one is moved over before there is a third.
#[derive(Debug)]
pub(in crate::cache) struct Settling {
    /// Nothing is compressed: the kind is sensitive, or the informer wants it so.
    off: AtomicBool,
    /// Things were compressed before it was switched off.
    was_on: AtomicBool,
    /// Of the last objects whose time came, most were still there.
    most_settle: Arc<AtomicBool>,
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    fresh: VecDeque<(Weak<StoredObject>, usize)>,
    fresh_bytes: usize,
    lived: Lived,
    compressor: Compressor,
    families: Families,
    newest: Option<Arc<Dictionary>>,
    older: Option<Arc<Dictionary>>,
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

impl Settling {
    /// Compresses nothing when `off`.
    pub(in crate::cache) fn new(off: bool) -> Self {
        Self {
            off: off.into(),
            was_on: AtomicBool::new(false),
            most_settle: Arc::default(),
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

    /// Where objects lie until then; none if they are never compressed.
    pub(in crate::cache) fn fresh(&self) -> Option<Fresh> {
        let is_off = self.off.load(Ordering::Relaxed);
        (!is_off).then(|| Fresh::new(self.most_settle.clone()))
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
        if self.off.load(Ordering::Relaxed) {
            return;
        }
        let mut inner = self.inner.lock();
        if self.off.load(Ordering::SeqCst) {
            return;
        }
        let length = object.payload.length();
        inner.fresh.push_back((Arc::downgrade(object), length));
        inner.fresh_bytes += length;
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
        for _ in 0..MOVED_AT_A_TIME {
            let Some(object) = inner.moving.pop() else { break };
            inner.moved(&object);
            if inner.moving.is_empty() {
                inner.forget_older();
            }
        }
    }
}

impl Inner {
    fn settle(&mut self, object: &StoredObject, store: &Store) {
        let raw = object.payload.raw();
        let difference = raw.and_then(|json| {
            self.families
                .difference(&object.metadata, &json, || store.bytes())
        });
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
                Some(at_training) if ratio < OUTDATED * at_training => self.train(object, store),
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
        self.older = self.newest.replace(Arc::new(trained));
        self.at_training = None;
        self.move_all(store);
    }

    /// Drops the older dictionary once nobody needs it to be read.
    fn forget_older(&mut self) {
        self.older = self.older.take().filter(|older| Arc::strong_count(older) > 1);
    }

    fn move_all(&mut self, store: &Store) {
        if self.moving.is_empty() {
            self.moving = store.all().iter().map(Arc::downgrade).collect();
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
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{
        Kind as _,
        cache::{fifo::Delta, scan::Scanner},
    };

    /// About 1 KB, of which the parts that differ are a tenth; objects of another `style` have little in common.
    fn object(scanner: &mut Scanner, number: usize, style: usize) -> Arc<StoredObject> {
        let digest = |seed: usize| format!("{:016x}", seed.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        let entries = (0..12).map(|entry| {
            (
                format!("{}-{entry}", digest(style)),
                digest(style * 100 + (entry + number) % 12).repeat(3),
            )
        });
        let data: serde_json::Map<_, _> = entries.map(|(key, value)| (key, value.into())).collect();
        let json = json!({
            "metadata": {"namespace": "shop", "name": format!("o{number}"), "uid": digest(number), "resourceVersion": "1"},
            "data": data,
        });
        Arc::new(scanner.object(json.to_string().as_bytes(), &[]).unwrap())
    }

    struct World {
        settling: Settling,
        store: Store,
        scanner: Scanner,
    }

    impl World {
        fn new(off: bool) -> Self {
            let info = k8s_openapi::api::core::v1::ConfigMap::info();
            Self {
                settling: Settling::new(off),
                store: Store::default(),
                scanner: Scanner::new(&info),
            }
        }

        fn arrive(&mut self, numbers: std::ops::Range<usize>, style: usize) {
            for number in numbers {
                let object = object(&mut self.scanner, number, style);
                self.settling.arrived(&object, &self.store);
                self.store.apply(vec![Delta::Upserted(object)], false);
            }
        }

        fn dictionaries(&self) -> Vec<Arc<Dictionary>> {
            let inner = self.settling.inner.lock();
            inner.newest.iter().chain(&inner.older).cloned().collect()
        }

        fn ratio(&self) -> usize {
            let (_, bytes, kept) = self.store.size();
            bytes / kept
        }
    }

    #[test]
    fn what_is_fresh_stays_raw_and_the_rest_is_compressed_with_one_dictionary() {
        let mut world = World::new(false);
        world.arrive(0..200, 1);
        assert_eq!((world.dictionaries().len(), world.ratio()), (0, 1));
        world.arrive(200..5000, 1);
        assert_eq!(world.dictionaries().len(), 1);
        let raw = world
            .store
            .all()
            .iter()
            .filter(|object| object.payload.kept() == object.payload.length())
            .count();
        let length = world.store.all().iter().next().unwrap().payload.length();
        // Names, and so objects, differ a little in length.
        assert!(raw.abs_diff(FRESH_BYTES / length) < 10, "{raw} of {length} bytes");
        for object in world.store.all().iter() {
            let json: serde_json::Value = serde_json::from_slice(&object.payload.json().unwrap()).unwrap();
            assert_eq!(json["metadata"]["name"], *object.name().name());
        }
    }

    /// Objects lie in blocks only where a block is soon free again.
    #[test]
    fn few_objects_that_change_over_and_over_share_no_blocks() {
        let mut world = World::new(false);
        let in_blocks = |world: &World| world.settling.most_settle.load(Ordering::Relaxed);
        for _ in 0..3000 {
            world.arrive(0..2, 1);
        }
        assert!(!in_blocks(&world));
        world.arrive(0..3000, 1);
        assert!(in_blocks(&world));
        for _ in 0..3000 {
            world.arrive(0..2, 1);
        }
        assert!(!in_blocks(&world));
    }

    #[test]
    fn nothing_that_is_sensitive_is_compressed() {
        let mut world = World::new(true);
        world.arrive(0..3000, 1);
        assert_eq!((world.dictionaries().len(), world.ratio()), (0, 1));
    }

    #[test]
    fn a_dictionary_that_no_longer_fits_is_replaced_and_there_are_never_three() {
        let mut world = World::new(false);
        world.arrive(0..5000, 1);
        let first = Arc::downgrade(&world.dictionaries()[0]);
        for style in 2..5 {
            // The same names: what is there changes its style.
            world.arrive(0..8000, style);
            let dictionaries = world.dictionaries().len();
            assert!((1..=2).contains(&dictionaries), "{dictionaries}");
        }
        assert!(first.upgrade().is_none(), "nothing is left of the first style");
        assert!(world.ratio() >= 3, "{}", world.ratio());
    }

    #[test]
    fn old_objects_move_to_a_new_dictionary_as_others_arrive() {
        let mut world = World::new(false);
        world.arrive(0..3000, 1);
        let first = Arc::downgrade(&world.dictionaries()[0]);
        world.arrive(10_000..16_000, 2);
        assert!(first.upgrade().is_none(), "nobody needs it");
        let other = world
            .store
            .get(&crate::ObjectName::namespaced("shop", "o7"))
            .unwrap();
        let newest = &world.dictionaries()[0];
        assert!(Arc::ptr_eq(&other.payload.dictionary().unwrap(), newest));
    }
}

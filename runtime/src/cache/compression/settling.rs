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
use tokio::time::sleep;

use super::{
    super::{Metadata, object::StoredObject, store::Store},
    Payload,
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
/// As many are moved at a time while nothing arrives, and so long a pause is made then: it is to be done within a minute, at a few percent
/// of a core.
const MOVED_IN_PEACE: usize = 32;
const PAUSE: Duration = Duration::from_millis(10);
/// After so many objects it is looked at how many lived until they were compressed.
const LOOKED_AT: u32 = 64;

/// Compresses objects: replicas when they come, others once they are no longer fresh. One per informer.
///
/// There are at most two dictionaries: what was compressed with the older one is moved over before there is a third, a little with each
/// object that arrives, and more while none does.
#[derive(Debug)]
pub(in crate::cache) struct Settling {
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

    /// Where objects lie until then; none if they are never compressed.
    pub(in crate::cache) fn fresh(self: &Arc<Self>) -> Option<Fresh> {
        let is_off = self.off.load(Ordering::Relaxed);
        (!is_off).then(|| Fresh::new(self.clone()))
    }

    pub(super) fn most_settle(&self) -> bool {
        self.most_settle.load(Ordering::Relaxed)
    }

    /// A new object as its difference to another, where they are much alike. While its bytes are in the processor's cache, and without a
    /// copy of them, that costs less than to keep it raw for a while.
    pub(super) fn alike(&self, metadata: &Metadata, json: &[u8]) -> Option<Payload> {
        let mut inner = self.inner()?;
        let (bytes, exemplar) = inner.families.at_once(metadata, json)?;
        Some(Payload::different(json.len(), bytes, exemplar))
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
        inner.families.stored(store.bytes());
        if object.payload.is_raw() {
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
mod tests {
    use std::collections::HashSet;

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
            "metadata": {"namespace": "shop", "name": format!("o{number}"), "uid": digest(number), "resourceVersion": style.to_string()},
            "data": data,
        });
        Arc::new(scanner.object(json.to_string().as_bytes(), &[]).unwrap())
    }

    struct World {
        settling: Arc<Settling>,
        store: Store,
        scanner: Scanner,
    }

    impl World {
        fn new(off: bool) -> Self {
            let info = k8s_openapi::api::core::v1::ConfigMap::info();
            Self {
                settling: Arc::new(Settling::new(off)),
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

        /// The dictionaries that objects in the store need.
        fn needed(&self) -> HashSet<*const Dictionary> {
            let all = self.store.all();
            let needed = all.iter().filter_map(|object| object.payload.dictionary());
            needed.map(|dictionary| Arc::as_ptr(&dictionary)).collect()
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

    #[test]
    fn replicas_are_differences_at_once_and_the_first_of_them_later() {
        let mut world = World::new(false);
        let info = k8s_openapi::api::core::v1::ConfigMap::info();
        world.scanner = Scanner::new(&info).into_fresh(world.settling.fresh());
        // Every twelfth has the same data.
        for replica in 0..1000 {
            world.arrive(12 * replica..12 * replica + 1, 1);
        }
        let raw = |world: &World| {
            let all = world.store.all();
            all.iter().filter(|object| object.payload.is_raw()).count()
        };
        assert_eq!(raw(&world), 3);
        // The first have waited their time, and the family is still one.
        world.arrive(100_001..101_500, 2);
        for replica in 0..1000 {
            let name = crate::ObjectName::namespaced("shop", format!("o{}", 12 * replica));
            let object = world.store.get(&name).unwrap();
            assert!(
                !object.payload.is_raw() && object.payload.dictionary().is_none(),
                "{name}"
            );
            let json: serde_json::Value = serde_json::from_slice(&object.payload.json().unwrap()).unwrap();
            assert_eq!(json["metadata"]["name"], *name.name());
        }
    }

    #[test]
    fn nothing_is_a_difference_once_that_is_off() {
        let mut world = World::new(false);
        let info = k8s_openapi::api::core::v1::ConfigMap::info();
        world.scanner = Scanner::new(&info).into_fresh(world.settling.fresh());
        world.settling.switch_off(&world.store);
        for replica in 0..100 {
            world.arrive(12 * replica..12 * replica + 1, 1);
        }
        assert!(world.store.all().iter().all(|object| object.payload.is_raw()));
        assert_eq!(world.settling.exemplars(), 0);
    }

    /// Objects lie in blocks only where a block is soon free again.
    #[test]
    fn few_objects_that_change_over_and_over_share_no_blocks() {
        let mut world = World::new(false);
        let in_blocks = |world: &World| world.settling.most_settle();
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
    fn a_dictionary_is_outdated_when_the_ratio_is_less_than_seven_tenths_of_what_it_was() {
        for (ratio, expected) in [(7.1, false), (6.9, true), (12.0, false)] {
            assert_eq!(is_outdated(10.0, ratio), expected, "{ratio}");
        }
    }

    /// Of what the store holds: there may be more to come before all of the first was moved.
    #[test]
    fn objects_never_need_more_than_two_dictionaries() {
        let mut world = World::new(false);
        let mut most = 0;
        let (mut styles, mut next) = (0, 0);
        for (count, style) in [(6000, 1), (2200, 2), (2200, 3), (6000, 4)] {
            for _ in 0..count / 100 {
                world.arrive(next..next + 100, style);
                next += 100;
                let needed = world.needed();
                most = most.max(needed.len());
                styles += usize::from(needed.len() == 2 && world.settling.is_moving());
            }
        }
        assert_eq!(most, 2);
        assert!(styles > 20, "moves take a while: {styles}");
    }

    #[tokio::test(start_paused = true)]
    async fn objects_move_while_nothing_arrives() {
        let mut world = World::new(false);
        world.arrive(0..5000, 1);
        while world.needed().len() < 2 {
            world.arrive(10_000..12_000, 2);
            world.arrive(10_000..12_000, 3);
        }
        let started = tokio::time::Instant::now();
        while world.settling.is_moving() {
            world.settling.may_move().await;
            world.settling.move_some();
        }
        assert_eq!((world.needed().len(), world.dictionaries().len()), (1, 1));
        assert!(started.elapsed() < Duration::from_secs(5));
    }

    /// What a handler was not yet told of takes no more room than what is in the store.
    #[test]
    fn a_version_that_is_out_of_date_but_held_is_compressed_too() {
        let mut world = World::new(false);
        world.arrive(0..1, 1);
        let name = crate::ObjectName::namespaced("shop", "o0");
        let held = world.store.get(&name).unwrap();
        world.arrive(0..1, 2);
        assert!(!Arc::ptr_eq(&held, &world.store.get(&name).unwrap()));
        assert!(held.payload.raw().is_some(), "it is fresh");
        world.arrive(1..3000, 2);
        assert!(held.payload.raw().is_none() && 2 * held.payload.kept() < held.payload.length());
        let json: serde_json::Value = serde_json::from_slice(&held.payload.json().unwrap()).unwrap();
        assert_eq!(json["metadata"]["resourceVersion"], "1");
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

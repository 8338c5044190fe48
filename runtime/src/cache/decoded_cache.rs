//! The decoded cache: keeps frequently read objects decoded, within a memory budget.
//!
//! A controller that reads the owner for each change of what it owns takes 55 to 75 % more CPU an event without it, and 10 to 40 % less memory:
//! see "Mechanisms" in benches/README.md.

use std::{
    any::Any,
    collections::VecDeque,
    sync::{
        Arc, LazyLock, OnceLock, Weak,
        atomic::{AtomicUsize, Ordering},
    },
};

use parking_lot::Mutex;

use super::object::StoredObject;

/// The bytes that a decoded object is charged for each byte of its JSON: about the size of decoded Pods.
const CHARGE_PER_JSON_BYTE: usize = 8;

/// The budget that all factories of the process without an own budget share.
const DEFAULT_BUDGET_BYTES: usize = 32 << 20;

static PROCESS: LazyLock<DecodedCache> = LazyLock::new(|| DecodedCache::new(DEFAULT_BUDGET_BYTES));

/// The decoded cache of a factory: the process-wide one, or its own.
#[derive(Debug, Default)]
pub(super) struct DecodedCacheHandle(OnceLock<DecodedCache>);

impl DecodedCacheHandle {
    /// Gives the factory a cache of its own. Objects that were cached before stay in the process-wide cache.
    pub(super) fn set_budget(&self, bytes: usize) {
        self.0.get_or_init(|| DecodedCache::new(bytes)).set_budget(bytes);
    }

    pub(super) fn cache(&self) -> &DecodedCache {
        self.0.get().unwrap_or(&PROCESS)
    }
}

/// DecodedValue objects within a memory budget. Evicts by the clock algorithm: the oldest that was not read since the last eviction pass.
#[derive(Debug)]
pub(super) struct DecodedCache {
    budget_bytes: AtomicUsize,
    charged_bytes: Arc<AtomicUsize>,
    clock: Mutex<EvictionClock>,
}

/// The cached objects, the oldest first; some entries may be replaced or deleted objects.
#[derive(Debug, Default)]
struct EvictionClock {
    objects: VecDeque<Weak<StoredObject>>,
    /// At this length, entries without a cached object are removed.
    sweep_at_length: usize,
}

/// The slot of a stored object for its decoded form.
#[derive(Debug, Default)]
pub(super) struct DecodedEntry(Mutex<Option<Box<DecodedValue>>>);

#[derive(Debug)]
struct DecodedValue {
    object: Arc<dyn Any + Send + Sync>,
    charge: usize,
    charged_bytes: Arc<AtomicUsize>,
    /// Whether it was read since the last eviction pass.
    was_read: bool,
}

impl Drop for DecodedValue {
    fn drop(&mut self) {
        self.charged_bytes.fetch_sub(self.charge, Ordering::Relaxed);
    }
}

impl DecodedCache {
    fn new(budget_bytes: usize) -> Self {
        Self {
            budget_bytes: budget_bytes.into(),
            charged_bytes: Arc::default(),
            clock: Mutex::default(),
        }
    }

    fn set_budget(&self, bytes: usize) {
        self.budget_bytes.store(bytes, Ordering::Relaxed);
        self.evict();
    }

    fn charged_bytes(&self) -> usize {
        self.charged_bytes.load(Ordering::Relaxed)
    }

    /// Caches the decoded form of an object until the object changes or is evicted. Does nothing if it exceeds the whole budget.
    pub(super) fn insert(&self, object: &Arc<StoredObject>, decoded: Arc<dyn Any + Send + Sync>) {
        let charge = object.payload.length().saturating_mul(CHARGE_PER_JSON_BYTE);
        if charge > self.budget_bytes.load(Ordering::Relaxed) {
            return;
        }
        if self.put(object, decoded, charge) {
            self.clock.lock().push(object);
            self.evict();
        }
    }

    /// Caches the decoded form of an object until the object changes, regardless of the budget.
    pub(super) fn insert_permanent(&self, object: &StoredObject, decoded: Arc<dyn Any + Send + Sync>) {
        self.put(object, decoded, 0);
    }

    /// Fills the slot unless it is full; returns whether it was empty. An object that is read as two types is cached as the first.
    fn put(&self, object: &StoredObject, decoded: Arc<dyn Any + Send + Sync>, charge: usize) -> bool {
        let mut slot = object.decoded.0.lock();
        if slot.is_some() {
            return false;
        }
        self.charged_bytes.fetch_add(charge, Ordering::Relaxed);
        *slot = Some(Box::new(DecodedValue {
            object: decoded,
            charge,
            charged_bytes: self.charged_bytes.clone(),
            was_read: false,
        }));
        true
    }

    fn evict(&self) {
        let budget = self.budget_bytes.load(Ordering::Relaxed);
        let mut evicted: Vec<Box<DecodedValue>> = Vec::new();
        let mut excess = self.charged_bytes().saturating_sub(budget);
        let mut clock = self.clock.lock();
        // The first round spares objects that were read; the second spares none.
        for _ in 0..2 * clock.objects.len() {
            if excess == 0 {
                break;
            }
            let Some(object) = clock.objects.pop_front() else {
                break;
            };
            let Some(stored) = object.upgrade() else { continue };
            match stored.decoded.take_unread() {
                Err(WasRead) => clock.objects.push_back(object),
                Ok(decoded) => {
                    excess = excess.saturating_sub(decoded.as_ref().map_or(0, |decoded| decoded.charge));
                    evicted.extend(decoded);
                }
            }
        }
        drop(clock);
        // Without the lock: dropping runs the user's `Drop`.
        drop(evicted);
    }
}

impl EvictionClock {
    fn push(&mut self, object: &Arc<StoredObject>) {
        if self.objects.len() >= self.sweep_at_length {
            self.objects
                .retain(|object| object.upgrade().is_some_and(|object| object.decoded.is_filled()));
            self.sweep_at_length = 2 * self.objects.len() + 64;
        }
        self.objects.push_back(Arc::downgrade(object));
    }
}

impl DecodedEntry {
    /// Returns the decoded object, if it is cached as a `K`.
    pub(super) fn get<K: Send + Sync + 'static>(&self) -> Option<Arc<K>> {
        let mut slot = self.0.lock();
        let decoded = slot.as_mut()?;
        decoded.was_read = true;
        let object = decoded.object.clone();
        drop(slot);
        object.downcast().ok()
    }

    /// Drops the decoded object.
    pub(super) fn clear(&self) {
        drop(self.0.lock().take());
    }

    /// Removes and returns the decoded object, unless it was read since the last attempt.
    fn take_unread(&self) -> Result<Option<Box<DecodedValue>>, WasRead> {
        let mut slot = self.0.lock();
        if let Some(decoded) = &mut *slot
            && std::mem::take(&mut decoded.was_read)
        {
            return Err(WasRead);
        }
        Ok(slot.take())
    }

    fn is_filled(&self) -> bool {
        self.0.lock().is_some()
    }
}

struct WasRead;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Kind as _, cache::scan::Scanner};

    fn objects(count: usize) -> Vec<Arc<StoredObject>> {
        let info = k8s_openapi::api::core::v1::Node::info();
        let object = |number| {
            let json = format!(r#"{{"metadata":{{"name":"n{number:04}"}}}}"#);
            Arc::new(Scanner::new(&info).object(json.as_bytes(), &[]).unwrap())
        };
        (0..count).map(object).collect()
    }

    fn charge(object: &StoredObject) -> usize {
        CHARGE_PER_JSON_BYTE * object.payload.length()
    }

    /// The positions of the objects that are cached.
    fn cached(objects: &[Arc<StoredObject>]) -> Vec<usize> {
        let filled = objects
            .iter()
            .enumerate()
            .filter(|(_, object)| object.decoded.is_filled());
        filled.map(|(position, _)| position).collect()
    }

    #[test]
    fn factories_share_32_mib_unless_they_set_a_budget() {
        let [one, other, own] = [(); 3].map(|()| DecodedCacheHandle::default());
        own.set_budget(7);
        assert!(std::ptr::eq(one.cache(), other.cache()));
        assert_eq!(one.cache().budget_bytes.load(Ordering::Relaxed), 33_554_432);
        assert_eq!(own.cache().budget_bytes.load(Ordering::Relaxed), 7);
    }

    #[test]
    fn object_is_charged_eight_times_its_json() {
        let (cache, objects) = (DecodedCache::new(1 << 20), objects(1));
        cache.insert(&objects[0], Arc::new(0u8));
        let json = r#"{"metadata":{"name":"n0000"},"apiVersion":"v1","kind":"Node"}"#;
        assert_eq!(cache.charged_bytes(), 8 * json.len());
    }

    #[test]
    fn oldest_unread_object_is_evicted_first() {
        let objects = objects(6);
        let cache = DecodedCache::new(4 * charge(&objects[0]));
        for object in &objects[..4] {
            cache.insert(object, Arc::new(0u8));
        }
        assert_eq!(objects[0].decoded.get::<u8>(), Some(Arc::new(0)));
        cache.insert(&objects[4], Arc::new(0u8));
        assert_eq!(cached(&objects), [0, 2, 3, 4]);
        assert_eq!(cache.charged_bytes(), 4 * charge(&objects[0]));
        cache.insert(&objects[5], Arc::new(0u8));
        assert_eq!(cached(&objects), [0, 3, 4, 5]);
        for object in &objects {
            object.decoded.get::<u8>();
        }
        cache.set_budget(0);
        assert_eq!((cached(&objects), cache.charged_bytes()), (vec![], 0));
    }

    #[test]
    fn dropped_objects_are_not_charged_and_their_entries_are_removed() {
        let cache = DecodedCache::new(1 << 20);
        for object in objects(1000) {
            cache.insert(&object, Arc::new(0u8));
        }
        assert_eq!(cache.charged_bytes(), 0);
        let length = cache.clock.lock().objects.len();
        assert!(length < 200, "{length}");
        let objects = objects(2);
        cache.insert(&objects[0], Arc::new(0u8));
        objects[0].decoded.clear();
        assert_eq!(cache.charged_bytes(), 0);
    }

    #[test]
    fn object_is_cached_as_the_first_type_it_is_read_as() {
        let (cache, objects) = (DecodedCache::new(1 << 20), objects(1));
        cache.insert(&objects[0], Arc::new(1u8));
        cache.insert(&objects[0], Arc::new("other"));
        assert_eq!(objects[0].decoded.get::<&str>(), None);
        assert_eq!(objects[0].decoded.get::<u8>(), Some(Arc::new(1)));
        assert_eq!(cache.charged_bytes(), charge(&objects[0]));
    }

    #[test]
    fn object_larger_than_the_budget_is_cached_only_permanently() {
        let objects = objects(2);
        let cache = DecodedCache::new(charge(&objects[0]) - 1);
        cache.insert(&objects[0], Arc::new(0u8));
        cache.insert_permanent(&objects[1], Arc::new(0u8));
        cache.set_budget(0);
        assert_eq!((cached(&objects), cache.charged_bytes()), (vec![1], 0));
    }
}

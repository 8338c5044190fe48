//! Objects that stay decoded because somebody reads them.

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

/// What a decoded object is charged for each byte of its JSON: about what structs, maps and strings of Pods take.
const CHARGE: usize = 8;

/// What decoded objects of the process may take, in bytes, but for those of factories that have a budget of their own.
const BUDGET: usize = 32 << 20;

static PROCESS: LazyLock<DecodedCache> = LazyLock::new(|| DecodedCache::new(BUDGET));

/// Where the informers of a factory keep decoded objects: with those of all others, or by themselves.
#[derive(Debug, Default)]
pub(super) struct DecodedCacheHandle(OnceLock<DecodedCache>);

impl DecodedCacheHandle {
    /// From now on in a set of its own. What was kept before stays where it is.
    pub(super) fn set_budget(&self, bytes: usize) {
        self.0.get_or_init(|| DecodedCache::new(bytes)).set_budget(bytes);
    }

    pub(super) fn set(&self) -> &DecodedCache {
        self.0.get().unwrap_or(&PROCESS)
    }
}

/// Decoded objects, within a budget of memory.
///
/// Which ones go when it is full: those that were not read since they were last looked at, the oldest first.
#[derive(Debug)]
pub(super) struct DecodedCache {
    budget: AtomicUsize,
    charged: Arc<AtomicUsize>,
    admitted: Mutex<Admitted>,
}

/// What was admitted, the oldest first; some of it has gone by itself.
#[derive(Debug, Default)]
struct Admitted {
    objects: VecDeque<Weak<StoredObject>>,
    /// At this length, what has gone is taken out.
    sweep_at: usize,
}

/// The place of an object's decoded form.
#[derive(Debug, Default)]
pub(super) struct DecodedEntry(Mutex<Option<Box<Decoded>>>);

#[derive(Debug)]
struct Decoded {
    object: Arc<dyn Any + Send + Sync>,
    charge: usize,
    charged: Arc<AtomicUsize>,
    /// Whether somebody asked for it since it was last looked at.
    was_read: bool,
}

impl Drop for Decoded {
    fn drop(&mut self) {
        self.charged.fetch_sub(self.charge, Ordering::Relaxed);
    }
}

impl DecodedCache {
    /// `budget` in bytes.
    fn new(budget: usize) -> Self {
        Self {
            budget: budget.into(),
            charged: Arc::default(),
            admitted: Mutex::default(),
        }
    }

    fn set_budget(&self, bytes: usize) {
        self.budget.store(bytes, Ordering::Relaxed);
        self.make_room();
    }

    /// Bytes that are charged now.
    fn charged(&self) -> usize {
        self.charged.load(Ordering::Relaxed)
    }

    /// Keeps `decoded` for readers of the object, until the object changes or there is no room.
    pub(super) fn admit(&self, object: &Arc<StoredObject>, decoded: Arc<dyn Any + Send + Sync>) {
        let charge = object.payload.length().saturating_mul(CHARGE);
        if charge > self.budget.load(Ordering::Relaxed) {
            return;
        }
        if self.put(object, decoded, charge) {
            self.admitted.lock().push(object);
            self.make_room();
        }
    }

    /// Keeps `decoded` as long as the object lives, whatever the budget.
    pub(super) fn pin(&self, object: &StoredObject, decoded: Arc<dyn Any + Send + Sync>) {
        self.put(object, decoded, 0);
    }

    /// Says whether the place was free. What is kept already stays: an object that is read as two types is kept as the first.
    fn put(&self, object: &StoredObject, decoded: Arc<dyn Any + Send + Sync>, charge: usize) -> bool {
        let mut place = object.slot.0.lock();
        if place.is_some() {
            return false;
        }
        self.charged.fetch_add(charge, Ordering::Relaxed);
        *place = Some(Box::new(Decoded {
            object: decoded,
            charge,
            charged: self.charged.clone(),
            was_read: false,
        }));
        true
    }

    fn make_room(&self) {
        let budget = self.budget.load(Ordering::Relaxed);
        let mut gone: Vec<Box<Decoded>> = Vec::new();
        let mut excess = self.charged().saturating_sub(budget);
        let mut admitted = self.admitted.lock();
        // Once round, each may be spared for having been read; at the second time nobody is.
        for _ in 0..2 * admitted.objects.len() {
            if excess == 0 {
                break;
            }
            let Some(object) = admitted.objects.pop_front() else {
                break;
            };
            let Some(stored) = object.upgrade() else { continue };
            match stored.slot.take_unread() {
                Err(WasRead) => admitted.objects.push_back(object),
                Ok(decoded) => {
                    excess = excess.saturating_sub(decoded.as_ref().map_or(0, |decoded| decoded.charge));
                    gone.extend(decoded);
                }
            }
        }
        drop(admitted);
        // Only now, without the lock: what a type does when it is dropped is not ours.
        drop(gone);
    }
}

impl Admitted {
    fn push(&mut self, object: &Arc<StoredObject>) {
        if self.objects.len() >= self.sweep_at {
            self.objects
                .retain(|object| object.upgrade().is_some_and(|object| object.slot.is_filled()));
            self.sweep_at = 2 * self.objects.len() + 64;
        }
        self.objects.push_back(Arc::downgrade(object));
    }
}

impl DecodedEntry {
    /// The decoded object, if it is kept as a `K`.
    pub(super) fn get<K: Send + Sync + 'static>(&self) -> Option<Arc<K>> {
        let mut place = self.0.lock();
        let decoded = place.as_mut()?;
        decoded.was_read = true;
        let object = decoded.object.clone();
        drop(place);
        object.downcast().ok()
    }

    /// Forgets the decoded object.
    pub(super) fn clear(&self) {
        drop(self.0.lock().take());
    }

    /// Takes the decoded object out, unless it was read since this was last tried.
    fn take_unread(&self) -> Result<Option<Box<Decoded>>, WasRead> {
        let mut place = self.0.lock();
        if let Some(decoded) = &mut *place
            && std::mem::take(&mut decoded.was_read)
        {
            return Err(WasRead);
        }
        Ok(place.take())
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
        CHARGE * object.payload.length()
    }

    fn kept(objects: &[Arc<StoredObject>]) -> Vec<usize> {
        let filled = objects
            .iter()
            .enumerate()
            .filter(|(_, object)| object.slot.is_filled());
        filled.map(|(position, _)| position).collect()
    }

    #[test]
    fn all_factories_share_32_mib_until_they_have_a_budget_of_their_own() {
        let [one, other, own] = [(); 3].map(|()| DecodedCacheHandle::default());
        own.set_budget(7);
        assert!(std::ptr::eq(one.set(), other.set()));
        assert_eq!(one.set().budget.load(Ordering::Relaxed), 33_554_432);
        assert_eq!(own.set().budget.load(Ordering::Relaxed), 7);
    }

    #[test]
    fn an_object_is_charged_eight_times_its_json() {
        let (hot, objects) = (DecodedCache::new(1 << 20), objects(1));
        hot.admit(&objects[0], Arc::new(0u8));
        let json = r#"{"metadata":{"name":"n0000"},"apiVersion":"v1","kind":"Node"}"#;
        assert_eq!(hot.charged(), 8 * json.len());
    }

    #[test]
    fn the_oldest_that_nobody_read_goes_first() {
        let objects = objects(6);
        let hot = DecodedCache::new(4 * charge(&objects[0]));
        for object in &objects[..4] {
            hot.admit(object, Arc::new(0u8));
        }
        assert_eq!(objects[0].slot.get::<u8>(), Some(Arc::new(0)));
        hot.admit(&objects[4], Arc::new(0u8));
        assert_eq!(kept(&objects), [0, 2, 3, 4]);
        assert_eq!(hot.charged(), 4 * charge(&objects[0]));
        hot.admit(&objects[5], Arc::new(0u8));
        assert_eq!(kept(&objects), [0, 3, 4, 5]);
        for object in &objects {
            object.slot.get::<u8>();
        }
        hot.set_budget(0);
        assert_eq!((kept(&objects), hot.charged()), (vec![], 0));
    }

    #[test]
    fn what_goes_by_itself_is_charged_no_more_and_leaves_nothing_behind() {
        let hot = DecodedCache::new(1 << 20);
        for object in objects(1000) {
            hot.admit(&object, Arc::new(0u8));
        }
        assert_eq!(hot.charged(), 0);
        let length = hot.admitted.lock().objects.len();
        assert!(length < 200, "{length}");
        let objects = objects(2);
        hot.admit(&objects[0], Arc::new(0u8));
        objects[0].slot.clear();
        assert_eq!(hot.charged(), 0);
    }

    #[test]
    fn an_object_is_kept_as_the_first_type_it_is_read_as() {
        let (hot, objects) = (DecodedCache::new(1 << 20), objects(1));
        hot.admit(&objects[0], Arc::new(1u8));
        hot.admit(&objects[0], Arc::new("other"));
        assert_eq!(objects[0].slot.get::<&str>(), None);
        assert_eq!(objects[0].slot.get::<u8>(), Some(Arc::new(1)));
        assert_eq!(hot.charged(), charge(&objects[0]));
    }

    #[test]
    fn what_is_larger_than_the_budget_is_not_kept_and_what_is_pinned_is() {
        let objects = objects(2);
        let hot = DecodedCache::new(charge(&objects[0]) - 1);
        hot.admit(&objects[0], Arc::new(0u8));
        hot.pin(&objects[1], Arc::new(0u8));
        hot.set_budget(0);
        assert_eq!((kept(&objects), hot.charged()), (vec![1], 0));
    }
}

//! When what is compressed, and with which dictionary.

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
    settling: Arc<Compressor>,
    store: Store,
    scanner: Scanner,
}

impl World {
    fn new(off: bool) -> Self {
        let info = k8s_openapi::api::core::v1::ConfigMap::info();
        Self {
            settling: Arc::new(Compressor::new(off)),
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
        let older = inner.older.iter().map(|(older, _)| older);
        inner.newest.iter().chain(older).cloned().collect()
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
        let name = crate::NamespacedName::namespaced("shop", format!("o{}", 12 * replica));
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
    let name = crate::NamespacedName::namespaced("shop", "o0");
    let held = world.store.get(&name).unwrap();
    world.arrive(0..1, 2);
    assert!(!Arc::ptr_eq(&held, &world.store.get(&name).unwrap()));
    assert!(held.payload.raw().is_some(), "it is fresh");
    world.arrive(1..3000, 2);
    assert!(held.payload.raw().is_none() && 2 * held.payload.kept() < held.payload.length());
    let json: serde_json::Value = serde_json::from_slice(&held.payload.json().unwrap()).unwrap();
    assert_eq!(json["metadata"]["resourceVersion"], "1");
}

#[tokio::test(start_paused = true)]
async fn who_keeps_an_outdated_version_is_in_the_way_of_a_new_dictionary_for_ten_minutes() {
    let mut world = World::new(false);
    world.arrive(0..5000, 1);
    let held = world
        .store
        .get(&crate::NamespacedName::namespaced("shop", "o7"))
        .unwrap();
    let first = held.payload.dictionary().unwrap();
    world.arrive(0..8000, 2);
    assert!(!world.settling.is_moving() && world.needed().len() == 1);
    let second = world.dictionaries()[0].clone();
    assert!(!Arc::ptr_eq(&first, &second));
    world.arrive(0..8000, 3);
    assert!(Arc::ptr_eq(&world.dictionaries()[0], &second));
    tokio::time::advance(HELD).await;
    world.arrive(0..8000, 3);
    assert!(!Arc::ptr_eq(&world.dictionaries()[0], &second));
    assert!(world.ratio() >= 3, "{}", world.ratio());
    let json: serde_json::Value = serde_json::from_slice(&held.payload.json().unwrap()).unwrap();
    assert_eq!(json["metadata"]["resourceVersion"], "1", "it can still be read");
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
        .get(&crate::NamespacedName::namespaced("shop", "o7"))
        .unwrap();
    let newest = &world.dictionaries()[0];
    assert!(Arc::ptr_eq(&other.payload.dictionary().unwrap(), newest));
}

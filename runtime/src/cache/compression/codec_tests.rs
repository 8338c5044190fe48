//! When objects are encoded, how, and with which dictionary.

use std::{collections::HashSet, time::Duration};

use serde_json::json;

use super::{
    super::{
        dictionary::Dictionary,
        policy::{MAX_DICTIONARY_HOLD, MAX_RECENT_BYTES, is_outdated},
    },
    *,
};
use crate::{
    Kind as _, NamespacedName,
    cache::{OwnerRef, fifo::Delta, scan::Scanner},
};

/// An object of about 1 KB. Objects of one `style` differ in a tenth, others have little in common; every twelfth has the same data.
fn object(scanner: &mut Scanner, number: usize, style: usize) -> StoredObject {
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
    scanner.object(json.to_string().as_bytes(), &[]).unwrap()
}

struct CodecFixture {
    codec: PayloadCodec,
    store: Arc<Store>,
    scanner: Scanner,
    /// Whether objects are without a controller, and so of one delta group; else they have the group of their name.
    is_one_group: bool,
}

impl CodecFixture {
    fn new(off: bool) -> Self {
        let info = k8s_openapi::api::core::v1::ConfigMap::info();
        let store = Arc::<Store>::default();
        Self {
            codec: PayloadCodec::new(store.clone(), off),
            store,
            scanner: Scanner::new(&info),
            is_one_group: false,
        }
    }

    fn encode(&mut self, number: usize, style: usize) -> Arc<StoredObject> {
        let mut object = object(&mut self.scanner, number, style);
        if !self.is_one_group {
            let uid = object.metadata.uid().into();
            object.metadata.owner_references = Some([owner(uid)].into());
        }
        let json = object.payload.json().unwrap();
        let owners = if self.is_one_group { 0 } else { number as u64 + 1 };
        self.codec.encode(object, owners, &json)
    }

    fn arrive(&mut self, numbers: std::ops::Range<usize>, style: usize) {
        for number in numbers {
            let object = self.encode(number, style);
            self.store.apply(vec![Delta::Upserted(object)], false);
        }
    }

    fn get(&self, number: usize) -> Arc<StoredObject> {
        let name = NamespacedName::namespaced("shop", format!("o{number}"));
        self.store.get(&name).unwrap()
    }

    fn dictionaries(&self) -> Vec<Arc<Dictionary>> {
        self.codec.state.lock().compressor.dictionaries()
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

fn owner(uid: Arc<str>) -> OwnerRef {
    OwnerRef {
        api_version: "v1".into(),
        kind: "Owner".into(),
        name: "owner".into(),
        uid,
        controller: true,
        block_owner_deletion: false,
    }
}

#[test]
fn recent_objects_stay_raw_and_older_ones_share_one_dictionary() {
    let mut fixture = CodecFixture::new(false);
    fixture.arrive(0..200, 1);
    assert_eq!((fixture.dictionaries().len(), fixture.ratio()), (0, 1));
    fixture.arrive(200..5000, 1);
    assert_eq!(fixture.dictionaries().len(), 1);
    let raw = fixture
        .store
        .all()
        .iter()
        .filter(|object| object.payload.kept() == object.payload.length())
        .count();
    let length = fixture.store.all().iter().next().unwrap().payload.length();
    // Names, and so objects, differ a little in length.
    assert!(
        raw.abs_diff(MAX_RECENT_BYTES / length) < 10,
        "{raw} of {length} bytes"
    );
    for object in fixture.store.all().iter() {
        let json: serde_json::Value = serde_json::from_slice(&object.payload.json().unwrap()).unwrap();
        assert_eq!(json["metadata"]["name"], *object.name().name());
    }
}

#[test]
fn replicas_become_differences_on_arrival_and_the_first_ones_later() {
    let mut fixture = CodecFixture::new(false);
    fixture.is_one_group = true;
    for replica in 0..1000 {
        fixture.arrive(12 * replica..12 * replica + 1, 1);
    }
    let raw = |fixture: &CodecFixture| {
        let all = fixture.store.all();
        all.iter().filter(|object| object.payload.is_raw()).count()
    };
    assert_eq!(raw(&fixture), 3);
    // The first ones are no longer recent, and the group still has its base.
    fixture.is_one_group = false;
    fixture.arrive(100_001..101_500, 2);
    for replica in 0..1000 {
        let object = fixture.get(12 * replica);
        let name = object.name();
        assert!(
            !object.payload.is_raw() && object.payload.dictionary().is_none(),
            "{name}"
        );
        let json: serde_json::Value = serde_json::from_slice(&object.payload.json().unwrap()).unwrap();
        assert_eq!(json["metadata"]["name"], *name.name());
    }
}

#[test]
fn nothing_is_encoded_after_switch_off() {
    let mut fixture = CodecFixture::new(false);
    fixture.is_one_group = true;
    fixture.codec.switch_off();
    for replica in 0..100 {
        fixture.arrive(12 * replica..12 * replica + 1, 1);
    }
    assert!(fixture.store.all().iter().all(|object| object.payload.is_raw()));
    assert_eq!(fixture.codec.base_bytes(), 0);
}

#[test]
fn objects_share_blocks_only_where_most_live_until_they_are_compressed() {
    let mut fixture = CodecFixture::new(false);
    let in_blocks = |fixture: &CodecFixture| fixture.codec.state.lock().compressor.most_outlive_recent();
    for _ in 0..3000 {
        fixture.arrive(0..2, 1);
    }
    assert!(!in_blocks(&fixture));
    fixture.arrive(0..3000, 1);
    assert!(in_blocks(&fixture));
    for _ in 0..3000 {
        fixture.arrive(0..2, 1);
    }
    assert!(!in_blocks(&fixture));
}

#[test]
fn codec_that_is_off_compresses_nothing() {
    let mut fixture = CodecFixture::new(true);
    fixture.arrive(0..3000, 1);
    assert_eq!((fixture.dictionaries().len(), fixture.ratio()), (0, 1));
}

#[test]
fn outdated_dictionary_is_replaced_and_there_are_never_three() {
    let mut fixture = CodecFixture::new(false);
    fixture.arrive(0..5000, 1);
    let first = Arc::downgrade(&fixture.dictionaries()[0]);
    for style in 2..5 {
        // The same names: stored objects change their style.
        fixture.arrive(0..8000, style);
        let dictionaries = fixture.dictionaries().len();
        assert!((1..=2).contains(&dictionaries), "{dictionaries}");
    }
    assert!(first.upgrade().is_none(), "nothing is left of the first style");
    assert!(fixture.ratio() >= 3, "{}", fixture.ratio());
}

#[test]
fn dictionary_is_outdated_below_seven_tenths_of_its_first_ratio() {
    for (ratio, expected) in [(7.1, false), (6.9, true), (12.0, false)] {
        assert_eq!(is_outdated(10.0, ratio), expected, "{ratio}");
    }
}

/// Counts stored objects only: more may arrive before all of the first dictionary's are re-encoded.
#[test]
fn stored_objects_never_need_more_than_two_dictionaries() {
    let mut fixture = CodecFixture::new(false);
    let mut most = 0;
    let (mut styles, mut next) = (0, 0);
    for (count, style) in [(6000, 1), (2200, 2), (2200, 3), (6000, 4)] {
        for _ in 0..count / 100 {
            fixture.arrive(next..next + 100, style);
            next += 100;
            let needed = fixture.needed();
            most = most.max(needed.len());
            styles += usize::from(needed.len() == 2 && fixture.codec.is_reencoding());
        }
    }
    assert_eq!(most, 2);
    assert!(styles > 20, "re-encoding takes a while: {styles}");
}

#[tokio::test(start_paused = true)]
async fn objects_are_reencoded_while_nothing_arrives() {
    let mut fixture = CodecFixture::new(false);
    fixture.arrive(0..5000, 1);
    while fixture.needed().len() < 2 {
        fixture.arrive(10_000..12_000, 2);
        fixture.arrive(10_000..12_000, 3);
    }
    let started = tokio::time::Instant::now();
    while fixture.codec.is_reencoding() {
        fixture.codec.reencoding_due().await;
        fixture.codec.reencode_some();
    }
    assert_eq!((fixture.needed().len(), fixture.dictionaries().len()), (1, 1));
    assert!(started.elapsed() < Duration::from_secs(5));
}

#[test]
fn outdated_version_that_a_reader_holds_is_compressed_too() {
    let mut fixture = CodecFixture::new(false);
    fixture.arrive(0..1, 1);
    let held = fixture.get(0);
    fixture.arrive(0..1, 2);
    assert!(!Arc::ptr_eq(&held, &fixture.get(0)));
    assert!(held.payload.raw().is_some(), "it is recent");
    fixture.arrive(1..3000, 2);
    assert!(held.payload.raw().is_none() && 2 * held.payload.kept() < held.payload.length());
    let json: serde_json::Value = serde_json::from_slice(&held.payload.json().unwrap()).unwrap();
    assert_eq!(json["metadata"]["resourceVersion"], "1");
}

#[tokio::test(start_paused = true)]
async fn held_outdated_version_delays_a_new_dictionary_for_ten_minutes() {
    let mut fixture = CodecFixture::new(false);
    fixture.arrive(0..5000, 1);
    let held = fixture.get(7);
    let first = held.payload.dictionary().unwrap();
    fixture.arrive(0..8000, 2);
    assert!(!fixture.codec.is_reencoding() && fixture.needed().len() == 1);
    let second = fixture.dictionaries()[0].clone();
    assert!(!Arc::ptr_eq(&first, &second));
    fixture.arrive(0..8000, 3);
    assert!(Arc::ptr_eq(&fixture.dictionaries()[0], &second));
    tokio::time::advance(MAX_DICTIONARY_HOLD).await;
    fixture.arrive(0..8000, 3);
    assert!(!Arc::ptr_eq(&fixture.dictionaries()[0], &second));
    assert!(fixture.ratio() >= 3, "{}", fixture.ratio());
    let json: serde_json::Value = serde_json::from_slice(&held.payload.json().unwrap()).unwrap();
    assert_eq!(json["metadata"]["resourceVersion"], "1", "it can still be read");
}

#[test]
fn stored_objects_are_reencoded_as_others_arrive() {
    let mut fixture = CodecFixture::new(false);
    fixture.arrive(0..3000, 1);
    let first = Arc::downgrade(&fixture.dictionaries()[0]);
    fixture.arrive(10_000..16_000, 2);
    assert!(first.upgrade().is_none(), "no object needs it");
    let other = fixture.get(7);
    let newest = &fixture.dictionaries()[0];
    assert!(Arc::ptr_eq(&other.payload.dictionary().unwrap(), newest));
}

/// Unchanged objects between the changed ones of a relist leave no gaps between the new payloads.
#[test]
fn raw_payloads_that_arrive_one_after_another_lie_close_together() {
    const LENGTH: usize = 8_000;
    let mut fixture = CodecFixture::new(false);
    fixture.arrive(0..3000, 1);
    let text = |seed: usize| {
        let digest = |part: usize| {
            format!(
                "{:016x}",
                (seed * LENGTH + part + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15)
            )
        };
        (0..LENGTH / 16).map(digest).collect::<String>()
    };
    let objects: Vec<_> = (0..400)
        .map(|number| {
            let json = json!({
                "metadata": {"namespace": "shop", "name": format!("n{number}"), "uid": "u", "resourceVersion": "1"},
                "text": text(number),
            });
            let json = json.to_string();
            let object = fixture.scanner.object(json.as_bytes(), &[]).unwrap();
            // Only every tenth is kept.
            (number % 10 == 0).then(|| fixture.codec.encode(object, 0, json.as_bytes()))
        })
        .collect();
    let mut addresses: Vec<_> = objects
        .iter()
        .flatten()
        .filter_map(|object| Some(object.payload.raw()?.as_ptr() as usize))
        .collect();
    // A base is encoded as the difference to itself.
    assert!(addresses.len() > 35, "they are recent");
    addresses.sort_unstable();
    let gaps = addresses.windows(2).filter(|pair| pair[1] - pair[0] > 2 * LENGTH);
    assert!(gaps.count() < 10);
}

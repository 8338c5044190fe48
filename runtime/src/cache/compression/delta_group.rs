//! Which objects are kept as differences, and to what.
//!
//! A family are the objects that one controller made, or all of the kind that none made. When several of a family have come, one is its
//! exemplar; the others are kept as their difference to it, where they are alike: those that come later at once, the earlier ones when their
//! time has come.

use std::{hash::BuildHasher as _, sync::Arc};

use hashbrown::{DefaultHashBuilder, HashMap};

use crate::cache::{Metadata, OwnerRef, prefetch};

use super::{delta_encoding::difference, group_cache::GroupCache};

/// An exemplar is not worth its room before so many objects of its family have come.
const MEMBERS: u32 = 4;
/// After an exemplar that fitted few, so many times more must come before the next one is chosen, up to `PATIENT`.
const SLOWER: u32 = 4;
const PATIENT: u32 = 1 << 14;
/// A difference longer than this part of the object is none: the dictionary does as well.
const PART: usize = 5;
/// Exemplars take this part of the bytes of what came, and no less than `LEAST`.
const SHARE: usize = 8;
const LEAST: usize = 256 * 1024;
/// Families are looked through when so many objects have come, and as many as there are families.
const FORGOTTEN_AFTER: usize = 10_000;

/// The JSON of what others are kept as differences to.
pub(super) type Base = Arc<[u8]>;

/// The steps, and from what they lead to the object.
type Difference = (Box<[u8]>, Base);

/// The families of a kind.
#[derive(Debug, Default)]
pub(super) struct Families {
    hasher: DefaultHashBuilder,
    known: HashMap<u64, DeltaGroup>,
    shortcuts: GroupCache,
    /// Of the exemplars.
    bytes: usize,
    buffer: Vec<u8>,
    /// So many came since families were forgotten.
    arrived: usize,
    /// Of all that ever came.
    arrived_bytes: usize,
    /// Of what is in the store.
    stored_bytes: usize,
}

#[derive(Debug)]
struct DeltaGroup {
    exemplar: Option<Base>,
    /// So many are to come before there is an exemplar.
    wait: u32,
    /// How long it waited for this one.
    waited: u32,
    fitted: u32,
    failed: u32,
    /// Of the object that came last: one that changes over and over is no family.
    last: u64,
}

impl DeltaGroup {
    const fn waiting(wait: u32) -> Self {
        Self {
            exemplar: None,
            wait,
            waited: wait,
            fitted: 0,
            failed: 0,
            last: 0,
        }
    }

    /// The difference to the exemplar, if there is one that fits.
    fn difference(&mut self, json: &[u8], buffer: &mut Vec<u8>) -> Option<Difference> {
        let exemplar = self.exemplar.as_ref()?;
        buffer.clear();
        if !difference(exemplar, json, json.len() / PART, buffer) {
            return None;
        }
        self.fitted = self.fitted.saturating_add(1);
        Some((buffer.as_slice().into(), exemplar.clone()))
    }

    /// Whether the exemplar fits hardly any.
    fn is_poor(&self) -> bool {
        self.failed > 8 + 2 * self.fitted
    }
}

impl Families {
    /// Takes note of the length of all objects in the store.
    pub(super) fn stored(&mut self, bytes: usize) {
        self.stored_bytes = bytes;
    }

    /// A new object as its difference to its family's exemplar, if that is short.
    ///
    /// `owners` is a digest of its owner references.
    pub(super) fn at_once(&mut self, owners: u64, metadata: &Metadata, json: &[u8]) -> Option<Difference> {
        self.arrived += 1;
        self.arrived_bytes = self.arrived_bytes.saturating_add(json.len());
        if self.arrived >= FORGOTTEN_AFTER.max(self.known.len()) {
            self.forget_unused();
        }
        let shortcut = self.shortcuts.get(owners).map(|shortcut| shortcut.family);
        let number = shortcut.unwrap_or_else(|| self.family_of(metadata.controller()));
        let family = self
            .known
            .entry(number)
            .or_insert_with(|| DeltaGroup::waiting(MEMBERS));
        if family.exemplar.is_none() {
            let name = self.hasher.hash_one(metadata.name());
            family.wait -= u32::from(family.last != name && family.wait > 0);
            family.last = name;
            if family.wait > 0 {
                return None;
            }
            // During the first list the store is empty.
            let all = match self.stored_bytes {
                0 => self.arrived_bytes,
                all => all,
            };
            if self.bytes + json.len() > LEAST.max(all / SHARE) {
                return None;
            }
            self.bytes += json.len();
            family.exemplar = Some(json.into());
        }
        let difference = family.difference(json, &mut self.buffer);
        if let Some((_, exemplar)) = &difference {
            self.shortcuts.set(owners, number, exemplar);
        } else {
            family.failed += 1;
            if family.is_poor() {
                self.bytes -= family.exemplar.as_ref().map_or(0, |exemplar| exemplar.len());
                *family = DeltaGroup::waiting((family.waited * SLOWER).min(PATIENT));
                self.shortcuts.forget();
            }
        }
        difference
    }

    /// The same of an object that came some time ago: its family may have an exemplar now.
    pub(super) fn later(&mut self, metadata: &Metadata, json: &[u8]) -> Option<Difference> {
        let family = self.known.get_mut(&self.family_of(metadata.controller()))?;
        family.difference(json, &mut self.buffer)
    }

    /// Forgets families of which no object is left, and those that never came to something.
    fn forget_unused(&mut self) {
        self.arrived = 0;
        // They hold exemplars, too.
        self.shortcuts.forget();
        let bytes = &mut self.bytes;
        self.known.retain(|_, family| match &family.exemplar {
            Some(exemplar) if Arc::strong_count(exemplar) == 1 => {
                *bytes -= exemplar.len();
                false
            }
            Some(_) => true,
            // Others are to be waited for longer.
            None => family.waited > MEMBERS,
        });
    }

    /// The bytes of all exemplars.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Has the processor read meanwhile what an object with these owners will be compared with.
    pub(super) fn fetch(&self, owners: u64) {
        if let Some(shortcut) = self.shortcuts.get(owners) {
            prefetch::text(&shortcut.exemplar);
        }
    }

    fn family_of(&self, controller: Option<&OwnerRef>) -> u64 {
        self.hasher.hash_one(controller.map(|owner| &owner.uid))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{super::delta_encoding::restore, *};
    use crate::{
        Kind as _,
        cache::{object::StoredObject, scan::Scanner},
    };

    /// A Pod of a controller, or of none; `template` says what it shares with others.
    fn pod(number: usize, owner: Option<usize>, template: usize) -> StoredObject {
        let digest = |seed: usize| format!("{:016x}", seed.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        let owner = owner.map(|owner| {
            json!([{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "rs", "uid": digest(owner), "controller": true}])
        });
        let environment: Vec<_> = (0..40)
            .map(|entry| json!({"name": digest(template * 1000 + entry), "value": digest(template * 2000 + entry)}))
            .collect();
        let pod = json!({
            "metadata": {
                "namespace": "shop", "name": format!("p{number}"), "uid": digest(number + 77), "resourceVersion": "1",
                "ownerReferences": owner,
            },
            "spec": {"containers": [{"name": "c", "env": environment}]},
        });
        let mut scanner = Scanner::new(&k8s_openapi::api::core::v1::Pod::info());
        scanner.object(pod.to_string().as_bytes(), &[]).unwrap()
    }

    fn owners(pod: &StoredObject) -> u64 {
        let uid = pod.metadata.controller().map_or("0", |owner| &owner.uid);
        u64::from_str_radix(uid, 16).unwrap()
    }

    fn arrive(families: &mut Families, pod: &StoredObject) -> Option<Difference> {
        let json = pod.payload.raw().unwrap();
        let difference = families.at_once(owners(pod), &pod.metadata, &json);
        if let Some((bytes, exemplar)) = &difference {
            let mut restored = Vec::new();
            restore(exemplar, bytes, &mut restored).unwrap();
            assert_eq!(restored, json);
            assert!(bytes.len() < json.len() / 20, "{} of {}", bytes.len(), json.len());
        }
        difference
    }

    #[test]
    fn each_family_has_an_exemplar_once_it_is_large_enough() {
        let mut families = Families::default();
        for number in 0..100 {
            for owner in [None, Some(1), Some(2)] {
                let template = owner.unwrap_or_default();
                let pod = pod(number, owner, template);
                let kept = arrive(&mut families, &pod);
                assert_eq!(kept.is_some(), number + 1 >= MEMBERS as usize, "{number}");
            }
        }
        assert_eq!(families.known.len(), 3);
    }

    #[test]
    fn an_object_that_changes_over_and_over_is_no_family() {
        let mut families = Families::default();
        let pod = pod(1, Some(1), 1);
        assert!((0..100).all(|_| arrive(&mut families, &pod).is_none()));
    }

    #[test]
    fn a_family_whose_template_changed_gets_another_exemplar_and_one_without_any_is_left_alone() {
        let mut families = Families::default();
        let mut kept = |numbers: std::ops::Range<usize>, template: &dyn Fn(usize) -> usize| {
            let arrived = numbers.map(|number| arrive(&mut families, &pod(number, None, template(number))));
            arrived.flatten().count()
        };
        assert!(kept(0..50, &|_| 1) > 40);
        assert!(kept(50..400, &|_| 2) > 200, "they are alike again");
        // From here on no two are alike: hardly anybody is made an exemplar.
        let alone = kept(1000..3000, &|number| number);
        assert!(alone < 10, "{alone}");
    }

    /// Those of two families whose digests are the same by chance are compared with one exemplar, and kept as a difference if they fit.
    #[test]
    fn what_is_compared_with_another_familys_exemplar_is_not_lost() {
        let mut families = Families::default();
        for number in 0..200 {
            let pod = pod(number, Some(number % 2), number % 2);
            let json = pod.payload.raw().unwrap();
            if let Some((bytes, exemplar)) = families.at_once(7, &pod.metadata, &json) {
                let mut restored = Vec::new();
                restore(&exemplar, &bytes, &mut restored).unwrap();
                assert_eq!(restored, json);
            }
        }
    }

    #[test]
    fn a_family_for_which_there_was_no_room_has_its_exemplar_as_soon_as_there_is() {
        let mut families = Families::default();
        let mut kept = |numbers: std::ops::Range<usize>, owner: usize, all: usize| {
            families.stored(all);
            let arrived = numbers.map(|number| {
                let pod = pod(number, Some(owner), owner);
                families.at_once(owners(&pod), &pod.metadata, &pod.payload.raw().unwrap())
            });
            arrived.flatten().count()
        };
        for owner in 0..300 {
            kept(0..10, owner, 1);
        }
        assert_eq!(kept(10..20, 299, 1), 0, "no room");
        assert_eq!(kept(20..30, 299, 1 << 30), 10);
    }

    #[test]
    fn exemplars_take_a_bounded_room_and_go_when_nobody_needs_them() {
        let mut families = Families::default();
        families.stored(1);
        let mut all = Vec::new();
        for owner in 0..1000 {
            for number in 0..10 {
                all.extend(arrive(
                    &mut families,
                    &pod(owner * 10 + number, Some(owner), owner),
                ));
            }
            assert!(families.bytes() <= LEAST);
        }
        assert!(families.bytes() > LEAST / 2 && all.len() > 100);
        families.forget_unused();
        assert!(families.bytes() > LEAST / 2);
        drop(all);
        families.forget_unused();
        assert_eq!(families.bytes(), 0);
    }
}

//! Which objects of a group are encoded as differences.

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

fn encode(groups: &mut DeltaGroups, pod: &StoredObject) -> Option<Difference> {
    let json = pod.payload.raw().unwrap();
    let difference = groups.encode_arriving(owners(pod), &pod.metadata, &json);
    if let Some((bytes, base)) = &difference {
        let mut restored = Vec::new();
        restore(base, bytes, &mut restored).unwrap();
        assert_eq!(restored, json);
        assert!(bytes.len() < json.len() / 20, "{} of {}", bytes.len(), json.len());
    }
    difference
}

#[test]
fn group_has_a_base_once_it_has_enough_members() {
    let mut groups = DeltaGroups::default();
    for number in 0..100 {
        for owner in [None, Some(1), Some(2)] {
            let template = owner.unwrap_or_default();
            let pod = pod(number, owner, template);
            let kept = encode(&mut groups, &pod);
            assert_eq!(
                kept.is_some(),
                number + 1 >= GROUP_MEMBERS_BEFORE_BASE as usize,
                "{number}"
            );
        }
    }
    assert_eq!(groups.groups.len(), 3);
}

#[test]
fn one_object_that_changes_over_and_over_is_no_group() {
    let mut groups = DeltaGroups::default();
    let pod = pod(1, Some(1), 1);
    assert!((0..100).all(|_| encode(&mut groups, &pod).is_none()));
}

#[test]
fn group_whose_template_changed_gets_another_base_and_one_of_unlike_objects_hardly_any() {
    let mut groups = DeltaGroups::default();
    let mut kept = |numbers: std::ops::Range<usize>, template: &dyn Fn(usize) -> usize| {
        let encoded = numbers.map(|number| encode(&mut groups, &pod(number, None, template(number))));
        encoded.flatten().count()
    };
    assert!(kept(0..50, &|_| 1) > 40);
    assert!(kept(50..400, &|_| 2) > 200, "they are alike again");
    // From here on no two are alike: hardly any object becomes a base.
    let alone = kept(1000..3000, &|number| number);
    assert!(alone < 10, "{alone}");
}

/// Objects of two groups whose owner digests are equal by chance are compared with one base, and encoded if they are like it.
#[test]
fn object_encoded_against_the_base_of_another_group_decodes() {
    let mut groups = DeltaGroups::default();
    for number in 0..200 {
        let pod = pod(number, Some(number % 2), number % 2);
        let json = pod.payload.raw().unwrap();
        if let Some((bytes, base)) = groups.encode_arriving(7, &pod.metadata, &json) {
            let mut restored = Vec::new();
            restore(&base, &bytes, &mut restored).unwrap();
            assert_eq!(restored, json);
        }
    }
}

#[test]
fn group_that_exceeded_the_limit_gets_its_base_when_the_store_grows() {
    let mut groups = DeltaGroups::default();
    let mut kept = |numbers: std::ops::Range<usize>, owner: usize, all: usize| {
        groups.set_stored_bytes(all);
        let encoded = numbers.map(|number| {
            let pod = pod(number, Some(owner), owner);
            groups.encode_arriving(owners(&pod), &pod.metadata, &pod.payload.raw().unwrap())
        });
        encoded.flatten().count()
    };
    for owner in 0..300 {
        kept(0..10, owner, 1);
    }
    assert_eq!(kept(10..20, 299, 1), 0, "no room");
    assert_eq!(kept(20..30, 299, 1 << 30), 10);
}

#[test]
fn bases_take_bounded_memory_and_are_dropped_when_unused() {
    let mut groups = DeltaGroups::default();
    groups.set_stored_bytes(1);
    let mut all = Vec::new();
    for owner in 0..1000 {
        for number in 0..10 {
            all.extend(encode(&mut groups, &pod(owner * 10 + number, Some(owner), owner)));
        }
        assert!(groups.bytes() <= MIN_BASES_BYTES);
    }
    assert!(groups.bytes() > MIN_BASES_BYTES / 2 && all.len() > 100);
    groups.drop_unused();
    assert!(groups.bytes() > MIN_BASES_BYTES / 2);
    drop(all);
    groups.drop_unused();
    assert_eq!(groups.bytes(), 0);
}

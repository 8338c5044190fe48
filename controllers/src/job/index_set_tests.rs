use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;

fn set(text: &str) -> IndexSet {
    IndexSet::parse(text, u32::MAX)
}

#[test]
fn texts_are_ranges_in_order() {
    for (text, completions, expected, len) in [
        ("", 10, "", 0),
        ("0", 10, "0", 1),
        ("0,1,2,5", 10, "0-2,5", 4),
        ("1,2", 10, "1,2", 2),
        ("0-3,4-6,8", 10, "0-6,8", 8),
        ("0,2-4", 4, "0,2,3", 3),
        ("0,2-4", 2, "0", 1),
        ("3-9", 0, "", 0),
        ("5", 5, "", 0),
        // What no controller writes.
        ("0,foo,2", 10, "0,2", 2),
        ("0,-1,2-", 10, "0", 1),
        ("5-3,7", 10, "7", 1),
        ("7,1-3,2", 10, "1-3,7", 4),
        ("1-99999999999", 10, "", 0),
        (",,4,", 10, "4", 1),
    ] {
        let set = IndexSet::parse(text, completions);
        assert_eq!(
            (set.to_string().as_str(), set.len()),
            (expected, len),
            "{text:?} {completions}"
        );
    }
}

#[test]
fn missing_indexes_are_listed_in_order() {
    for (text, completions, expected) in [
        ("", 3, &[0, 1, 2][..]),
        ("0,2", 4, &[1, 3]),
        ("0-3", 4, &[]),
        ("1-5", 3, &[0]),
        ("4294967295", 1, &[0]),
        ("", 0, &[]),
    ] {
        let missing: Vec<_> = set(text).missing(completions).collect();
        assert_eq!(missing, expected, "{text:?} {completions}");
    }
}

#[test]
fn whole_range_is_no_overflow() {
    let all = set("0-4294967295");
    assert!(all.contains(u32::MAX - 1) && all.contains(0));
    assert_eq!(all.with([u32::MAX]).len(), all.len() + 1);
    assert_eq!(all.missing(u32::MAX).count(), 0);
    assert_eq!(all.common(&set("5,7-9")), 4);
}

fn indexes() -> impl Strategy<Value = BTreeSet<u32>> {
    prop::collection::btree_set(0_u32..40, 0..30)
}

proptest! {
    #[test]
    fn set_behaves_like_a_btree_set(one in indexes(), two in indexes(), completions in 0_u32..50) {
        let (first, second) = (
            IndexSet::default().with(one.iter().copied()),
            IndexSet::default().with(two.iter().rev().copied()),
        );
        prop_assert_eq!(first.len(), one.len());
        prop_assert_eq!(first.is_empty(), one.is_empty());
        for index in 0..50 {
            prop_assert_eq!(first.contains(index), one.contains(&index));
        }
        let union = first.union(&second);
        prop_assert_eq!(&union, &IndexSet::default().with(one.union(&two).copied()));
        prop_assert_eq!(first.common(&second), one.intersection(&two).count());
        prop_assert_eq!(set(&union.to_string()), union.clone());
        let below: Vec<_> = (0..completions).filter(|index| !one.contains(index)).collect();
        prop_assert_eq!(first.missing(completions).collect::<Vec<_>>(), below);
    }

    #[test]
    fn no_text_panics(text in "[0-9,-]{0,30}", completions: u32) {
        let set = IndexSet::parse(&text, completions);
        prop_assert_eq!(IndexSet::parse(&set.to_string(), completions), set);
    }
}

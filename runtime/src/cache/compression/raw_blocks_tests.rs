//! Payloads in blocks, and when blocks are reused.

use std::collections::HashSet;

use super::{super::policy::MAX_RAW_IN_BLOCK_BYTES, *};

#[test]
fn payloads_of_any_length_keep_their_bytes() {
    let mut blocks = RawBlocks::default();
    let text = |length: usize| vec![b'a' + u8::try_from(length % 26).unwrap(); length];
    let lengths = [5000, 0, 1, MAX_RAW_IN_BLOCK_BYTES, 3]
        .into_iter()
        .cycle()
        .take(100);
    let payloads: Vec<_> = lengths
        .map(|length| (length, blocks.payload(&text(length))))
        .collect();
    for (length, payload) in payloads {
        assert_eq!((payload.length(), payload.kept()), (length, length));
        assert_eq!(payload.json().unwrap(), text(length));
    }
}

#[test]
fn freed_blocks_are_reused_before_new_ones_are_allocated() {
    let mut blocks = RawBlocks::default();
    let mut recent = VecDeque::new();
    for _ in 0..10_000 {
        recent.push_back(blocks.payload(&[b'a'; 4000]));
        if recent.len() > 40 {
            recent.pop_front();
        }
        assert!(blocks.full.len() <= 4, "{} blocks", blocks.full.len());
    }
}

#[test]
fn payload_that_is_held_long_does_not_stop_reuse_of_other_blocks() {
    let mut blocks = RawBlocks::default();
    let json = [b'a'; 4000];
    let held = blocks.payload(&json);
    let (mut recent, mut places) = (VecDeque::new(), HashSet::new());
    for _ in 0..10_000 {
        let payload = blocks.payload(&json);
        places.insert(payload.raw().unwrap().as_ptr() as usize / BLOCK_BYTES);
        recent.push_back(payload);
        if recent.len() > 100 {
            recent.pop_front();
        }
    }
    assert!(blocks.full.len() <= MAX_FULL_BLOCKS);
    // 40,000,000 bytes went through; a block may lie across two places.
    assert!(places.len() <= 2 * (MAX_FULL_BLOCKS + 2), "{}", places.len());
    assert_eq!(held.json().unwrap(), json[..]);
}

//! The encoding policy: in which form the JSON of each object is kept, and when that changes.
//!
//! | object | form |
//! |---|---|
//! | of a [sensitive](crate::cache::InformerOptions::sensitive) kind, or of an informer with `StorageMode::Raw` | raw; it is never part of a dictionary and never a base |
//! | like others of its controller (its delta group) | the difference to the group's base, from when it arrives |
//! | among the last [`MAX_RECENT_BYTES`] that arrived | raw: it is the most likely to be read or replaced soon |
//! | older | the difference to the group's base, if there is one by now; else compressed with the kind's dictionary; raw where that saves less than an eighth |
//! | compressed with an older dictionary | compressed again with the newest: some with each object that arrives, more while none does |
//!
//! The first dictionary is trained when the first object is no longer recent. Another is trained when objects compress clearly worse than
//! they did with the present one at first ([`is_outdated`]). There are at most two: what was compressed with the older one is compressed
//! again before there is a third. A dictionary is dropped when the last object that needs it is gone.
//!
//! A kind that is marked sensitive while its informer runs is raw from then on; what was encoded before is decoded in the store, and
//! whatever is on its way into it.

use std::time::Duration;

/// Bytes of JSON of the objects that arrived last and stay raw.
pub(super) const MAX_RECENT_BYTES: usize = 1 << 20;

/// Objects that a dictionary is trained on: more made it no better, and training took longer.
pub(super) const TRAINING_SAMPLES: usize = 24;
/// Compressed objects over which the compression ratio is taken.
pub(super) const RATIO_WINDOW_OBJECTS: usize = 1000;
/// A dictionary is outdated when the ratio falls below this part of what it was.
const OUTDATED_RATIO: f64 = 0.7;
/// How long an outdated version that a reader still holds may delay the next dictionary.
pub(super) const MAX_DICTIONARY_HOLD: Duration = Duration::from_mins(10);

/// Objects that are compressed again for each one that arrives.
pub(super) const REENCODED_PER_ARRIVAL: usize = 2;
/// Objects that maintenance compresses again at a time, every `REENCODE_INTERVAL`: 100,000 take half a minute, at a few percent of a core.
pub(super) const REENCODED_PER_STEP: usize = 32;
pub(super) const REENCODE_INTERVAL: Duration = Duration::from_millis(10);

/// Objects that were recent, over which it is decided whether raw objects share blocks of memory.
pub(super) const LIFETIME_WINDOW_OBJECTS: u32 = 64;

/// Longer raw payloads have memory of their own, instead of sharing a block.
pub(super) const MAX_RAW_IN_BLOCK_BYTES: usize = 16 * 1024;

/// Objects of a group that arrive before one becomes its base: for fewer a base is not worth its memory.
pub(super) const GROUP_MEMBERS_BEFORE_BASE: u32 = 4;
/// After a base that few objects resembled, so many times more must arrive before the next is chosen, up to `MAX_MEMBERS_BEFORE_BASE`.
pub(super) const POOR_BASE_FACTOR: u32 = 4;
pub(super) const MAX_MEMBERS_BEFORE_BASE: u32 = 1 << 14;
/// A difference is used if it is at most this part of the object: for others the dictionary does as well.
pub(super) const MAX_DIFFERENCE_PART: usize = 5;
/// Bases take at most this part of the bytes of all objects, or `MIN_BASES_BYTES` if that is more.
pub(super) const MAX_BASES_PART: usize = 8;
pub(super) const MIN_BASES_BYTES: usize = 256 * 1024;
/// Unused groups are dropped when so many objects have arrived, and as many as there are groups.
pub(super) const GROUP_CLEANUP_ARRIVALS: usize = 10_000;

/// Whether a dictionary should be replaced that once made objects `at_training` times smaller and makes them `ratio` times smaller now.
pub(super) fn is_outdated(at_training: f64, ratio: f64) -> bool {
    ratio < OUTDATED_RATIO * at_training
}

/// Whether a base resembles hardly any object of its group.
pub(super) fn is_poor_base(matched: u32, differed: u32) -> bool {
    differed > 8 + 2 * matched
}

//! Prefetches memory into the processor's cache while something else is done. A hint without any effect on results.
//!
//! Among 100,000 Pods an event costs 16 % more CPU without it; among 10,000 nothing that can be measured. See "Mechanisms" in
//! benches/README.md.

use std::{hint::black_box, slice};

use prefetch_index::prefetch_index;

const CACHE_LINE_BYTES: usize = 64;

/// Prefetches all of the text.
pub(super) fn text(text: &[u8]) {
    for at in (0..text.len()).step_by(CACHE_LINE_BYTES) {
        prefetch_index(text, at);
    }
}

/// Prefetches the first bytes of the value.
pub(super) fn start<T>(value: &T) {
    prefetch_index(slice::from_ref(value), 0);
}

/// Prefetches the first of these bytes.
pub(super) fn first(bytes: &[u8]) {
    prefetch_index(bytes, 0);
}

/// Reads the values, all at once. Use it where the address of a value must itself be read from memory.
pub(super) fn read(values: impl Iterator<Item = u64>) {
    black_box(values.fold(0, u64::wrapping_add));
}

//! Prefetches memory into the processor's cache while something else is done. A hint without any effect on results.

use std::slice;

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

//! Has the processor bring memory that will be read soon, while something else is done. A hint: nothing waits for it, and what is read
//! afterwards is the same without.

use std::slice;

use prefetch_index::prefetch_index;

/// What a processor brings at once.
const LINE: usize = 64;

/// All of the text.
pub(super) fn text(text: &[u8]) {
    for at in (0..text.len()).step_by(LINE) {
        prefetch_index(text, at);
    }
}

/// The first bytes of the value.
pub(super) fn start<T>(value: &T) {
    prefetch_index(slice::from_ref(value), 0);
}

/// The first of these bytes.
pub(super) fn first(bytes: &[u8]) {
    prefetch_index(bytes, 0);
}

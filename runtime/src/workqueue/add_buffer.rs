//! A buffer before the queue, so that producers do not contend with workers for the queue's lock and cache lines.

use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;

use super::{Priority, key_table::KeyHash};

/// A buffer of additions in their order. Every access to the queue's state drains it first, so that the buffer is not observable.
///
/// It has cache lines of its own: producers touch nothing else while workers are busy.
#[repr(align(128))]
pub(super) struct AddBuffer<K> {
    is_empty: AtomicBool,
    inner: Mutex<BufferedAdditions<K>>,
}

struct BufferedAdditions<K> {
    additions: Vec<Addition<K>>,
    /// Additions must go to the queue directly.
    is_closed: bool,
    capacity: usize,
}

/// An added key.
pub(super) struct Addition<K> {
    pub(super) hash: KeyHash,
    pub(super) key: K,
    pub(super) priority: Priority,
    pub(super) at: u64,
}

impl<K> AddBuffer<K> {
    /// Creates a buffer of at most `capacity` additions.
    pub(super) fn new(capacity: usize) -> Self {
        Self {
            is_empty: AtomicBool::new(true),
            inner: Mutex::new(BufferedAdditions {
                additions: Vec::new(),
                is_closed: false,
                capacity,
            }),
        }
    }

    /// Buffers an addition. Returns it if the buffer is closed or full.
    pub(super) fn push(&self, addition: Addition<K>) -> Option<Addition<K>> {
        let mut inner = self.inner.lock();
        if inner.is_closed || inner.additions.len() == inner.capacity {
            return Some(addition);
        }
        inner.additions.push(addition);
        self.is_empty.store(false, Ordering::Release);
        None
    }

    /// Swaps the buffered additions with the empty vector `drained`. Returns whether there were any.
    pub(super) fn drain(&self, drained: &mut Vec<Addition<K>>) -> bool {
        if self.is_empty.load(Ordering::Acquire) {
            return false;
        }
        self.exchange(&mut self.inner.lock(), drained);
        true
    }

    /// Opens or closes the buffer, and drains it in the same step.
    pub(super) fn set_closed(&self, is_closed: bool, drained: &mut Vec<Addition<K>>) {
        let mut inner = self.inner.lock();
        inner.is_closed = is_closed;
        self.exchange(&mut inner, drained);
    }

    fn exchange(&self, inner: &mut BufferedAdditions<K>, drained: &mut Vec<Addition<K>>) {
        std::mem::swap(&mut inner.additions, drained);
        self.is_empty.store(true, Ordering::Release);
    }
}

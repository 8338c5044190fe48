//! What was added and not yet taken up, so that who adds does not wait for who works, nor takes the queue's memory out of their caches.

use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;

use super::{Priority, keys::KeyHash};

/// Additions in their order. Whoever looks at the queue's state takes them up first, so nobody can tell them from those that were.
///
/// On lines of its own: it is all that producers touch while workers are busy.
#[repr(align(128))]
pub(super) struct Inbox<K> {
    is_empty: AtomicBool,
    /// Additions that it holds at most.
    capacity: usize,
    inner: Mutex<Inner<K>>,
}

struct Inner<K> {
    additions: Vec<Addition<K>>,
    /// What is added must be taken up at once.
    is_closed: bool,
}

/// A key that was added.
pub(super) struct Addition<K> {
    pub(super) hash: KeyHash,
    pub(super) key: K,
    pub(super) priority: Priority,
    pub(super) at: u64,
}

impl<K> Inbox<K> {
    pub(super) fn new(capacity: usize) -> Self {
        Self {
            is_empty: AtomicBool::new(true),
            capacity,
            inner: Mutex::new(Inner {
                additions: Vec::new(),
                is_closed: false,
            }),
        }
    }

    /// Puts an addition in. Gives it back if the inbox is closed or full.
    pub(super) fn put(&self, addition: Addition<K>) -> Option<Addition<K>> {
        let mut inner = self.inner.lock();
        if inner.is_closed || inner.additions.len() == self.capacity {
            return Some(addition);
        }
        inner.additions.push(addition);
        self.is_empty.store(false, Ordering::Release);
        None
    }

    /// Takes everything, and leaves `emptied` instead. What was put in before is among it. Answers whether there was anything.
    pub(super) fn take(&self, emptied: &mut Vec<Addition<K>>) -> bool {
        if self.is_empty.load(Ordering::Acquire) {
            return false;
        }
        self.exchange(&mut self.inner.lock(), emptied);
        true
    }

    /// Opens or closes the inbox, and takes everything. Nothing is put in afterwards that should not be there.
    pub(super) fn set_closed(&self, is_closed: bool, emptied: &mut Vec<Addition<K>>) {
        let mut inner = self.inner.lock();
        inner.is_closed = is_closed;
        self.exchange(&mut inner, emptied);
    }

    fn exchange(&self, inner: &mut Inner<K>, emptied: &mut Vec<Addition<K>>) {
        std::mem::swap(&mut inner.additions, emptied);
        self.is_empty.store(true, Ordering::Release);
    }
}

//! Batches the wakes of tasks until the end of the work that causes them.
//!
//! Without it a watch event costs 11 to 17 % more CPU on the whole path: see "Mechanisms" in benches/README.md.

use std::{cell::RefCell, task::Waker};

thread_local! {
    /// The wakers to call at the end of the batch; none outside of a batch.
    static DEFERRED: RefCell<Option<Vec<Waker>>> = const { RefCell::new(None) };
}

/// Runs `work`, and afterwards wakes the tasks of each [`defer_wake`] that it called on this thread.
///
/// Otherwise the first of many keys wakes a worker, which processes it before the second is added, sleeps again, and so on: to wake a
/// thread costs more than to distribute a change. `work` must not wait for such a task.
pub(crate) fn batch_wakes<T>(work: impl FnOnce() -> T) -> T {
    let is_outermost = DEFERRED.with_borrow_mut(|deferred| {
        let is_outermost = deferred.is_none();
        deferred.get_or_insert_default();
        is_outermost
    });
    // Also if it panics.
    let _end = is_outermost.then(|| BatchEnd);
    work()
}

/// Wakes a task at the end of the surrounding [`batch_wakes`]; at once outside of one.
pub(crate) fn defer_wake(waker: Waker) {
    let now = DEFERRED.with_borrow_mut(|deferred| match deferred {
        Some(deferred) => {
            deferred.push(waker);
            None
        }
        None => Some(waker),
    });
    now.into_iter().for_each(Waker::wake);
}

struct BatchEnd;

impl Drop for BatchEnd {
    fn drop(&mut self) {
        let deferred = DEFERRED.take().unwrap_or_default();
        deferred.into_iter().for_each(Waker::wake);
    }
}

#[cfg(test)]
#[path = "wake_batch_tests.rs"]
pub(crate) mod tests;

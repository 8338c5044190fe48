//! Batches the wakes of tasks until the end of the work that causes them.

use std::{cell::RefCell, task::Waker};

thread_local! {
    /// Wakers to be woken at the end of the batch; none outside of a batch.
    static DEFERRED: RefCell<Option<Vec<Waker>>> = const { RefCell::new(None) };
}

/// Runs `work`, and afterwards wakes the tasks of each [`defer_wake`] that it called on this thread.
///
/// Otherwise a worker is woken by the first of many keys, has processed it before the second is added, sleeps again, and so on: waking a
/// thread costs more than distributing a change. `work` must not wait for a woken task.
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
pub(crate) mod tests {
    use std::{
        panic::{AssertUnwindSafe, catch_unwind},
        sync::{
            Arc,
            atomic::{AtomicUsize, Ordering},
        },
        task::Wake,
    };

    use super::*;

    /// A task that counts its wakes.
    #[derive(Default)]
    pub(crate) struct WakeCounter(AtomicUsize);

    impl WakeCounter {
        pub(crate) fn wakes(&self) -> usize {
            self.0.load(Ordering::SeqCst)
        }
    }

    impl Wake for WakeCounter {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }

    #[test]
    fn deferred_wakes_happen_at_the_end_of_the_outermost_batch_also_after_a_panic() {
        let counter = Arc::new(WakeCounter::default());
        let (wakes, wakes_one) = (|| counter.wakes(), || defer_wake(counter.clone().into()));
        wakes_one();
        assert_eq!(wakes(), 1);
        batch_wakes(|| {
            batch_wakes(wakes_one);
            wakes_one();
            assert_eq!(wakes(), 1, "the outer batch goes on");
        });
        assert_eq!(wakes(), 3);
        let panicked = catch_unwind(AssertUnwindSafe(|| {
            batch_wakes(|| {
                wakes_one();
                panic!("as users' code does");
            })
        }));
        assert!(panicked.is_err());
        assert_eq!(wakes(), 4);
        wakes_one();
        assert_eq!(wakes(), 5);
    }
}

//! When deferred wakes happen.

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

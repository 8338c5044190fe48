//! Wakes that wait for the end of what causes them.

use std::{cell::RefCell, task::Waker};

thread_local! {
    /// Who is to be woken at the end; none where nobody waits for one.
    static HELD: RefCell<Option<Vec<Waker>>> = const { RefCell::new(None) };
}

/// Does `work`, and [wakes](wake) afterwards who was to be woken by it on this thread.
///
/// Else a worker is woken by the first of many keys, has done it before the second comes, sleeps again, and so on: to wake a thread costs
/// more than to tell of a change. `work` must not wait for any of them.
pub(crate) fn together<T>(work: impl FnOnce() -> T) -> T {
    let is_first = HELD.with_borrow_mut(|held| {
        let is_first = held.is_none();
        held.get_or_insert_default();
        is_first
    });
    // Also when it panics.
    let _end = is_first.then(|| End);
    work()
}

/// Wakes a task: now, or at the end of the work that is done [`together`].
pub(crate) fn wake(waker: Waker) {
    let now = HELD.with_borrow_mut(|held| match held {
        Some(held) => {
            held.push(waker);
            None
        }
        None => Some(waker),
    });
    now.into_iter().for_each(Waker::wake);
}

struct End;

impl Drop for End {
    fn drop(&mut self) {
        let held = HELD.take().unwrap_or_default();
        held.into_iter().for_each(Waker::wake);
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

    /// A task of which only counts how often it was woken.
    #[derive(Default)]
    pub(crate) struct Counted(AtomicUsize);

    impl Counted {
        pub(crate) fn wakes(&self) -> usize {
            self.0.load(Ordering::SeqCst)
        }
    }

    impl Wake for Counted {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }

    #[test]
    fn who_is_woken_by_many_is_woken_at_the_end_even_of_a_panic() {
        let counted = Arc::new(Counted::default());
        let (wakes, wakes_one) = (|| counted.wakes(), || wake(counted.clone().into()));
        wakes_one();
        assert_eq!(wakes(), 1);
        together(|| {
            together(wakes_one);
            wakes_one();
            assert_eq!(wakes(), 1, "the outer one counts");
        });
        assert_eq!(wakes(), 3);
        let panicked = catch_unwind(AssertUnwindSafe(|| {
            together(|| {
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

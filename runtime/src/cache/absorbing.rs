//! Parts of one task that wake one another without the scheduler.

use std::{
    future::poll_fn,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicU8, Ordering},
    },
    task::{Context, Poll, Wake, Waker},
};

use futures::task::AtomicWaker;
use tokio::task::coop::has_budget_remaining;

/// So often a future is polled before others have their turn.
const TURNS: usize = 64;

/// Nobody polls it.
const RESTING: u8 = 0;
const POLLING: u8 = 1;
/// It is to be polled (again).
const WOKEN: u8 = 2;

/// Polls `future` again where it wakes itself while it is polled.
///
/// To the scheduler such a task looks like one that yields: it puts it behind all others and wakes a thread that could take it, which costs
/// more than the work. Wakes from elsewhere are the task's, as ever.
pub(super) fn absorbing<F: Future>(future: F) -> Absorbing<F> {
    let gate = Arc::new(Gate {
        state: AtomicU8::new(RESTING),
        task: AtomicWaker::new(),
    });
    Absorbing {
        future: Box::pin(future),
        waker: gate.clone().into(),
        gate,
    }
}

/// Lets the other parts of the task go on first.
pub(super) async fn give_way() {
    let mut has_given = false;
    poll_fn(|cx| {
        if std::mem::replace(&mut has_given, true) {
            return Poll::Ready(());
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

pub(super) struct Absorbing<F> {
    future: Pin<Box<F>>,
    gate: Arc<Gate>,
    waker: Waker,
}

struct Gate {
    state: AtomicU8,
    task: AtomicWaker,
}

impl Wake for Gate {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if self.state.swap(WOKEN, Ordering::AcqRel) == RESTING {
            self.task.wake();
        }
    }
}

impl<F: Future> Future for Absorbing<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let this = &mut *self;
        this.gate.task.register(cx.waker());
        let mut inner = Context::from_waker(&this.waker);
        for _ in 0..TURNS {
            this.gate.state.store(POLLING, Ordering::Release);
            let output = this.future.as_mut().poll(&mut inner);
            let rests = || {
                this.gate
                    .state
                    .compare_exchange(POLLING, RESTING, Ordering::AcqRel, Ordering::Acquire)
                    .is_ok()
            };
            if output.is_ready() || rests() {
                return output;
            }
            if !has_budget_remaining() {
                break;
            }
        }
        // It stays woken: who wakes it meanwhile adds nothing.
        cx.waker().wake_by_ref();
        Poll::Pending
    }
}

#[cfg(test)]
mod tests {
    use std::{
        sync::atomic::AtomicUsize,
        task::Poll::{Pending, Ready},
    };

    use futures::task::noop_waker_ref;
    use tokio::sync::Notify;

    use super::*;
    use crate::wake_batch::tests::Counted;

    #[test]
    fn a_wake_from_within_is_a_poll_and_one_from_elsewhere_a_wake() {
        let waker = Arc::new(Counted::default());
        let woken = || waker.wakes();
        let (inner, polls) = (Arc::new(AtomicWaker::new()), AtomicUsize::new(0));
        let future = poll_fn(|cx| {
            inner.register(cx.waker());
            match polls.fetch_add(1, Ordering::SeqCst) {
                0 | 1 => {
                    cx.waker().wake_by_ref();
                    Pending
                }
                2 => Pending,
                _ => Ready(()),
            }
        });
        let mut future = absorbing(future);
        let task = waker.clone().into();
        let mut cx = Context::from_waker(&task);
        assert!(Pin::new(&mut future).poll(&mut cx).is_pending());
        assert_eq!((polls.load(Ordering::SeqCst), woken()), (3, 0));
        for _ in 0..3 {
            inner.wake();
        }
        assert_eq!(woken(), 1);
        assert!(Pin::new(&mut future).poll(&mut cx).is_ready());
    }

    #[test]
    fn one_that_never_rests_lets_others_have_their_turn() {
        let waker = Arc::new(Counted::default());
        let mut future = absorbing(poll_fn(|cx| {
            cx.waker().wake_by_ref();
            Poll::<()>::Pending
        }));
        let task = waker.clone().into();
        for turn in 1..=3 {
            assert!(
                Pin::new(&mut future)
                    .poll(&mut Context::from_waker(&task))
                    .is_pending()
            );
            assert_eq!(waker.wakes(), turn);
        }
    }

    /// A wake that comes while the future is polled, from another thread, is not lost.
    #[test]
    fn no_wake_is_lost() {
        const ROUNDS: usize = 20_000;
        let (there, back) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
        let (asked, answer) = (there.clone(), back.clone());
        let other = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
            runtime.block_on(absorbing(async move {
                for _ in 0..ROUNDS {
                    asked.notified().await;
                    answer.notify_one();
                }
            }));
        });
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(absorbing(async move {
            for _ in 0..ROUNDS {
                there.notify_one();
                back.notified().await;
            }
        }));
        other.join().unwrap();
    }

    #[test]
    fn what_is_ready_is_returned_at_once() {
        let mut future = absorbing(std::future::ready(1));
        assert_eq!(
            Pin::new(&mut future).poll(&mut Context::from_waker(noop_waker_ref())),
            Ready(1)
        );
    }
}

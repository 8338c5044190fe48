//! Work that ends even if its client does not wait for it.

use futures::FutureExt as _;
use futures::future::BoxFuture;
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::runtime::Handle;

/// Runs a future where it is awaited. If it is dropped after its first poll, because the client closed the connection or the deadline passed, a
/// task of its own goes on with it. In contrast to a task from the start, no other thread has to wake up.
pub(super) struct RunToEnd<T: Send + 'static> {
    /// None after the end.
    future: Option<BoxFuture<'static, T>>,
    is_started: bool,
}

impl<T: Send + 'static> RunToEnd<T> {
    pub(super) fn new(future: impl Future<Output = T> + Send + 'static) -> Self {
        Self {
            future: Some(future.boxed()),
            is_started: false,
        }
    }
}

impl<T: Send + 'static> Future for RunToEnd<T> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        self.is_started = true;
        let Some(future) = &mut self.future else {
            return Poll::Pending;
        };
        let poll = future.poll_unpin(context);
        if poll.is_ready() {
            self.future = None;
        }
        poll
    }
}

impl<T: Send + 'static> Drop for RunToEnd<T> {
    fn drop(&mut self) {
        // A future that panicked must not be polled again.
        if !self.is_started || std::thread::panicking() {
            return;
        }
        if let (Some(future), Ok(runtime)) = (self.future.take(), Handle::try_current()) {
            runtime.spawn(future);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;
    use tokio::time::{sleep, timeout};

    const DURATION: Duration = Duration::from_secs(1);

    /// Returns a future that counts its ends.
    fn work(ends: &Arc<AtomicUsize>) -> RunToEnd<usize> {
        let ends = ends.clone();
        RunToEnd::new(async move {
            sleep(DURATION).await;
            ends.fetch_add(1, Ordering::Relaxed)
        })
    }

    #[tokio::test(start_paused = true)]
    async fn future_ends_once_if_it_was_started() {
        let ends = Arc::new(AtomicUsize::new(0));
        drop(work(&ends));
        sleep(DURATION * 2).await;
        assert_eq!(ends.load(Ordering::Relaxed), 0, "it never started");

        assert_eq!(work(&ends).await, 0);
        sleep(DURATION * 2).await;
        assert_eq!(ends.load(Ordering::Relaxed), 1, "it ended where it was awaited");

        timeout(DURATION / 2, work(&ends)).await.unwrap_err();
        assert_eq!(ends.load(Ordering::Relaxed), 1);
        sleep(DURATION).await;
        assert_eq!(ends.load(Ordering::Relaxed), 2, "a task ended it");
    }

    #[tokio::test]
    async fn future_that_panics_is_not_polled_again() {
        let polls = Arc::new(AtomicUsize::new(0));
        let counted = polls.clone();
        let work = RunToEnd::new(std::future::poll_fn(move |_| -> Poll<()> {
            counted.fetch_add(1, Ordering::Relaxed);
            panic!("as the test wants");
        }));
        assert!(tokio::spawn(work).await.unwrap_err().is_panic());
        tokio::task::yield_now().await;
        assert_eq!(polls.load(Ordering::Relaxed), 1);
    }
}

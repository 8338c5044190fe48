//! Fencing of writes by the leader lease: no write is sent, and none stays in flight, once another replica may lead.

use std::{fmt, sync::Arc};

use parking_lot::Mutex;
use tokio::{
    sync::watch,
    time::{Duration, Instant, sleep_until},
};

/// Allows or refuses writes. Without leader election it is always open. Cloning copies a pointer.
///
/// Each renewal of the leader lease keeps it open for a time, after which it closes by itself: no message about a failed renewal is needed.
/// `manager::leader` explains why this keeps two replicas from writing at once, and when it does not.
#[derive(Clone)]
pub(crate) struct Fence(Arc<FenceShared>);

struct FenceShared {
    state: watch::Sender<FenceState>,
    writes: Mutex<FencedWrites>,
}

#[derive(Default)]
struct FencedWrites {
    /// The number of writes without a response so far.
    in_flight: usize,
    /// When a write was last cancelled before its response.
    abandoned: Option<Instant>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FenceState {
    /// Without leader election.
    Open,
    Closed,
    /// A write may begin before the first instant; one in flight is cancelled at the second.
    Until(Instant, Instant),
}

/// Why the fence stopped a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum FenceError {
    #[error("this replica does not lead")]
    NotSent,
    #[error(
        "cancelled, because the leader lease was not renewed in time: whether it was carried out is unknown"
    )]
    Abandoned,
}

impl Default for Fence {
    fn default() -> Self {
        Self(Arc::new(FenceShared {
            state: watch::Sender::new(FenceState::Open),
            writes: Mutex::default(),
        }))
    }
}

impl Fence {
    /// Closes the fence. Writes in flight are cancelled.
    pub(crate) fn close(&self) {
        self.0.state.send_replace(FenceState::Closed);
    }

    /// Opens the fence after a renewal of the lease. From `sent`, when the renewal was sent, writes may begin for `sending`; they are
    /// cancelled after `ending`.
    pub(crate) fn renewed(&self, sent: Instant, sending: Duration, ending: Duration) {
        self.0
            .state
            .send_replace(FenceState::Until(sent + sending, sent + ending));
    }

    /// Returns when a write was last cancelled; it may still reach the API server. After the fence is closed, writes still in flight count as
    /// cancelled now, because they notice the closing later than the caller.
    pub(crate) fn last_abandoned(&self) -> Option<Instant> {
        let writes = self.0.writes.lock();
        match writes.in_flight {
            0 => writes.abandoned,
            _ => Some(Instant::now()),
        }
    }

    /// Whether a write may begin now.
    pub(crate) fn is_open(&self) -> bool {
        match *self.0.state.borrow() {
            FenceState::Open => true,
            FenceState::Closed => false,
            FenceState::Until(sending, _) => Instant::now() < sending,
        }
    }

    /// Runs `write` if the fence is open, and cancels it when the fence is closed.
    pub(crate) async fn guard<T>(&self, write: impl Future<Output = T>) -> Result<T, FenceError> {
        let mut state = self.0.state.subscribe();
        let now = *state.borrow_and_update();
        match now {
            FenceState::Open => return Ok(write.await),
            FenceState::Until(sending, _) if Instant::now() < sending => {}
            FenceState::Closed | FenceState::Until(..) => return Err(FenceError::NotSent),
        }
        self.0.writes.lock().in_flight += 1;
        let mut guard = WriteGuard {
            fence: self,
            has_response: false,
        };
        tokio::select! {
            biased;
            () = wait_closed(&mut state) => Err(FenceError::Abandoned),
            response = write => {
                guard.has_response = true;
                Ok(response)
            }
        }
    }
}

/// Waits until writes in flight must be cancelled. A renewal postpones that.
async fn wait_closed(state: &mut watch::Receiver<FenceState>) {
    loop {
        let now = *state.borrow_and_update();
        let FenceState::Until(_, ending) = now else { return };
        tokio::select! {
            biased;
            // The borrowed fence keeps the sender.
            _ = state.changed() => {}
            () = sleep_until(ending) => return,
        }
    }
}

/// A write in flight. Dropped without a response, it counts as abandoned.
struct WriteGuard<'a> {
    fence: &'a Fence,
    has_response: bool,
}

impl Drop for WriteGuard<'_> {
    fn drop(&mut self) {
        let mut writes = self.fence.0.writes.lock();
        writes.in_flight -= 1;
        if !self.has_response {
            writes.abandoned = Some(Instant::now());
        }
    }
}

impl fmt::Debug for Fence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Fence").field(&*self.0.state.borrow()).finish()
    }
}

#[cfg(test)]
mod tests {
    use std::future::pending;

    use tokio::time::{advance, sleep};

    use super::*;

    const SENDING: Duration = Duration::from_secs(10);
    const ENDING: Duration = Duration::from_secs(12);

    #[tokio::test(start_paused = true)]
    async fn fence_is_open_without_leader_election() {
        let fence = Fence::default();
        advance(Duration::from_hours(1)).await;
        assert_eq!(fence.guard(async { 1 }).await, Ok(1));
    }

    #[tokio::test(start_paused = true)]
    async fn write_begins_only_within_the_renew_deadline() {
        let fence = Fence::default();
        fence.close();
        let unsent = async { panic!("a closed fence polls no write") };
        assert_eq!(fence.guard(unsent).await, Err::<(), _>(FenceError::NotSent));
        fence.renewed(Instant::now(), SENDING, ENDING);
        advance(Duration::from_millis(9_999)).await;
        assert_eq!(fence.guard(async { 1 }).await, Ok(1));
        advance(Duration::from_millis(1)).await;
        assert_eq!(fence.guard(async { 1 }).await, Err(FenceError::NotSent));
        assert_eq!(fence.last_abandoned(), None, "an unsent write is not in flight");
    }

    #[tokio::test(start_paused = true)]
    async fn write_in_flight_is_cancelled_unless_the_lease_is_renewed() {
        let (fence, started) = (Fence::default(), Instant::now());
        fence.renewed(started, SENDING, ENDING);
        let slow = fence.guard(sleep(Duration::from_secs(20)));
        let renewal = async {
            sleep(Duration::from_secs(9)).await;
            fence.renewed(Instant::now(), SENDING, ENDING);
        };
        let (slow, ()) = tokio::join!(slow, renewal);
        assert_eq!(slow, Ok(()), "renewed at 9 s, it may take until 21 s");

        // Until 19 s it may begin, at 21 s it must be over.
        fence.renewed(Instant::now(), SENDING, ENDING);
        let begun = Instant::now();
        assert_eq!(fence.guard(pending::<()>()).await, Err(FenceError::Abandoned));
        assert_eq!(begun.elapsed(), ENDING);
        assert_eq!(fence.last_abandoned(), Some(Instant::now()));
    }

    #[tokio::test(start_paused = true)]
    async fn closing_cancels_writes_and_dropped_writes_count_as_abandoned() {
        let fence = Fence::default();
        fence.renewed(Instant::now(), SENDING, ENDING);
        let closing = async {
            assert_eq!(fence.last_abandoned(), Some(Instant::now()), "one is in flight");
            fence.close();
        };
        let (written, ()) = tokio::join!(fence.guard(pending::<()>()), closing);
        assert_eq!(written, Err(FenceError::Abandoned));

        let fence = Fence::default();
        fence.renewed(Instant::now(), SENDING, ENDING);
        let cancelled = tokio::time::timeout(Duration::from_secs(1), fence.guard(pending::<()>())).await;
        assert!(cancelled.is_err());
        assert_eq!(fence.last_abandoned(), Some(Instant::now()));
    }
}

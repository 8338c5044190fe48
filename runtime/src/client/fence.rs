//! The write cut-off of a leader: no write is sent, and none stays in flight, once another replica may lead.

use std::{fmt, sync::Arc};

use parking_lot::Mutex;
use tokio::{
    sync::watch,
    time::{Duration, Instant, sleep_until},
};

/// Whether writes may be sent. Open unless leader election closes it; cloning copies a pointer.
///
/// It follows the renewals of the lease without being told that one failed: time alone closes it. `manager::leader` has the argument why
/// that keeps two replicas from writing at once, and when it does not.
#[derive(Clone)]
pub(crate) struct Fence(Arc<Shared>);

struct Shared {
    state: watch::Sender<State>,
    flights: Mutex<Flights>,
}

#[derive(Default)]
struct Flights {
    /// Writes that were begun and have no answer.
    running: usize,
    /// When the last write was dropped before it had an answer.
    abandoned: Option<Instant>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// There is no leader election.
    Open,
    Closed,
    /// Writes begin before the first moment and are given up at the second.
    Until(Instant, Instant),
}

/// Why a write has no answer although the API server may be well.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Fenced {
    #[error("this replica does not lead")]
    NotSent,
    #[error(
        "given up, because the leader lease was not renewed in time: whether it was carried out is unknown"
    )]
    Abandoned,
}

impl Default for Fence {
    fn default() -> Self {
        Self(Arc::new(Shared {
            state: watch::Sender::new(State::Open),
            flights: Mutex::default(),
        }))
    }
}

impl Fence {
    /// No write from now on; those in flight are given up.
    pub(crate) fn close(&self) {
        self.0.state.send_replace(State::Closed);
    }

    /// The lease was renewed with a request that was sent at `sent`: writes may begin for `sending` from then, and take until `ending`.
    pub(crate) fn renewed(&self, sent: Instant, sending: Duration, ending: Duration) {
        self.0
            .state
            .send_replace(State::Until(sent + sending, sent + ending));
    }

    /// When the last write was given up, which may still be on its way. Those that have no answer yet count as given up now, for when the
    /// fence is closed: they learn of it later than who closed it.
    pub(crate) fn last_abandoned(&self) -> Option<Instant> {
        let flights = self.0.flights.lock();
        match flights.running {
            0 => flights.abandoned,
            _ => Some(Instant::now()),
        }
    }

    /// Whether a write may begin now.
    pub(crate) fn is_open(&self) -> bool {
        match *self.0.state.borrow() {
            State::Open => true,
            State::Closed => false,
            State::Until(sending, _) => Instant::now() < sending,
        }
    }

    /// Does `write` if it may be sent, and drops it when it must no longer be in flight.
    pub(crate) async fn guard<T>(&self, write: impl Future<Output = T>) -> Result<T, Fenced> {
        let mut state = self.0.state.subscribe();
        let now = *state.borrow_and_update();
        match now {
            State::Open => return Ok(write.await),
            State::Until(sending, _) if Instant::now() < sending => {}
            State::Closed | State::Until(..) => return Err(Fenced::NotSent),
        }
        self.0.flights.lock().running += 1;
        let mut flight = Flight {
            fence: self,
            has_landed: false,
        };
        tokio::select! {
            biased;
            () = closed(&mut state) => Err(Fenced::Abandoned),
            answer = write => {
                flight.has_landed = true;
                Ok(answer)
            }
        }
    }
}

/// Waits until nothing may be in flight any more. A renewal puts that off.
async fn closed(state: &mut watch::Receiver<State>) {
    loop {
        let now = *state.borrow_and_update();
        let State::Until(_, ending) = now else { return };
        tokio::select! {
            biased;
            // The sender lives as long as the fence that is borrowed.
            _ = state.changed() => {}
            () = sleep_until(ending) => return,
        }
    }
}

/// A write on its way; whoever cancels it gives it up.
struct Flight<'a> {
    fence: &'a Fence,
    has_landed: bool,
}

impl Drop for Flight<'_> {
    fn drop(&mut self) {
        let mut flights = self.fence.0.flights.lock();
        flights.running -= 1;
        if !self.has_landed {
            flights.abandoned = Some(Instant::now());
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
    async fn without_an_election_everything_passes() {
        let fence = Fence::default();
        advance(Duration::from_hours(1)).await;
        assert_eq!(fence.guard(async { 1 }).await, Ok(1));
    }

    #[tokio::test(start_paused = true)]
    async fn a_write_begins_only_within_the_renew_deadline() {
        let fence = Fence::default();
        fence.close();
        let unsent = async { panic!("a closed fence polls no write") };
        assert_eq!(fence.guard(unsent).await, Err::<(), _>(Fenced::NotSent));
        fence.renewed(Instant::now(), SENDING, ENDING);
        advance(Duration::from_millis(9_999)).await;
        assert_eq!(fence.guard(async { 1 }).await, Ok(1));
        advance(Duration::from_millis(1)).await;
        assert_eq!(fence.guard(async { 1 }).await, Err(Fenced::NotSent));
        assert_eq!(fence.last_abandoned(), None, "what was not sent is not in flight");
    }

    #[tokio::test(start_paused = true)]
    async fn a_write_in_flight_is_given_up_unless_a_renewal_comes() {
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
        assert_eq!(fence.guard(pending::<()>()).await, Err(Fenced::Abandoned));
        assert_eq!(begun.elapsed(), ENDING);
        assert_eq!(fence.last_abandoned(), Some(Instant::now()));
    }

    #[tokio::test(start_paused = true)]
    async fn closing_gives_up_at_once_and_a_cancelled_write_counts_as_given_up() {
        let fence = Fence::default();
        fence.renewed(Instant::now(), SENDING, ENDING);
        let closing = async {
            assert_eq!(fence.last_abandoned(), Some(Instant::now()), "one is in flight");
            fence.close();
        };
        let (written, ()) = tokio::join!(fence.guard(pending::<()>()), closing);
        assert_eq!(written, Err(Fenced::Abandoned));

        let fence = Fence::default();
        fence.renewed(Instant::now(), SENDING, ENDING);
        let cancelled = tokio::time::timeout(Duration::from_secs(1), fence.guard(pending::<()>())).await;
        assert!(cancelled.is_err());
        assert_eq!(fence.last_abandoned(), Some(Instant::now()));
    }
}

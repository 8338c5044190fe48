//! A candidate in the background: its elector's task, and what others know of it.

use std::future::pending;

use prometheus_client::metrics::gauge::Gauge;
use tokio::{sync::watch, task::JoinSet};
use tokio_util::sync::CancellationToken;

use super::{Elector, LostLease};

#[derive(Clone, Debug, PartialEq, Eq)]
enum State {
    Candidate,
    Leading,
    Lost(LostLease),
}

/// A running candidacy. Dropped, it stops renewing; the lease then expires.
pub(in crate::manager) struct Candidacy {
    state: watch::Receiver<State>,
    give_up: CancellationToken,
    task: JoinSet<()>,
}

impl Candidacy {
    /// Runs for leader until [`give_up`](Self::give_up). `leading` is 1 while it leads.
    pub(in crate::manager) fn start(elector: Elector, leading: Gauge) -> Self {
        let (sender, state) = watch::channel(State::Candidate);
        let give_up = CancellationToken::new();
        let mut task = JoinSet::new();
        task.spawn(run(elector, leading, sender, give_up.clone()));
        Self { state, give_up, task }
    }

    /// Waits until the lease is held.
    pub(in crate::manager) async fn leading(&mut self) {
        self.reached(|state| *state == State::Leading).await;
    }

    /// Waits until the lease is lost.
    pub(in crate::manager) async fn lost(&mut self) -> LostLease {
        match self.reached(|state| matches!(state, State::Lost(_))).await {
            State::Lost(lost) => lost,
            _ => pending().await,
        }
    }

    /// Stops, and gives the lease back if it is held. To be called when nothing runs any more that needs the lease.
    pub(in crate::manager) async fn give_up(mut self) {
        self.give_up.cancel();
        while self.task.join_next().await.is_some() {}
    }

    async fn reached(&mut self, is: impl FnMut(&State) -> bool) -> State {
        let reached = self.state.wait_for(is).await.map(|state| state.clone());
        match reached {
            Ok(state) => state,
            // The task ended because it was told to.
            Err(_) => pending().await,
        }
    }
}

async fn run(mut elector: Elector, leading: Gauge, state: watch::Sender<State>, give_up: CancellationToken) {
    let candidacy = async {
        let since = elector.acquire().await;
        leading.set(1);
        state.send_replace(State::Leading);
        let lost = elector.hold(since).await;
        leading.set(0);
        state.send_replace(State::Lost(lost));
    };
    give_up.run_until_cancelled(candidacy).await;
    leading.set(0);
    give_up.cancelled().await;
    elector.release().await;
}

//! A handle to the elector's background task: waits until it leads or lost the lease, and stops it.

use std::future::pending;

use prometheus_client::metrics::gauge::Gauge;
use tokio::{sync::watch, task::JoinSet};
use tokio_util::sync::CancellationToken;

use super::{Elector, LostLease};

#[derive(Clone, Debug, PartialEq, Eq)]
enum LeadershipState {
    Candidate,
    Leading,
    Lost(LostLease),
}

/// A running elector. Dropping it stops the renewals, so that the lease expires.
pub(in crate::manager) struct ElectorHandle {
    state: watch::Receiver<LeadershipState>,
    stop: CancellationToken,
    task: JoinSet<()>,
}

impl ElectorHandle {
    /// Runs the elector in a task until [`release`](Self::release). `leading` is 1 while it leads.
    pub(in crate::manager) fn start(elector: Elector, leading: Gauge) -> Self {
        let (sender, state) = watch::channel(LeadershipState::Candidate);
        let stop = CancellationToken::new();
        let mut task = JoinSet::new();
        task.spawn(run(elector, leading, sender, stop.clone()));
        Self { state, stop, task }
    }

    /// Waits until the lease is held.
    pub(in crate::manager) async fn leading(&mut self) {
        self.wait_for(|state| *state == LeadershipState::Leading).await;
    }

    /// Waits until the lease is lost.
    pub(in crate::manager) async fn lost(&mut self) -> LostLease {
        let is_lost = |state: &LeadershipState| matches!(state, LeadershipState::Lost(_));
        match self.wait_for(is_lost).await {
            LeadershipState::Lost(lost) => lost,
            _ => pending().await,
        }
    }

    /// Stops the elector and releases the lease if it is held. Call it when nothing that needs the lease runs any more.
    pub(in crate::manager) async fn release(mut self) {
        self.stop.cancel();
        while self.task.join_next().await.is_some() {}
    }

    async fn wait_for(&mut self, condition: impl FnMut(&LeadershipState) -> bool) -> LeadershipState {
        let reached = self.state.wait_for(condition).await.map(|state| state.clone());
        match reached {
            Ok(state) => state,
            // The task was stopped.
            Err(_) => pending().await,
        }
    }
}

async fn run(
    mut elector: Elector,
    leading: Gauge,
    state: watch::Sender<LeadershipState>,
    stop: CancellationToken,
) {
    let term = async {
        let since = elector.acquire().await;
        leading.set(1);
        state.send_replace(LeadershipState::Leading);
        let lost = elector.hold(since).await;
        leading.set(0);
        state.send_replace(LeadershipState::Lost(lost));
    };
    stop.run_until_cancelled(term).await;
    leading.set(0);
    stop.cancelled().await;
    elector.release().await;
}

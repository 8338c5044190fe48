//! What an operator works with, once it has started: runnables, controllers and the leader lease that some of them need.

use std::{collections::BTreeSet, future::pending};

use tokio::time::{Duration, Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use super::{
    Error,
    error::with_sources,
    group::{Failure, Group},
    leader::Candidacy,
};
use crate::controller::Runnable;

/// Why the operator stops.
pub(super) enum End {
    Asked,
    Failed(Error),
}

/// What runs and may end the operator.
#[derive(Default)]
pub(super) struct Work {
    pub(super) stop: CancellationToken,
    /// Asks runnables and controllers to end.
    pub(super) cancel: CancellationToken,
    /// Cancels reconciles that still run.
    pub(super) kill: CancellationToken,
    pub(super) everywhere: Group,
    pub(super) leaders: Group,
    pub(super) controllers: Group,
    pub(super) candidacy: Option<Candidacy>,
}

impl Work {
    /// Does `work`, unless the operator is asked to stop or something fails meanwhile.
    pub(super) async fn meanwhile<T>(&mut self, work: impl Future<Output = T>) -> Result<T, End> {
        tokio::select! {
            biased;
            end = self.end() => Err(end),
            done = work => Ok(done),
        }
    }

    async fn end(&mut self) -> End {
        let Failure { name, reason } = tokio::select! {
            biased;
            () = self.stop.cancelled() => return End::Asked,
            lost = lost(&mut self.candidacy) => return End::Failed(lost),
            failure = self.everywhere.failure() => failure,
            failure = self.leaders.failure() => failure,
            Failure { name, reason } = self.controllers.failure() => return End::Failed(Error::Controller { name, reason }),
        };
        End::Failed(Error::Runnable { name, reason })
    }

    pub(super) async fn until_leading(&mut self) -> Result<(), End> {
        let Some(mut candidacy) = self.candidacy.take() else {
            return Ok(());
        };
        let led = self.meanwhile(candidacy.leading()).await;
        self.candidacy = Some(candidacy);
        led
    }

    /// Waits for runnables that the controllers wait for.
    pub(super) async fn until_completed(
        &mut self,
        everywhere: &BTreeSet<String>,
        leaders: &BTreeSet<String>,
    ) -> Result<(), End> {
        let (mut first, mut second) = (
            std::mem::take(&mut self.everywhere),
            std::mem::take(&mut self.leaders),
        );
        let completed = self
            .meanwhile(async { tokio::try_join!(first.completed(everywhere), second.completed(leaders)) });
        let completed = completed.await;
        (self.everywhere, self.leaders) = (first, second);
        match completed? {
            Ok(_) => Ok(()),
            Err(Failure { name, reason }) => Err(End::Failed(Error::Runnable { name, reason })),
        }
    }

    /// Ends runnables and controllers, and says how the operator ends. A leader that lost its lease has no grace.
    pub(super) async fn stop_all(&mut self, end: End, grace: Duration) -> Result<(), Error> {
        self.cancel.cancel();
        let work = grace * 7 / 10;
        let deadline = match &end {
            End::Failed(Error::LostLease(_)) => Instant::now(),
            _ => Instant::now() + work,
        };
        let kill = self.kill.clone();
        let killer = async {
            tokio::select! {
                lost = lost(&mut self.candidacy) => {
                    kill.cancel();
                    Some(lost)
                }
                () = sleep_until(deadline) => {
                    kill.cancel();
                    pending().await
                }
            }
        };
        // Cancelled reconciles end at their next await; the controllers wait for that themselves.
        let drained = async {
            let last = deadline + Duration::from_secs(2);
            tokio::join!(
                self.controllers.drain(last),
                self.leaders.drain(deadline),
                self.everywhere.drain(Instant::now() + work)
            )
        };
        tokio::pin!(drained);
        let (lost, ((cancelled, late), leaders, everywhere)) = tokio::select! {
            drained = &mut drained => (None, drained),
            lost = killer => (lost, drained.await),
        };
        let mut parts: Vec<String> = cancelled
            .into_iter()
            .map(|Failure { name, reason }| format!("controller {name} ({reason})"))
            .chain(late.into_iter().map(|name| format!("controller {name}")))
            .collect();
        let mut failures = Vec::new();
        for (failed, late) in [leaders, everywhere] {
            failures.extend(failed);
            parts.extend(late.into_iter().map(|name| format!("runnable {name}")));
        }
        match (end, lost) {
            (End::Failed(error), _) | (End::Asked, Some(error)) => Err(error),
            (End::Asked, None) => match failures.into_iter().next() {
                Some(Failure { name, reason }) => Err(Error::Runnable { name, reason }),
                None if parts.is_empty() => Ok(()),
                None => Err(Error::GracePeriod { period: grace, parts }),
            },
        }
    }
}

async fn lost(candidacy: &mut Option<Candidacy>) -> Error {
    match candidacy {
        Some(candidacy) => candidacy.lost().await.into(),
        None => pending().await,
    }
}

/// Starts runnables and answers the names of those that controllers wait for.
pub(super) fn start(
    group: &mut Group,
    runnables: Vec<Runnable>,
    stop: &CancellationToken,
) -> BTreeSet<String> {
    let mut first = BTreeSet::new();
    for runnable in runnables {
        let name = runnable.name().to_owned();
        if runnable.is_before_controllers() {
            first.insert(name.clone());
        }
        let running = runnable.run(stop.clone());
        group.spawn(name, async move {
            running.await.map_err(|error| with_sources(&*error))
        });
    }
    first
}

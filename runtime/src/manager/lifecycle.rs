//! What an operator works with, once it has started: runnables, controllers and the leader lease that some of them need.

use std::future::pending;

use tokio::time::{Duration, Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use super::{
    Error,
    leader::Candidacy,
    runnable_group::Stages,
    task_group::{Failure, Group},
};

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
    pub(super) everywhere: Stages,
    pub(super) leaders: Stages,
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
        failed(tokio::select! {
            biased;
            () = self.stop.cancelled() => return End::Asked,
            lost = lost(&mut self.candidacy) => return End::Failed(lost),
            failure = self.everywhere.failure() => failure,
            failure = self.leaders.failure() => failure,
            Failure { name, reason } = self.controllers.failure() => return End::Failed(Error::Controller { name, reason }),
        })
    }

    pub(super) async fn until_leading(&mut self) -> Result<(), End> {
        let Some(mut candidacy) = self.candidacy.take() else {
            return Ok(());
        };
        let led = self.meanwhile(candidacy.leading()).await;
        self.candidacy = Some(candidacy);
        led
    }

    /// Starts the groups of every replica, or of the leader.
    pub(super) async fn start_groups(&mut self, of: fn(&mut Self) -> &mut Stages) -> Result<(), End> {
        let mut stages = std::mem::take(of(self));
        let started = self.meanwhile(stages.start_groups()).await;
        *of(self) = stages;
        started?.map_err(failed)
    }

    /// Waits for runnables without a group that the controllers wait for.
    pub(super) async fn until_loose_ones_stand(&mut self) -> Result<(), End> {
        let (mut first, mut second) = (
            std::mem::take(&mut self.everywhere),
            std::mem::take(&mut self.leaders),
        );
        let stand = self
            .meanwhile(async { tokio::try_join!(first.loose_ones_stand(), second.loose_ones_stand()) })
            .await;
        (self.everywhere, self.leaders) = (first, second);
        stand?.map_err(failed)?;
        Ok(())
    }

    /// Ends runnables and controllers, and says how the operator ends. A leader that lost its lease has no grace.
    pub(super) async fn stop_all(&mut self, end: End, grace: Duration) -> Result<(), Error> {
        self.cancel.cancel();
        let end_of_all = Instant::now() + grace * 7 / 10;
        // Groups end after the controllers, and need some time of their own.
        let have_groups = self.everywhere.have_groups() || self.leaders.have_groups();
        let first = if have_groups {
            end_of_all - grace / 5
        } else {
            end_of_all
        };
        let (deadline, leaders_last) = match &end {
            End::Failed(Error::LostLease(_)) => (Instant::now(), Instant::now()),
            _ => (first, end_of_all),
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
            let (controllers, leaders, everywhere) = tokio::join!(
                self.controllers.drain(deadline + Duration::from_secs(2)),
                self.leaders.drain_loose(deadline),
                self.everywhere.drain_loose(first)
            );
            let leaders_groups = self.leaders.stop_groups(leaders_last).await;
            let groups = self.everywhere.stop_groups(end_of_all).await;
            (controllers, [leaders, everywhere, leaders_groups, groups])
        };
        tokio::pin!(drained);
        let (lost, ((cancelled, late), runnables)) = tokio::select! {
            drained = &mut drained => (None, drained),
            lost = killer => (lost, drained.await),
        };
        let mut parts: Vec<String> = cancelled
            .into_iter()
            .map(|Failure { name, reason }| format!("controller {name} ({reason})"))
            .chain(late.into_iter().map(|name| format!("controller {name}")))
            .collect();
        let mut failures = Vec::new();
        for (failed, late) in runnables {
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

fn failed(Failure { name, reason }: Failure) -> End {
    End::Failed(Error::Runnable { name, reason })
}

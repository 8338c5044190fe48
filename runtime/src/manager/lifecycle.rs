//! The tasks of a started operator, and how they end: runnables, controllers and the leader elector.

use std::future::pending;

use tokio::time::{Duration, Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use super::{
    Error,
    leader::ElectorHandle,
    runnable_group::RunnableGroups,
    task_group::{TaskFailure, TaskGroup},
};
use crate::cache::SharedInformerFactory;

/// How long controllers get to end after their reconciles were cancelled.
const CANCELLED_RECONCILES_TIMEOUT: Duration = Duration::from_secs(2);

/// Why the operator stops.
pub(super) enum StopReason {
    Requested,
    Failed(Error),
}

/// The tasks of a started operator. Any of them may end it.
#[derive(Default)]
pub(super) struct OperatorTasks {
    /// Requests the operator's stop.
    pub(super) stop: CancellationToken,
    /// Asks runnables and controllers to end.
    pub(super) stop_work: CancellationToken,
    /// Cancels reconciles that still run.
    pub(super) cancel_reconciles: CancellationToken,
    pub(super) every_replica: RunnableGroups,
    pub(super) leader_only: RunnableGroups,
    pub(super) controllers: TaskGroup,
    /// Whose panics end the operator. None before they start.
    pub(super) informers: Option<SharedInformerFactory>,
    /// None without leader election, and until it starts.
    pub(super) elector: Option<ElectorHandle>,
}

impl OperatorTasks {
    /// Awaits `step` of the start, unless the operator is asked to stop or something fails first.
    pub(super) async fn unless_stopped<T>(&mut self, step: impl Future<Output = T>) -> Result<T, StopReason> {
        tokio::select! {
            biased;
            reason = self.stop_reason() => Err(reason),
            done = step => Ok(done),
        }
    }

    async fn stop_reason(&mut self) -> StopReason {
        runnable_failed(tokio::select! {
            biased;
            () = self.stop.cancelled() => return StopReason::Requested,
            lost = lost_lease(&mut self.elector) => return StopReason::Failed(lost),
            reason = informer_failure(self.informers.as_ref()) => {
                return StopReason::Failed(Error::Informer(reason));
            }
            failure = self.every_replica.failure() => failure,
            failure = self.leader_only.failure() => failure,
            TaskFailure { name, reason } = self.controllers.failure() => {
                return StopReason::Failed(Error::Controller { name, reason });
            }
        })
    }

    /// Waits until this replica leads; returns at once without leader election.
    pub(super) async fn wait_until_leading(&mut self) -> Result<(), StopReason> {
        let Some(mut elector) = self.elector.take() else {
            return Ok(());
        };
        let leading = self.unless_stopped(elector.leading()).await;
        self.elector = Some(elector);
        leading
    }

    /// Starts the runnable groups of every replica, or of the leader.
    pub(super) async fn start_groups(
        &mut self,
        of: fn(&mut Self) -> &mut RunnableGroups,
    ) -> Result<(), StopReason> {
        let mut groups = std::mem::take(of(self));
        let started = self.unless_stopped(groups.start_groups()).await;
        *of(self) = groups;
        started?.map_err(runnable_failed)
    }

    /// Waits for the runnables without a group that must complete or be ready before the controllers start.
    pub(super) async fn wait_for_ungrouped(&mut self) -> Result<(), StopReason> {
        let (mut every_replica, mut leader_only) = (
            std::mem::take(&mut self.every_replica),
            std::mem::take(&mut self.leader_only),
        );
        let started = self
            .unless_stopped(async {
                tokio::try_join!(
                    every_replica.wait_for_ungrouped(),
                    leader_only.wait_for_ungrouped()
                )
            })
            .await;
        (self.every_replica, self.leader_only) = (every_replica, leader_only);
        started?.map_err(runnable_failed)?;
        Ok(())
    }

    /// Stops runnables and controllers within seven tenths of `grace`, and returns the operator's result. A leader that lost its lease has
    /// no grace: everything that only the leader may do is cancelled at once.
    pub(super) async fn stop_all(&mut self, stop_reason: StopReason, grace: Duration) -> Result<(), Error> {
        self.stop_work.cancel();
        let last_deadline = Instant::now() + grace * 7 / 10;
        // Groups end after the controllers, and need some time of their own.
        let has_groups = self.every_replica.has_groups() || self.leader_only.has_groups();
        let first_deadline = if has_groups {
            last_deadline - grace / 5
        } else {
            last_deadline
        };
        let (reconcile_deadline, leader_deadline) = match &stop_reason {
            StopReason::Failed(Error::LostLease(_)) => (Instant::now(), Instant::now()),
            _ => (first_deadline, last_deadline),
        };
        let cancel_reconciles = self.cancel_reconciles.clone();
        let cancel_on_deadline_or_lost_lease = async {
            tokio::select! {
                lost = lost_lease(&mut self.elector) => {
                    cancel_reconciles.cancel();
                    Some(lost)
                }
                () = sleep_until(reconcile_deadline) => {
                    cancel_reconciles.cancel();
                    pending().await
                }
            }
        };
        // Cancelled reconciles end at their next await; the controllers wait for that themselves.
        let drained = async {
            let (controllers, leader_only, every_replica) = tokio::join!(
                self.controllers
                    .drain(reconcile_deadline + CANCELLED_RECONCILES_TIMEOUT),
                self.leader_only.drain_ungrouped(reconcile_deadline),
                self.every_replica.drain_ungrouped(first_deadline)
            );
            let leader_groups = self.leader_only.stop_groups(leader_deadline).await;
            let groups = self.every_replica.stop_groups(last_deadline).await;
            (controllers, [leader_only, every_replica, leader_groups, groups])
        };
        tokio::pin!(drained);
        let (lost, ((cancelled, aborted), runnables)) = tokio::select! {
            drained = &mut drained => (None, drained),
            lost = cancel_on_deadline_or_lost_lease => (lost, drained.await),
        };
        let mut parts: Vec<String> = cancelled
            .into_iter()
            .map(|TaskFailure { name, reason }| format!("controller {name} ({reason})"))
            .chain(aborted.into_iter().map(|name| format!("controller {name}")))
            .collect();
        let mut failures = Vec::new();
        for (failed, aborted) in runnables {
            failures.extend(failed);
            parts.extend(aborted.into_iter().map(|name| format!("runnable {name}")));
        }
        match (stop_reason, lost) {
            (StopReason::Failed(error), _) | (StopReason::Requested, Some(error)) => Err(error),
            (StopReason::Requested, None) => match failures.into_iter().next() {
                Some(TaskFailure { name, reason }) => Err(Error::Runnable { name, reason }),
                None if parts.is_empty() => Ok(()),
                None => Err(Error::GracePeriod { period: grace, parts }),
            },
        }
    }
}

async fn lost_lease(elector: &mut Option<ElectorHandle>) -> Error {
    match elector {
        Some(elector) => elector.lost().await.into(),
        None => pending().await,
    }
}

async fn informer_failure(informers: Option<&SharedInformerFactory>) -> String {
    match informers {
        Some(informers) => informers.failure().await,
        None => pending().await,
    }
}

fn runnable_failed(TaskFailure { name, reason }: TaskFailure) -> StopReason {
    StopReason::Failed(Error::Runnable { name, reason })
}

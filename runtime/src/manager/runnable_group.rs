//! Runnables in their groups: one group is started after the other, and they are stopped in the opposite order.

use std::collections::BTreeSet;

use futures::{
    FutureExt as _,
    future::{BoxFuture, join_all, pending, select_all},
};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::{
    error::with_sources,
    task_group::{Failure, Group},
};
use crate::controller::Runnable;

/// The runnables of every replica, or those of the leader.
#[derive(Default)]
pub(super) struct Stages {
    /// Those without a group.
    loose: Stage,
    /// In the order in which they are started.
    groups: Vec<Stage>,
}

/// Runnables that are started and stopped together.
#[derive(Default)]
struct Stage {
    /// They are not started yet.
    waiting: Vec<Runnable>,
    tasks: Group,
    stop: CancellationToken,
    /// Whose end others wait for.
    first: BTreeSet<String>,
    /// What others wait for, too.
    ready: Vec<BoxFuture<'static, ()>>,
}

impl Stages {
    /// Runnables, none of them started, with the groups in this order. What has no group is told by `stop` to end.
    pub(super) fn new(runnables: Vec<Runnable>, order: &[String], stop: &CancellationToken) -> Self {
        let mut stages = Self {
            loose: Stage {
                stop: stop.clone(),
                ..Stage::default()
            },
            groups: order.iter().map(|_| Stage::default()).collect(),
        };
        for runnable in runnables {
            let place = order
                .iter()
                .position(|name| Some(name.as_str()) == runnable.group_name());
            let stage = place.map_or(&mut stages.loose, |place| &mut stages.groups[place]);
            stage.waiting.push(runnable);
        }
        stages.groups.retain(|stage| !stage.waiting.is_empty());
        stages
    }

    /// Starts what has no group.
    pub(super) fn start_loose(&mut self) {
        self.loose.start();
    }

    /// Starts the groups, each when the one before it stands.
    pub(super) async fn start_groups(&mut self) -> Result<(), Failure> {
        for place in 0..self.groups.len() {
            let (before, rest) = self.groups.split_at_mut(place);
            let Some(stage) = rest.first_mut() else { break };
            stage.start();
            tokio::select! {
                biased;
                failure = any_failure(before.iter_mut().chain([&mut self.loose])) => return Err(failure),
                stands = stage.stand() => stands?,
            }
        }
        Ok(())
    }

    /// Waits until what has no group, and is waited for, has ended or is ready.
    pub(super) async fn loose_ones_stand(&mut self) -> Result<(), Failure> {
        tokio::select! {
            biased;
            failure = any_failure(self.groups.iter_mut()) => Err(failure),
            stands = self.loose.stand() => stands,
        }
    }

    /// Waits until a runnable fails; for ever when none does. Cancel safe.
    pub(super) async fn failure(&mut self) -> Failure {
        any_failure(self.groups.iter_mut().chain([&mut self.loose])).await
    }

    /// Whether there are groups.
    pub(super) fn have_groups(&self) -> bool {
        !self.groups.is_empty()
    }

    /// Waits for what has no group, until `deadline`; what runs then is aborted. Returns what failed, and the names of what was aborted.
    pub(super) async fn drain_loose(&mut self, deadline: Instant) -> (Vec<Failure>, Vec<String>) {
        self.loose.tasks.drain(deadline).await
    }

    /// Stops the groups, the last one first, each when the one after it has ended; all of them by `deadline`.
    pub(super) async fn stop_groups(&mut self, deadline: Instant) -> (Vec<Failure>, Vec<String>) {
        let (mut failures, mut late) = (Vec::new(), Vec::new());
        for stage in self.groups.iter_mut().rev() {
            stage.stop.cancel();
            let (failed, aborted) = stage.tasks.drain(deadline).await;
            failures.extend(failed);
            late.extend(aborted);
        }
        (failures, late)
    }
}

impl Stage {
    fn start(&mut self) {
        for mut runnable in self.waiting.drain(..) {
            let name = runnable.name().to_owned();
            if runnable.is_before_controllers() {
                self.first.insert(name.clone());
            }
            self.ready.extend(runnable.take_ready());
            let running = runnable.run(self.stop.clone());
            self.tasks.spawn(name, async move {
                running.await.map_err(|error| with_sources(&*error))
            });
        }
    }

    /// Waits until nobody needs to wait for it any more.
    async fn stand(&mut self) -> Result<(), Failure> {
        self.tasks.completed(&self.first).await?;
        let ready = join_all(self.ready.drain(..));
        tokio::select! {
            biased;
            failure = self.tasks.failure() => Err(failure),
            _ = ready => Ok(()),
        }
    }
}

async fn any_failure<'a>(stages: impl Iterator<Item = &'a mut Stage>) -> Failure {
    let failures = stages.map(|stage| stage.tasks.failure().boxed());
    // One that never comes: there may be no stage.
    select_all(failures.chain([pending().boxed()])).await.0
}

//! Runnable groups: started one after the other, stopped in reverse order.

use std::collections::BTreeSet;

use futures::{
    FutureExt as _,
    future::{BoxFuture, join_all, pending, select_all},
};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::{
    error::with_sources,
    task_group::{TaskFailure, TaskGroup},
};
use crate::controller::Runnable;

/// The runnables of every replica, or those of the leader, by group.
#[derive(Default)]
pub(super) struct RunnableGroups {
    ungrouped: RunnableGroup,
    /// In start order.
    groups: Vec<RunnableGroup>,
}

/// Runnables that are started and stopped together.
#[derive(Default)]
struct RunnableGroup {
    not_started: Vec<Runnable>,
    tasks: TaskGroup,
    stop: CancellationToken,
    /// The names of runnables that must complete before the next group starts.
    must_complete: BTreeSet<String>,
    /// Readiness signals that must arrive before the next group starts.
    ready: Vec<BoxFuture<'static, ()>>,
}

impl RunnableGroups {
    /// Sorts runnables into the groups of `order`, none of them started. `stop` stops those without a group.
    pub(super) fn new(runnables: Vec<Runnable>, order: &[String], stop: &CancellationToken) -> Self {
        let mut sorted = Self {
            ungrouped: RunnableGroup {
                stop: stop.clone(),
                ..RunnableGroup::default()
            },
            groups: order.iter().map(|_| RunnableGroup::default()).collect(),
        };
        for runnable in runnables {
            let index = order
                .iter()
                .position(|name| Some(name.as_str()) == runnable.group_name());
            let group = index.map_or(&mut sorted.ungrouped, |index| &mut sorted.groups[index]);
            group.not_started.push(runnable);
        }
        sorted.groups.retain(|group| !group.not_started.is_empty());
        sorted
    }

    /// Starts the runnables without a group.
    pub(super) fn start_ungrouped(&mut self) {
        self.ungrouped.start();
    }

    /// Starts the groups in order, each when the one before it has started.
    pub(super) async fn start_groups(&mut self) -> Result<(), TaskFailure> {
        for index in 0..self.groups.len() {
            let (before, rest) = self.groups.split_at_mut(index);
            let Some(group) = rest.first_mut() else { break };
            group.start();
            tokio::select! {
                biased;
                failure = any_failure(before.iter_mut().chain([&mut self.ungrouped])) => return Err(failure),
                started = group.wait_until_started() => started?,
            }
        }
        Ok(())
    }

    /// Waits until the runnables without a group have started: those that must complete are done, and the others are ready.
    pub(super) async fn wait_for_ungrouped(&mut self) -> Result<(), TaskFailure> {
        tokio::select! {
            biased;
            failure = any_failure(self.groups.iter_mut()) => Err(failure),
            started = self.ungrouped.wait_until_started() => started,
        }
    }

    /// Waits until a runnable fails, forever if none does. Cancel safe.
    pub(super) async fn failure(&mut self) -> TaskFailure {
        any_failure(self.groups.iter_mut().chain([&mut self.ungrouped])).await
    }

    /// Returns whether there are groups.
    pub(super) fn has_groups(&self) -> bool {
        !self.groups.is_empty()
    }

    /// Waits for the runnables without a group and aborts those that still run at `deadline`. Returns the failures, and the names of the
    /// aborted runnables.
    pub(super) async fn drain_ungrouped(&mut self, deadline: Instant) -> (Vec<TaskFailure>, Vec<String>) {
        self.ungrouped.tasks.drain(deadline).await
    }

    /// Stops the groups in reverse order, each when its successor has ended; aborts what still runs at `deadline`. Returns like
    /// [`drain_ungrouped`](Self::drain_ungrouped).
    pub(super) async fn stop_groups(&mut self, deadline: Instant) -> (Vec<TaskFailure>, Vec<String>) {
        let (mut failures, mut aborted) = (Vec::new(), Vec::new());
        for group in self.groups.iter_mut().rev() {
            group.stop.cancel();
            let (failed, late) = group.tasks.drain(deadline).await;
            failures.extend(failed);
            aborted.extend(late);
        }
        (failures, aborted)
    }
}

impl RunnableGroup {
    fn start(&mut self) {
        for mut runnable in self.not_started.drain(..) {
            let name = runnable.name().to_owned();
            if runnable.is_before_controllers() {
                self.must_complete.insert(name.clone());
            }
            self.ready.extend(runnable.take_ready());
            let running = runnable.run(self.stop.clone());
            self.tasks.spawn(name, async move {
                running.await.map_err(|error| with_sources(&*error))
            });
        }
    }

    /// Waits until the next group may start.
    async fn wait_until_started(&mut self) -> Result<(), TaskFailure> {
        self.tasks.completed(&self.must_complete).await?;
        let ready = join_all(self.ready.drain(..));
        tokio::select! {
            biased;
            failure = self.tasks.failure() => Err(failure),
            _ = ready => Ok(()),
        }
    }
}

async fn any_failure<'a>(groups: impl Iterator<Item = &'a mut RunnableGroup>) -> TaskFailure {
    let failures = groups.map(|group| group.tasks.failure().boxed());
    // `select_all` needs at least one future, and there may be no group.
    select_all(failures.chain([pending().boxed()])).await.0
}

//! A group of named tasks with one owner.

use std::{
    collections::{BTreeMap, BTreeSet},
    future::pending,
    panic::AssertUnwindSafe,
};

use futures::FutureExt;
use tokio::{
    task::{AbortHandle, JoinSet},
    time::{Duration, Instant, timeout, timeout_at},
};

use crate::panics;

/// A group of tasks that are started and stopped together. Dropped, it aborts them.
#[derive(Default)]
pub(super) struct TaskGroup {
    tasks: JoinSet<(String, Result<(), String>)>,
    running: BTreeMap<String, AbortHandle>,
}

/// How long an aborted task may take to reach an await.
const ABORT_TIMEOUT: Duration = Duration::from_secs(1);

/// A task that ended with an error or a panic.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct TaskFailure {
    pub(super) name: String,
    pub(super) reason: String,
}

impl TaskGroup {
    /// Starts a task. Names must differ within a group.
    pub(super) fn spawn(
        &mut self,
        name: impl Into<String>,
        task: impl Future<Output = Result<(), String>> + Send + 'static,
    ) {
        let name = name.into();
        let key = name.clone();
        let handle = self.tasks.spawn(async move {
            let ended = AssertUnwindSafe(task).catch_unwind().await;
            (
                name,
                ended.unwrap_or_else(|payload| Err(format!("panicked: {}", panics::message(&*payload)))),
            )
        });
        self.running.insert(key, handle);
    }

    /// Waits until a task fails, forever if none does. Cancel safe.
    pub(super) async fn failure(&mut self) -> TaskFailure {
        loop {
            match self.next().await {
                Some(Ok(())) => {}
                Some(Err(failure)) => return failure,
                None => pending().await,
            }
        }
    }

    /// Waits until a task fails or all of these tasks have succeeded. Cancel safe.
    pub(super) async fn completed(&mut self, names: &BTreeSet<String>) -> Result<(), TaskFailure> {
        while names.iter().any(|name| self.running.contains_key(name)) {
            match self.next().await {
                Some(Err(failure)) => return Err(failure),
                Some(Ok(())) => {}
                None => break,
            }
        }
        Ok(())
    }

    /// Waits for all tasks and aborts those that still run at `deadline`. Returns the failures, and the names of the aborted tasks. One that
    /// blocks its thread cannot be aborted: it is named in the log, and goes on.
    pub(super) async fn drain(&mut self, deadline: Instant) -> (Vec<TaskFailure>, Vec<String>) {
        let mut failures = Vec::new();
        while let Ok(Some(ended)) = timeout_at(deadline, self.next()).await {
            failures.extend(ended.err());
        }
        let late = self.running.keys().cloned().collect();
        self.abort().await;
        (failures, late)
    }

    /// Aborts all tasks and waits until they are dropped, but not for those that block their threads.
    async fn abort(&mut self) {
        self.tasks.abort_all();
        let ended = async { while self.tasks.join_next().await.is_some() {} };
        if timeout(ABORT_TIMEOUT, ended).await.is_err() {
            let blocking = self.running.iter().filter(|(_, task)| !task.is_finished());
            let tasks: Vec<_> = blocking.map(|(name, _)| name).collect();
            tracing::error!(?tasks, "not cancelled: they block their threads");
            self.tasks.detach_all();
        }
        self.running.clear();
    }

    async fn next(&mut self) -> Option<Result<(), TaskFailure>> {
        // No join error is possible: the tasks catch panics, and only `abort` aborts them.
        let (name, result) = self.tasks.join_next().await?.ok()?;
        self.running.remove(&name);
        Some(result.map_err(|reason| TaskFailure { name, reason }))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    };

    use tokio::time::{Duration, sleep};

    use super::*;

    /// A blocking task must not keep the process from ending: its supervisor restarts it.
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn task_that_blocks_its_thread_is_left_behind_and_named() {
        let (sender, receiver) = std::sync::mpsc::channel::<()>();
        let (started, has_started) = tokio::sync::oneshot::channel();
        let mut group = TaskGroup::default();
        group.spawn("blocked", async move {
            started.send(()).unwrap();
            let _ = receiver.recv();
            Ok(())
        });
        has_started.await.unwrap();
        let drained = timeout(Duration::from_secs(20), group.drain(Instant::now()));
        assert_eq!(drained.await.unwrap(), (vec![], vec!["blocked".to_owned()]));
        drop(sender);
    }

    fn names(names: &[&str]) -> BTreeSet<String> {
        names.iter().map(|&name| name.to_owned()).collect()
    }

    #[tokio::test(start_paused = true)]
    async fn failures_name_the_task_of_an_error_or_panic() {
        let mut group = TaskGroup::default();
        group.spawn("good", async { Ok(()) });
        group.spawn("bad", async { Err("no disk".to_owned()) });
        let failure = |name: &str, reason: &str| TaskFailure {
            name: name.into(),
            reason: reason.into(),
        };
        assert_eq!(group.failure().await, failure("bad", "no disk"));
        group.spawn("torn", async { panic!("oh") });
        assert_eq!(group.failure().await, failure("torn", "panicked: oh"));
    }

    #[tokio::test(start_paused = true)]
    async fn completed_waits_for_the_named_tasks_only() {
        let mut group = TaskGroup::default();
        group.spawn("first", async {
            sleep(Duration::from_secs(3)).await;
            Ok(())
        });
        group.spawn("server", pending());
        let started = Instant::now();
        group.completed(&names(&["first"])).await.unwrap();
        assert_eq!(started.elapsed(), Duration::from_secs(3));
        group.completed(&names(&["first"])).await.unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn drain_aborts_at_the_deadline_and_names_the_aborted() {
        struct Gone(Arc<AtomicBool>);
        impl Drop for Gone {
            fn drop(&mut self) {
                self.0.store(true, Ordering::Relaxed);
            }
        }
        let gone = Arc::new(AtomicBool::new(false));
        let guard = Gone(gone.clone());
        let mut group = TaskGroup::default();
        group.spawn("quick", async { Err("late error".to_owned()) });
        group.spawn("slow", async move {
            let _guard = guard;
            pending().await
        });
        let (failures, late) = group.drain(Instant::now() + Duration::from_secs(5)).await;
        assert_eq!(
            (failures[0].name.as_str(), late),
            ("quick", vec!["slow".to_owned()])
        );
        assert!(
            gone.load(Ordering::Relaxed),
            "aborted tasks are dropped when drain returns"
        );
    }
}

//! Tasks with names, owned by who started them.

use std::{collections::BTreeSet, future::pending, panic::AssertUnwindSafe};

use futures::FutureExt;
use tokio::{
    task::JoinSet,
    time::{Instant, timeout_at},
};

use crate::panics;

/// A group of tasks that are started and stopped together. Dropped, it aborts them.
#[derive(Default)]
pub(super) struct Group {
    tasks: JoinSet<(String, Result<(), String>)>,
    running: BTreeSet<String>,
}

/// A task that ended with an error or a panic.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Failure {
    pub(super) name: String,
    pub(super) reason: String,
}

impl Group {
    /// Starts a task. Names within a group differ.
    pub(super) fn spawn(
        &mut self,
        name: impl Into<String>,
        task: impl Future<Output = Result<(), String>> + Send + 'static,
    ) {
        let name = name.into();
        self.running.insert(name.clone());
        self.tasks.spawn(async move {
            let ended = AssertUnwindSafe(task).catch_unwind().await;
            (
                name,
                ended.unwrap_or_else(|payload| Err(format!("panicked: {}", panics::message(&*payload)))),
            )
        });
    }

    /// Waits until a task fails; for ever when none does. Cancel safe.
    pub(super) async fn failure(&mut self) -> Failure {
        loop {
            match self.next().await {
                Some(Ok(())) => {}
                Some(Err(failure)) => return failure,
                None => pending().await,
            }
        }
    }

    /// Waits until one of these tasks fails or all of them ended well. Cancel safe.
    pub(super) async fn completed(&mut self, names: &BTreeSet<String>) -> Result<(), Failure> {
        while !self.running.is_disjoint(names) {
            match self.next().await {
                Some(Err(failure)) => return Err(failure),
                Some(Ok(())) => {}
                None => break,
            }
        }
        Ok(())
    }

    /// Waits for all tasks, until `deadline`; what runs then is aborted. Returns what failed, and the names of what was aborted.
    pub(super) async fn drain(&mut self, deadline: Instant) -> (Vec<Failure>, Vec<String>) {
        let mut failures = Vec::new();
        while let Ok(Some(ended)) = timeout_at(deadline, self.next()).await {
            failures.extend(ended.err());
        }
        let late = self.running.iter().cloned().collect();
        self.abort().await;
        (failures, late)
    }

    /// Aborts all tasks and waits until they are gone.
    pub(super) async fn abort(&mut self) {
        self.tasks.shutdown().await;
        self.running.clear();
    }

    async fn next(&mut self) -> Option<Result<(), Failure>> {
        // The tasks catch panics and nobody but `abort` aborts them: a join error cannot be.
        let (name, result) = self.tasks.join_next().await?.ok()?;
        self.running.remove(&name);
        Some(result.map_err(|reason| Failure { name, reason }))
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

    fn names(names: &[&str]) -> BTreeSet<String> {
        names.iter().map(|&name| name.to_owned()).collect()
    }

    #[tokio::test(start_paused = true)]
    async fn tells_errors_and_panics_by_name() {
        let mut group = Group::default();
        group.spawn("good", async { Ok(()) });
        group.spawn("bad", async { Err("no disk".to_owned()) });
        let failure = |name: &str, reason: &str| Failure {
            name: name.into(),
            reason: reason.into(),
        };
        assert_eq!(group.failure().await, failure("bad", "no disk"));
        group.spawn("torn", async { panic!("oh") });
        assert_eq!(group.failure().await, failure("torn", "panicked: oh"));
    }

    #[tokio::test(start_paused = true)]
    async fn waits_for_the_named_ones_alone() {
        let mut group = Group::default();
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
    async fn aborts_at_the_deadline_and_says_whom() {
        struct Gone(Arc<AtomicBool>);
        impl Drop for Gone {
            fn drop(&mut self) {
                self.0.store(true, Ordering::Relaxed);
            }
        }
        let gone = Arc::new(AtomicBool::new(false));
        let guard = Gone(gone.clone());
        let mut group = Group::default();
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
            "aborted tasks are gone when drain returns"
        );
    }
}
